import { CryptoError } from '../../basics/errors.ts';
import { type BlockKey, type KeyAlgorithm, takeKey } from './block-key.ts';
import { deriveTdesInitialKey, deriveTdesTransactionKey, deriveTdesWorkingKey } from './dukpt-tdes.ts';
import { keyMac, type MacFunction } from './mac.ts';

/** The use of a derived key from the terminal's point of view (ANSI X9.24-3:2017 6.3.2, table 2). */
export type AesDukptUsage = keyof typeof USAGE_INDICATORS;

const USAGE_INDICATORS = {
  keyEncryption: 0x0002,
  pin: 0x1000,
  macGeneration: 0x2000,
  macVerification: 0x2001,
  macBothWays: 0x2002,
  dataEncryption: 0x3000,
  dataDecryption: 0x3001,
  dataBothWays: 0x3002,
} as const;

const KEY_DERIVATION = 0x8000;
const INITIAL_KEY_DERIVATION = 0x8001;

/** The kinds of key that can be derived (X9.24-3 6.3.3, table 3). */
export type AesDukptKeyType = keyof typeof KEY_TYPES;

const KEY_TYPES = {
  '2TDEA': { indicator: 0x0000, lengthBytes: 16, algorithm: 'tdes' },
  '3TDEA': { indicator: 0x0001, lengthBytes: 24, algorithm: 'tdes' },
  AES128: { indicator: 0x0002, lengthBytes: 16, algorithm: 'aes' },
  AES192: { indicator: 0x0003, lengthBytes: 24, algorithm: 'aes' },
  AES256: { indicator: 0x0004, lengthBytes: 32, algorithm: 'aes' },
} as const satisfies Record<string, { indicator: number; lengthBytes: number; algorithm: KeyAlgorithm }>;

/** 8 bytes of initial key id (BDK id and device id) and 4 of counter. */
const AES_KSN_BYTES = 12;
const INITIAL_KEY_ID_BYTES = 8;

/**
 * Devices skip every counter with more one bits, so that a host never needs more derivations than this (X9.24-3
 * 6.1).
 */
const MAX_COUNTER_ONES = 16;

/**
 * The key that is injected into one device; as long as the base derivation key.
 *
 * @param initialKeyId 8 bytes, the left part of every KSN of the device
 * @throws {CryptoError} KEY_LENGTH, KSN
 */
export function deriveAesInitialKey(bdk: BlockKey, initialKeyId: Uint8Array): BlockKey {
  if (initialKeyId.length !== INITIAL_KEY_ID_BYTES) throw new CryptoError('KSN');
  return deriveKey(bdk, keyTypeOf(bdk), INITIAL_KEY_DERIVATION, initialKeyId);
}

/**
 * The key of one transaction, from which its working keys are derived: one derivation for each one bit of the counter,
 * from the left (X9.24-3 6.4, host).
 *
 * @throws {CryptoError} KEY_LENGTH; KSN if no device reaches this counter
 */
export function deriveAesTransactionKey(initialKey: BlockKey, ksn: Uint8Array): BlockKey {
  const context = transactionContext(ksn);
  const keyType = keyTypeOf(initialKey);
  const counter = new DataView(context.buffer).getUint32(4);
  const step = Uint8Array.from(context);
  const stepCounter = new DataView(step.buffer);
  let key = initialKey;
  let reached = 0;
  for (let bit = 31; bit >= 0; bit--) {
    if (((counter >>> bit) & 1) === 0) continue;
    reached = (reached | (1 << bit)) >>> 0;
    stepCounter.setUint32(4, reached);
    key = deriveKey(key, keyType, KEY_DERIVATION, step);
  }
  return key;
}

/**
 * The key for one use in one transaction.
 *
 * @param keyType no stronger than the transaction key, as X9.24-3 6.3.1 requires; the same kind by default
 * @throws {CryptoError} KEY_LENGTH, KEY_TOO_WEAK, KSN
 */
