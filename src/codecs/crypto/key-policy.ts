import { CryptoError } from '../../basics/errors.ts';
import type { BlockKey } from './block-key.ts';
import type { KeyUsage } from './hsm.ts';
import type { MacMethod } from './mac.ts';
import type { Tr31Header } from './tr31.ts';

/** An operation with a key: a mode of use allows some of them. */
export type KeyAction = 'encrypt' | 'decrypt' | 'generate' | 'verify' | 'derive';

/** The permissions of one key. */
export interface KeyPermission {
  readonly usage: KeyUsage;
  readonly actions: readonly KeyAction[];
  /** The only algorithm of a MAC key whose key block names one. */
  readonly macAlgorithm?: MacMethod['algorithm'] | undefined;
}

/** ANSI X9.143:2021 table 5, restricted to symmetric keys. */
const MODES_OF_USE: Record<string, readonly KeyAction[]> = {
  B: ['encrypt', 'decrypt'],
  C: ['generate', 'verify'],
  D: ['decrypt'],
  E: ['encrypt'],
  G: ['generate'],
  N: ['encrypt', 'decrypt', 'generate', 'verify', 'derive'],
  V: ['verify'],
  X: ['derive'],
};

/** ANSI X9.143:2021 table 2: the uses that a gateway needs. */
const KEY_USAGES: Record<string, Omit<KeyPermission, 'actions'>> = {
  B0: { usage: 'dukptBase' },
  K0: { usage: 'keyEncryption' },
  K1: { usage: 'keyBlockProtection' },
  P0: { usage: 'pin' },
  M0: { usage: 'mac', macAlgorithm: 'cbc' },
  M1: { usage: 'mac', macAlgorithm: 'cbc' },
  M3: { usage: 'mac', macAlgorithm: 'retail' },
  M6: { usage: 'mac', macAlgorithm: 'cmac' },
};

/** Bits of security by algorithm and length (ANSI X9.143:2021 5.2, after NIST SP 800-57 part 1). */
const STRENGTH_BITS: Record<string, number> = {
  tdes8: 56,
  tdes16: 80,
  tdes24: 112,
  aes16: 128,
  aes24: 192,
  aes32: 256,
};

/** A key without stated permissions is allowed what its use requires. */
export function unrestricted(usage: KeyUsage): KeyPermission {
  return { usage, actions: MODES_OF_USE.N! };
}

/**
 * The permissions in a key block's header.
 *
 * @throws {CryptoError} KEY_BLOCK_UNSUPPORTED for a use or a mode that a gateway does not support
 */
export function readPermission(header: Pick<Tr31Header, 'keyUsage' | 'modeOfUse'>): KeyPermission {
  const { keyUsage, modeOfUse } = header;
  if (!Object.hasOwn(KEY_USAGES, keyUsage) || !Object.hasOwn(MODES_OF_USE, modeOfUse)) {
    throw new CryptoError('KEY_BLOCK_UNSUPPORTED');
  }
  return { ...KEY_USAGES[keyUsage]!, actions: MODES_OF_USE[modeOfUse]! };
}

/** The header of a key block for a new working key. */
export function headerFor(
  usage: 'pin' | 'mac',
  key: BlockKey,
  protectionKey: BlockKey,
): Omit<Tr31Header, 'optionalBlocks'> {
  const isTdes = key.algorithm === 'tdes';
  const macUsage = isTdes ? (key.lengthBytes === 16 ? 'M3' : 'M1') : 'M6';
  return {
    version: protectionKey.algorithm === 'tdes' ? 'B' : 'D',
    keyUsage: usage === 'pin' ? 'P0' : macUsage,
    algorithm: isTdes ? (key.lengthBytes === 8 ? 'D' : 'T') : 'A',
    modeOfUse: usage === 'pin' ? 'B' : 'C',
    keyVersion: '00',
    exportability: 'N',
  };
}

/**
 * Single DES is accepted only for X9.9 MACs. A longer key whose neighbouring parts are equal is single DES as well;
 * it results if one half of a cryptogram is entered twice. TDES DUKPT supports only double length (X9.24-1:2009
 * A.2).
 *
 * @throws {CryptoError} KEY_LENGTH, KEY_TOO_WEAK
 */
export function requireFit(usage: KeyUsage, key: BlockKey): void {
  if (key.algorithm === 'aes') return;
  const { lengthBytes } = key;
  const isFit = usage === 'mac' || (usage === 'dukptBase' ? lengthBytes === 16 : lengthBytes >= 16);
  if (!isFit) throw new CryptoError('KEY_LENGTH');
  if (key.useBytes(hasEqualNeighbours)) throw new CryptoError('KEY_TOO_WEAK');
}

/** @throws {CryptoError} KEY_TOO_WEAK if `transport` is easier to find than the key that it wraps (X9.143:2021 5.2) */
export function requireStrength(transport: BlockKey, key: BlockKey): void {
  if (strengthBits(transport) < strengthBits(key)) throw new CryptoError('KEY_TOO_WEAK');
}

function strengthBits({ algorithm, lengthBytes }: BlockKey): number {
  return STRENGTH_BITS[`${algorithm}${lengthBytes}`]!;
}

/** Whether two neighbouring DES keys of a TDES key are equal, parity bits aside. */
function hasEqualNeighbours(bytes: Uint8Array): boolean {
  for (let start = 8; start < bytes.length; start += 8) {
    const part = bytes.subarray(start, start + 8);
    if (part.every((byte, position) => (byte ^ bytes[start - 8 + position]!) < 2)) return true;
  }
  return false;
}

/** `acquirer/1/zone-pin` belongs to acquirer 1. */
const OWN = /^acquirer\/([1-9]\d{0,9})\/./;
/** Exchanged working keys. The gateway owns them; no configuration names one. */
const EXCHANGED = 'exchanged-';
/** The acquirer of an exchanged key, then its processor. */
const EXCHANGED_OF = /^exchanged-([1-9]\d{0,9})-/;

/** The acquirer that the id of a key names as its owner; undefined for a key of the installation. */
export function ownerNamedBy(keyId: string): number | undefined {
  return numberIn(OWN, keyId);
}

/** Whether an id is reserved for working keys that switches exchange. */
export function isExchangedKeyId(keyId: string): boolean {
  return keyId.startsWith(EXCHANGED);
}

/** The id of a working key that one switch has exchanged. */
export function exchangedKeyId(acquirerId: number, processorId: number, use: string, unique: string): string {
  return `${EXCHANGED}${acquirerId}-${processorId}-${use}-${unique}`;
}

/** The acquirer that alone uses the key, also if the key was exchanged; undefined for a key of the installation. */
export function userNamedBy(keyId: string): number | undefined {
  return ownerNamedBy(keyId) ?? numberIn(EXCHANGED_OF, keyId);
}

function numberIn(pattern: RegExp, keyId: string): number | undefined {
  const digits = pattern.exec(keyId)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
