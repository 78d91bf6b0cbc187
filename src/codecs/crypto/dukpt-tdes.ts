import { CryptoError } from '../../basics/errors.ts';
import { BlockKey, takeKey, xor } from './block-key.ts';

/**
 * The use of a transaction's key from the terminal's point of view: requests are sent to the host, responses are
 * received.
 */
export type TdesDukptUsage = 'pin' | 'macRequest' | 'macResponse' | 'dataRequest' | 'dataResponse';

/** FFFF, a key set id, a device id, 21 bits of counter (ANSI X9.24-1:2009 figure 3). */
export const TDES_KSN_BYTES = 10;

const COUNTER_BITS = 21;

/**
 * Devices skip every counter with more one bits, so that a host never needs more derivations than this (X9.24-1
 * A.2).
 */
const MAX_COUNTER_ONES = 10;

/** Mixed into a key for its left half's derivation (X9.24-1 A.2, A.6). */
const DERIVATION_MASK = Uint8Array.of(0xc0, 0xc0, 0xc0, 0xc0, 0, 0, 0, 0, 0xc0, 0xc0, 0xc0, 0xc0, 0, 0, 0, 0);

/** Which byte of each half the variant of a use inverts (X9.24-1 A.4.1). */
const VARIANT_BYTE: Record<TdesDukptUsage, number> = {
  pin: 7,
  macRequest: 6,
  macResponse: 4,
  dataRequest: 5,
  dataResponse: 3,
};

/**
 * The key that is injected into one device.
 *
 * @param bdk base derivation key, double length
 * @param ksn 10 bytes, with any counter
 * @throws {CryptoError} KEY_LENGTH, KSN
 */
export function deriveTdesInitialKey(bdk: BlockKey, ksn: Uint8Array): BlockKey {
  requireDoubleLength(bdk);
  if (ksn.length !== TDES_KSN_BYTES) throw new CryptoError('KSN');
  const device = ksn.subarray(0, 8).map((byte, position) => (position === 7 ? byte & 0xe0 : byte));
  const masked = bdk.useBytes((bytes) => takeKey('tdes', xor(bytes, DERIVATION_MASK)));
  return joinHalves(bdk.encrypt(device), masked.encrypt(device));
}

/**
 * The key of one transaction, from which its working keys are derived.
 *
 * @throws {CryptoError} KEY_LENGTH; KSN if no device reaches this counter
 */
export function deriveTdesTransactionKey(initialKey: BlockKey, ksn: Uint8Array): BlockKey {
  requireDoubleLength(initialKey);
  const counter = readCounter(ksn);
  const register = Uint8Array.from(ksn.subarray(2, TDES_KSN_BYTES));
  register[5]! &= 0xe0;
  register[6] = 0;
  register[7] = 0;
  let key = initialKey;
  for (let bit = COUNTER_BITS - 1; bit >= 0; bit--) {
    if (((counter >> bit) & 1) === 0) continue;
    register[7 - (bit >> 3)]! |= 1 << (bit & 7);
    key = nextKey(key, register);
  }
  return key;
}

/** The key for one use in one transaction. Data keys are also encrypted under themselves (X9.24-1 A.4.1). */
export function deriveTdesWorkingKey(transactionKey: BlockKey, usage: TdesDukptUsage): BlockKey {
  requireDoubleLength(transactionKey);
  const variant = transactionKey.useBytes((bytes) => {
    bytes[VARIANT_BYTE[usage]]! ^= 0xff;
    bytes[VARIANT_BYTE[usage] + 8]! ^= 0xff;
    return new BlockKey('tdes', bytes);
  });
  if (usage !== 'dataRequest' && usage !== 'dataResponse') return variant;
  return variant.useBytes((bytes) => takeKey('tdes', variant.encrypt(bytes)));
}

/** The non-reversible key generation of X9.24-1 A.2: the right half from the key, the left from the masked key. */
function nextKey(key: BlockKey, register: Uint8Array): BlockKey {
  return key.useBytes((bytes) => {
    const right = oneWay(bytes, register);
    const masked = xor(bytes, DERIVATION_MASK);
    const left = oneWay(masked, register);
    masked.fill(0);
    return joinHalves(left, right);
  });
}

/** Single DES under the left half of the key, its right half mixed in before and after. */
function oneWay(key: Uint8Array, register: Uint8Array): Uint8Array {
  const right = key.subarray(8, 16);
  return xor(new BlockKey('tdes', key.subarray(0, 8)).encrypt(xor(register, right)), right);
}

function joinHalves(left: Uint8Array, right: Uint8Array): BlockKey {
  const bytes = new Uint8Array(16);
  bytes.set(left, 0);
  bytes.set(right, 8);
  left.fill(0);
  right.fill(0);
  return takeKey('tdes', bytes);
}

function readCounter(ksn: Uint8Array): number {
  if (ksn.length !== TDES_KSN_BYTES) throw new CryptoError('KSN');
  const counter = ((ksn[7]! & 0x1f) << 16) | (ksn[8]! << 8) | ksn[9]!;
  let ones = 0;
  for (let rest = counter; rest > 0; rest &= rest - 1) ones++;
  if (ones === 0 || ones > MAX_COUNTER_ONES) throw new CryptoError('KSN');
  return counter;
}

function requireDoubleLength(key: BlockKey): void {
  if (key.algorithm !== 'tdes' || key.lengthBytes !== 16) throw new CryptoError('KEY_LENGTH');
}