export function deriveAesWorkingKey(
  transactionKey: BlockKey,
  ksn: Uint8Array,
  usage: AesDukptUsage,
  keyType: AesDukptKeyType = keyTypeOf(transactionKey),
): BlockKey {
  return deriveKey(transactionKey, keyType, USAGE_INDICATORS[usage], transactionContext(ksn));
}

/** The derivation function of X9.24-3 6.3: as many encrypted blocks of derivation data as the key takes. */
function deriveKey(from: BlockKey, keyType: AesDukptKeyType, usage: number, context: Uint8Array): BlockKey {
  const { indicator, lengthBytes, algorithm } = KEY_TYPES[keyType];
  keyTypeOf(from);
  if (algorithm === 'aes' && lengthBytes > from.lengthBytes) throw new CryptoError('KEY_TOO_WEAK');
  const blockCount = Math.ceil(lengthBytes / 16);
  const data = new DataView(new ArrayBuffer(blockCount * 16));
  const bytes = new Uint8Array(data.buffer);
  for (let block = 0; block < blockCount; block++) {
    const start = block * 16;
    data.setUint8(start, 1);
    data.setUint8(start + 1, block + 1);
    data.setUint16(start + 2, usage);
    data.setUint16(start + 4, indicator);
    data.setUint16(start + 6, lengthBytes * 8);
    bytes.set(context, start + 8);
  }
  const derived = from.encrypt(bytes);
  const key = takeKey(algorithm, derived.subarray(0, lengthBytes));
  derived.fill(0);
  return key;
}

/** The values that a transaction's derivations are bound to: the right half of the initial key id, and the counter. */
function transactionContext(ksn: Uint8Array): Uint8Array {
  if (ksn.length !== AES_KSN_BYTES) throw new CryptoError('KSN');
  const context = Uint8Array.from(ksn.subarray(4));
  let ones = 0;
  for (let rest = new DataView(context.buffer).getUint32(4); rest !== 0; rest = (rest & (rest - 1)) >>> 0) ones++;
  if (ones === 0 || ones > MAX_COUNTER_ONES) throw new CryptoError('KSN');
  return context;
}

function keyTypeOf(key: BlockKey): 'AES128' | 'AES192' | 'AES256' {
  if (key.algorithm !== 'aes') throw new CryptoError('KEY_LENGTH');
  return `AES${(key.lengthBytes * 8) as 128 | 192 | 256}`;
}

/** The keys with which a DUKPT device protects the data of one request. */
export interface DukptRequestKeys {
  /** For CBC with an initialization vector of zeros, which is safe because the key is used once. */
  readonly data: BlockKey;
  /** ISO 9797-1 algorithm 3 with padding method 2 (TDES), CMAC (AES). */
  readonly mac: MacFunction;
}

/**
 * Derives the data and MAC keys of one request (ANSI X9.24-1:2009 A.4.1, X9.24-3:2017 6.3.2) from the base derivation key.
 * The AES keys are as long as that key.
 *
 * @throws {CryptoError} KEY_LENGTH, KSN
 */
export function dukptRequestKeys(base: BlockKey, ksn: Uint8Array): DukptRequestKeys {
  if (base.algorithm === 'tdes') {
    const transaction = deriveTdesTransactionKey(deriveTdesInitialKey(base, ksn), ksn);
    const mac = keyMac(deriveTdesWorkingKey(transaction, 'macRequest'), { algorithm: 'retail', padding: 2 });
    return { data: deriveTdesWorkingKey(transaction, 'dataRequest'), mac };
  }
  const transaction = deriveAesTransactionKey(deriveAesInitialKey(base, ksn.subarray(0, 8)), ksn);
  const mac = keyMac(deriveAesWorkingKey(transaction, ksn, 'macGeneration'), { algorithm: 'cmac' });
  return { data: deriveAesWorkingKey(transaction, ksn, 'dataEncryption'), mac };
}
