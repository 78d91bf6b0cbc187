/** AES-256-GCM (NIST SP 800-38D) with a key that was derived for this one call and is then zeroed. */
import { createCipheriv, createDecipheriv, createSecretKey, randomFillSync } from 'node:crypto';

export const GCM_NONCE_BYTES = 12;
export const GCM_TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/**
 * One call of the system's random source supplies 512 nonces, because it costs as much for 12 bytes as for all of
 * these.
 */
const POOL_BYTES = 512 * GCM_NONCE_BYTES;
const pool = { bytes: Buffer.alloc(POOL_BYTES), used: POOL_BYTES };

/** A random nonce, never returned twice. The buffer is overwritten soon, so the caller must copy it at once. */
export function freshNonce(): Uint8Array {
  if (pool.used === POOL_BYTES) {
    randomFillSync(pool.bytes);
    pool.used = 0;
  }
  pool.used += GCM_NONCE_BYTES;
  return pool.bytes.subarray(pool.used - GCM_NONCE_BYTES, pool.used);
}

/** The ciphertext with its tag at the end. */
export function encryptGcm(key: Buffer, nonce: Uint8Array, plaintext: Uint8Array, associatedData: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, takeKey(key), nonce);
  cipher.setAAD(associatedData);
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** The plaintext, or undefined if the tag of GCM_TAG_BYTES is wrong. */
export function decryptGcm(
  key: Buffer,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  tag: Uint8Array,
  associatedData: Uint8Array,
): Buffer | undefined {
  const decipher = createDecipheriv(CIPHER, takeKey(key), nonce, { authTagLength: GCM_TAG_BYTES });
  decipher.setAAD(associatedData).setAuthTag(tag);
  const plaintext = decipher.update(ciphertext);
  try {
    decipher.final();
    return plaintext;
  } catch {
    plaintext.fill(0);
    return undefined;
  }
}

/** Node 24 opens a cipher in 1.5 µs when the key is a KeyObject and in 13 µs when it is bytes (bench: card-data). */
function takeKey(key: Buffer) {
  const keyObject = createSecretKey(key);
  key.fill(0);
  return keyObject;
}
