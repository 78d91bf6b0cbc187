import { hash, timingSafeEqual } from 'node:crypto';
import { CryptoError } from '../../basics/errors.ts';
import { toHex } from '../bytes/hex.ts';
import { BlockKey, type KeyAlgorithm } from './block-key.ts';

/**
 * Computes the last block of CBC with a zero IV for many messages over one open cipher: opening a cipher for each
 * message would double the cost of the AES-CMAC of an authorization (bench: mac). The cipher continues to chain from
 * the last message. XOR-ing that block into the first block of the next message cancels it, which leaves a zero IV.
 */
class CbcChain {
  readonly #cipher;
  readonly #previous: Uint8Array;

  constructor(key: BlockKey) {
    this.#cipher = key.openCbc();
    this.#previous = new Uint8Array(key.blockBytes);
  }

  /**
   * @param blocks one or more whole blocks; the first is changed
   * @returns the last block of the ciphertext, a copy
   */
  lastBlock(blocks: Uint8Array): Uint8Array {
    const previous = this.#previous;
    for (let position = 0; position < previous.length; position++) blocks[position]! ^= previous[position]!;
    const ciphertext = this.#cipher.update(blocks);
    previous.set(ciphertext.subarray(ciphertext.length - previous.length));
    return new Uint8Array(previous);
  }
}

/**
 * How a message is padded to whole blocks (ISO 9797-1:2011 6.3): zeros; a one bit and zeros; its length, then zeros.
 */
export type MacPadding = 1 | 2 | 3;

/** The algorithm and the length of a key. */
export interface KeyShape {
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
}

/**
 * The MAC algorithm as data, so that a switch's profile can name it (`mac.ts`). The key determines whether DES,
 * triple DES or AES is used: if `keys` is present, an HSM refuses every other key with KEY_LENGTH.
 */
export type MacMethod = MacConstruction & { readonly keys?: readonly KeyShape[] | undefined };

type MacConstruction =
  /**
   * ISO 9797-1 algorithm 3: CBC under the left half of the key, then the last block through the right and the left
   * half.
   */
  | { readonly algorithm: 'retail'; readonly padding: MacPadding }
  /** ISO 9797-1 algorithm 1: plain CBC; with a single DES key and padding 1 it is the MAC of ANSI X9.9. */
  | { readonly algorithm: 'cbc'; readonly padding: MacPadding }
  /** ISO 9797-1 algorithm 5: NIST SP 800-38B, RFC 4493 for AES. */
  | { readonly algorithm: 'cmac' };

/**
 * Takes a message and returns the whole MAC: one block of the cipher. A message often carries only its leftmost 4
 * bytes.
 */
export type MacFunction = (message: Uint8Array) => Uint8Array;

/** The longest message to authenticate: no frame with a 2-byte length can contain a longer one. */
export const MAX_MAC_MESSAGE_BYTES = 65_535;

/** The shortest accepted MAC: 4 bytes are the shortest in use (ANSI X9.9, ISO 16609 clause 5). */
export const MAC_BYTES_LEAST = 4;

/**
 * Prepares a key for many messages. The result keeps a cipher open and may be used for the lifetime of the key.
 *
 * @throws {CryptoError} KEY_LENGTH if the method is not for such a key, or the key of a retail MAC is not a pair of DES keys; the result throws
 * DATA_LENGTH above MAX_MAC_MESSAGE_BYTES
 */
export function keyMac(key: BlockKey, method: MacMethod): MacFunction {
  requireShape(key, method);
  switch (method.algorithm) {
    case 'retail':
      return retailMac(...desHalves(key), method.padding);
    case 'cbc':
      return cbcMac(key, method.padding);
    case 'cmac':
      return cmac(key);
  }
}

/** @throws {CryptoError} KEY_LENGTH if the method does not allow such a key */
export function requireShape({ algorithm, lengthBytes }: BlockKey, { keys }: MacMethod): void {
  const isFit = keys?.some((shape) => shape.algorithm === algorithm && shape.lengthBytes === lengthBytes) ?? true;
  if (!isFit) throw new CryptoError('KEY_LENGTH');
}

