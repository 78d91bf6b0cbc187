import { CryptoError } from '../../basics/errors.ts';
import { BlockKey, type KeyAlgorithm, setOddParity, takeKey, xor } from './block-key.ts';
import { kcv } from './mac.ts';

/**
 * A component of a key as a person has typed it: hex digits, with spaces or hyphens between them. It is read from bytes,
 * because a text cannot be wiped.
 *
 * @throws {CryptoError} KEY_LENGTH if it is not hex of this length; KEY_TOO_WEAK if all digits are zero: another person
 * would then know the whole key
 */
export function readComponent(typed: Uint8Array, lengthBytes: number): Uint8Array {
  const component = new Uint8Array(lengthBytes);
  let digits = 0;
  for (const code of typed) {
    if (code === SPACE || code === HYPHEN) continue;
    const value = digitOf(code);
    if (value === undefined || digits === 2 * lengthBytes) return refuse(component, 'KEY_LENGTH');
    component[digits >> 1]! |= digits % 2 === 0 ? value << 4 : value;
    digits++;
  }
  if (digits < 2 * lengthBytes) return refuse(component, 'KEY_LENGTH');
  return component.every((byte) => byte === 0) ? refuse(component, 'KEY_TOO_WEAK') : component;
}

/** The key check value of a component, computed as if it were a key. @throws {CryptoError} KEY_LENGTH */
export function kcvOfComponent(algorithm: KeyAlgorithm, component: Uint8Array): string {
  return kcv(new BlockKey(algorithm, component));
}

/**
 * The key that two components form (ISO 11568: exclusive or). A TDES key gets odd parity, which does not change its check
 * value. Both components are wiped.
 *
 * @throws {CryptoError} KEY_LENGTH; KEY_TOO_WEAK if the components are equal
 */
export function combineComponents(algorithm: KeyAlgorithm, one: Uint8Array, other: Uint8Array): BlockKey {
  try {
    if (one.length !== other.length) throw new CryptoError('KEY_LENGTH');
    const bytes = xor(one, other);
    if (bytes.every((byte) => byte === 0)) throw new CryptoError('KEY_TOO_WEAK');
    if (algorithm === 'tdes') setOddParity(bytes);
    return takeKey(algorithm, bytes);
  } finally {
    one.fill(0);
    other.fill(0);
  }
}

const SPACE = 0x20;
const HYPHEN = 0x2d;

function digitOf(code: number): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code & ~0x20;
  return letter >= 0x41 && letter <= 0x46 ? letter - 0x37 : undefined;
}

function refuse(component: Uint8Array, code: 'KEY_LENGTH' | 'KEY_TOO_WEAK'): never {
  component.fill(0);
  throw new CryptoError(code);
}
