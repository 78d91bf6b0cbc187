import { createHmac, type KeyObject } from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import { decryptGcm, encryptGcm, freshNonce, GCM_NONCE_BYTES, GCM_TAG_BYTES } from '../codecs/crypto/aes-gcm.ts';
import type { SecretKeys } from './key-ring.ts';

/**
 * Encrypts bytes for storage under the keys of one purpose: AES-256-GCM, bound to their owner. A sealed value is
 *
 * version (1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
 */

const VERSION = 1;

/** The kind of data in one word, and the id of its owner. A sealed value opens for no other purpose or owner. */
export interface SealedFor {
  readonly purpose: string;
  readonly owner: string;
}

/** Zeroes the plaintext. */
export function sealBytes({ current: { id, key } }: SecretKeys, sealedFor: SealedFor, plaintext: Buffer): Buffer {
  const nonce = freshNonce();
  const sealed = encryptGcm(ownKey(key, sealedFor), nonce, plaintext, Buffer.from(sealedFor.owner));
  plaintext.fill(0);
  return Buffer.concat([Buffer.of(VERSION, id.length), Buffer.from(id, 'latin1'), nonce, sealed]);
}

/**
 * @throws {SealError} KEY_GONE if its key is no longer in the ring, SEAL_BROKEN if it was changed, belongs to
 * another owner or never was a sealed value
 */
export function openBytes(keys: SecretKeys, sealedFor: SealedFor, sealed: Uint8Array): Buffer {
  const nonceAt = 2 + (sealed[1] ?? 0);
  const ciphertextAt = nonceAt + GCM_NONCE_BYTES;
  const tagAt = sealed.length - GCM_TAG_BYTES;
  if (sealed[0] !== VERSION || ciphertextAt > tagAt) throw new SealError('SEAL_BROKEN');
  const key = keys.find(Buffer.from(sealed.subarray(2, nonceAt)).toString('latin1'));
  if (key === undefined) throw new SealError('KEY_GONE');
  const plaintext = decryptGcm(
    ownKey(key.key, sealedFor),
    sealed.subarray(nonceAt, ciphertextAt),
    sealed.subarray(ciphertextAt, tagAt),
    sealed.subarray(tagAt),
    Buffer.from(sealedFor.owner),
  );
  if (plaintext === undefined) throw new SealError('SEAL_BROKEN');
  return plaintext;
}

/**
 * A separate key for each owner. Random 96-bit nonces allow 2^32 seals under one key (NIST SP 800-38D 8.3), which
 * 5,000 taps a second would use up in ten days.
 */
function ownKey(key: KeyObject, { purpose, owner }: SealedFor): Buffer {
  return createHmac('sha256', key).update(`tapwire ${purpose}\0`).update(owner).digest();
}