/** ISO 9797-1 MAC algorithm 3 over any block cipher: CBC under `outer`, then its result through `inner` and `outer`. */
export function retailMac(outer: BlockKey, inner: BlockKey, padding: MacPadding): MacFunction {
  const chain = new CbcChain(outer);
  return (message) => {
    const last = chain.lastBlock(padMessage(message, padding, outer.blockBytes));
    return outer.encrypt(inner.decrypt(last));
  };
}

/**
 * ISO 9797-1 MAC algorithm 1. It is safe only if all messages have one length, or begin with their length: prefer
 * the others.
 */
export function cbcMac(key: BlockKey, padding: MacPadding): MacFunction {
  const chain = new CbcChain(key);
  return (message) => chain.lastBlock(padMessage(message, padding, key.blockBytes));
}

/** CMAC over TDES or AES (NIST SP 800-38B 6.2). */
export function cmac(key: BlockKey): MacFunction {
  const { blockBytes } = key;
  const chain = new CbcChain(key);
  const whole = doubleInField(key.encrypt(new Uint8Array(blockBytes)));
  const padded = doubleInField(whole);
  return (message) => {
    const isWhole = message.length > 0 && message.length % blockBytes === 0;
    const blocks = padMessage(message, isWhole ? 1 : 2, blockBytes);
    const subkey = isWhole ? whole : padded;
    const lastStart = blocks.length - blockBytes;
    for (let position = 0; position < blockBytes; position++) blocks[lastStart + position]! ^= subkey[position]!;
    return chain.lastBlock(blocks);
  };
}

/** Whether two secrets are equal. Their hashes are compared, so that the time reveals neither content nor length. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

/**
 * Whether two MACs are equal, in a time that does not depend on where they differ. A value shorter than
 * MAC_BYTES_LEAST is not a MAC: two empty ones are not equal.
 */
export function isSameMac(expected: Uint8Array, received: Uint8Array): boolean {
  const isLength = expected.length === received.length && expected.length >= MAC_BYTES_LEAST;
  return isLength && timingSafeEqual(expected, received);
}

/**
 * A copy of the message in whole blocks, at least one.
 *
 * @throws {CryptoError} DATA_LENGTH above MAX_MAC_MESSAGE_BYTES
 */
export function padMessage(message: Uint8Array, padding: MacPadding, blockBytes: 8 | 16): Uint8Array {
  if (message.length > MAX_MAC_MESSAGE_BYTES) throw new CryptoError('DATA_LENGTH');
  const start = padding === 3 ? blockBytes : 0;
  const contentBytes = message.length + (padding === 2 ? 1 : 0);
  const blocks = new Uint8Array(start + Math.max(1, Math.ceil(contentBytes / blockBytes)) * blockBytes);
  blocks.set(message, start);
  if (padding === 2) blocks[message.length] = 0x80;
  if (padding === 3) new DataView(blocks.buffer).setUint32(blockBytes - 4, message.length * 8);
  return blocks;
}

function desHalves(key: BlockKey): [BlockKey, BlockKey] {
  if (key.algorithm !== 'tdes' || key.lengthBytes !== 16) throw new CryptoError('KEY_LENGTH');
  return key.useBytes((bytes) => [
    new BlockKey('tdes', bytes.subarray(0, 8)),
    new BlockKey('tdes', bytes.subarray(8, 16)),
  ]);
}

/** Multiplies by x in GF(2^64) or GF(2^128), whose polynomials end in 1B and 87 (SP 800-38B 5.3). */
function doubleInField(block: Uint8Array): Uint8Array {
  const carry = block[0]! >> 7;
  const doubled = block.map((byte, position) => (byte << 1) | ((block[position + 1] ?? 0) >> 7));
  doubled[block.length - 1]! ^= carry * (block.length === 8 ? 0x1b : 0x87);
  return doubled;
}

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

/** Key ceremonies compare 3 bytes; more would reveal part of a TDES key's only known ciphertext. */
export const KCV_BYTES = 3;

/**
 * The key check value as hex: of TDES the first bytes of an encrypted zero block, of AES those of the CMAC over a zero
 * block (ANSI X9.24-1:2017 A.4).
 */
export function kcv(key: BlockKey, lengthBytes = KCV_BYTES): string {
  const zeros = new Uint8Array(key.blockBytes);
  return toHex(key.algorithm === 'tdes' ? key.encrypt(zeros) : cmac(key)(zeros), 0, lengthBytes);
}
