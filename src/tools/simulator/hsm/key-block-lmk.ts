import { createHash } from 'node:crypto';
import { CryptoError } from '../../../basics/errors.ts';
import { BlockKey } from '../../../codecs/crypto/block-key.ts';
import { unwrapTr31, wrapTr31 } from '../../../codecs/crypto/tr31.ts';
import { Refusal } from './refusal.ts';

/** An AES key that everybody can compute: it protects nothing. */
const TEST_KEY_BLOCK_LMK = new BlockKey('aes', createHash('sha256').update('tapwire simulated key block LMK').digest());

/** The version of Thales key blocks under an AES LMK. */
const THALES_VERSION = '1';

export interface KeyBlockHeader {
  readonly keyUsage: string;
  readonly modeOfUse: string;
}

/**
 * Protects a key in a key block with the header of a Thales key block (scheme `S`). How a device encrypts the key inside is
 * not public; here it is that of TR-31 version D. A host never looks inside.
 */
export function protectWithKeyBlockLmk(key: BlockKey, { keyUsage, modeOfUse }: KeyBlockHeader): string {
  const algorithm = key.algorithm === 'aes' ? 'A' : key.lengthBytes === 8 ? 'D' : 'T';
  const header = { version: 'D', keyUsage, algorithm, modeOfUse, keyVersion: '00', exportability: 'N' } as const;
  return `S${THALES_VERSION}${wrapTr31(key, header, TEST_KEY_BLOCK_LMK).substring(1)}`;
}

/** @throws Refusal 26 for another scheme, A4 if the block is not authentic, A6 for another usage */
export function openWithKeyBlockLmk(text: string, usages: readonly string[]): BlockKey {
  if (!text.startsWith(`S${THALES_VERSION}`)) throw new Refusal('26');
  try {
    const { key, keyUsage } = unwrapTr31(`D${text.substring(2)}`, TEST_KEY_BLOCK_LMK);
    if (!usages.includes(keyUsage)) throw new Refusal('A6');
    return key;
  } catch (error) {
    throw error instanceof CryptoError ? new Refusal('A4') : error;
  }
}
