import { toHex } from '../bytes/hex.ts';
import type { BlockKey } from './block-key.ts';
import { cmac } from './mac.ts';

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
