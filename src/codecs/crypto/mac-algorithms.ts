import type { KeyShape, MacMethod } from './mac.ts';

const DES: KeyShape = { algorithm: 'tdes', lengthBytes: 8 };
const DES_PAIR: KeyShape = { algorithm: 'tdes', lengthBytes: 16 };
const DES_TRIPLE: KeyShape = { algorithm: 'tdes', lengthBytes: 24 };
const AES: readonly KeyShape[] = [16, 24, 32].map((lengthBytes) => ({ algorithm: 'aes', lengthBytes }));

/**
 * The MAC algorithms by name. A name states everything that the two sides of a connection must agree on: with a key of
 * another length than the algorithm has, no MAC is computed instead of that of another algorithm.
 */
export const MAC_ALGORITHMS = {
  /** ANSI X9.9, FIPS PUB 113: ISO 9797-1 algorithm 1 with DES, padding method 1 (zeros). */
  'x9.9': { algorithm: 'cbc', padding: 1, keys: [DES] },
  /** ANSI X9.19, the retail MAC: ISO 9797-1 algorithm 3 with DES, padding method 1. */
  'x9.19': { algorithm: 'retail', padding: 1, keys: [DES_PAIR] },
  /** As X9.19 with padding method 2 (a one bit, then zeros), as EMV Book 2 A1.2.1 computes it. */
  'iso9797-1-algorithm-3-padding-2': { algorithm: 'retail', padding: 2, keys: [DES_PAIR] },
  /** ISO 9797-1 algorithm 1 with triple DES in each block, padding method 1. */
  'tdes-cbc-mac': { algorithm: 'cbc', padding: 1, keys: [DES_PAIR, DES_TRIPLE] },
  /** NIST SP 800-38B with triple DES. */
  'tdes-cmac': { algorithm: 'cmac', keys: [DES_PAIR, DES_TRIPLE] },
  /** NIST SP 800-38B with AES, RFC 4493. */
  'aes-cmac': { algorithm: 'cmac', keys: AES },
} as const satisfies Readonly<Record<string, MacMethod>>;

export type MacAlgorithmName = keyof typeof MAC_ALGORITHMS;

export const MAC_ALGORITHM_NAMES = Object.keys(MAC_ALGORITHMS) as [MacAlgorithmName, ...MacAlgorithmName[]];

/** The names of a method: several if the key decides which of them it is. */
export function namesOfMac(method: MacMethod): MacAlgorithmName[] {
  return MAC_ALGORITHM_NAMES.filter((name) => {
    const named: MacMethod = MAC_ALGORITHMS[name];
    const isPadded = named.algorithm === 'cmac' || method.algorithm === 'cmac' || named.padding === method.padding;
    return named.algorithm === method.algorithm && isPadded && (method.keys ?? named.keys) === named.keys;
  });
}

/** The key to generate for a method: a pair of DES keys if it has a choice. */
export function keyShapeOf({ keys = [DES_PAIR] }: MacMethod): KeyShape {
  return keys[0] ?? DES_PAIR;
}
