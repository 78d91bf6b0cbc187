/**
 * The PAN at rest: AES-256-GCM under keys used for nothing else, bound to its transaction. A sealed value is
 *
 *   version (1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
 */
import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SealError } from '../errors.ts';
import type { SecretKeys } from './key-ring.ts';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
/** A PAN of 19 digits, its expiry and their JSON take 50 bytes. */
const MAX_PLAINTEXT_BYTES = 256;

/** What a reversal or a refund needs of the card. */
export interface StoredCard {
  readonly pan: string;
  /** YYMM. */
  readonly expiry?: string | undefined;
}

const storedCard = z.strictObject({ pan: z.string(), expiry: z.string().optional() });

/**
 * Seals a card for the row of one transaction.
 *
 * @throws {SealError} TOO_LARGE above 256 bytes of JSON
 */
export function sealPan(keys: SecretKeys, card: StoredCard, transactionId: string): Buffer {
  const plaintext = Buffer.from(JSON.stringify(card));
  if (plaintext.length > MAX_PLAINTEXT_BYTES) throw new SealError('TOO_LARGE');
  const keyId = Buffer.from(keys.current.id, 'latin1');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, transactionKey(keys.current.key, transactionId), nonce);
  cipher.setAAD(Buffer.from(transactionId));
  const sealed = [Buffer.of(VERSION, keyId.length), keyId, nonce, cipher.update(plaintext), cipher.final()];
  plaintext.fill(0);
  return Buffer.concat([...sealed, cipher.getAuthTag()]);
}

/**
 * Opens what `sealPan` made for the same transaction.
 *
 * @throws {SealError} KEY_GONE when its key is no longer in the ring, SEAL_BROKEN when it was changed, moved from another
 *   transaction or never was one
 */
export function openPan(keys: SecretKeys, sealed: Uint8Array, transactionId: string): StoredCard {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const nonceAt = 2 + (bytes[1] ?? 0);
  const ciphertextAt = nonceAt + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (bytes[0] !== VERSION || ciphertextAt > tagAt) throw new SealError('SEAL_BROKEN');
  const key = keys.find(bytes.toString('latin1', 2, nonceAt));
  if (key === undefined) throw new SealError('KEY_GONE');

  const nonce = bytes.subarray(nonceAt, ciphertextAt);
  const decipher = createDecipheriv(CIPHER, transactionKey(key.key, transactionId), nonce);
  decipher.setAAD(Buffer.from(transactionId)).setAuthTag(bytes.subarray(tagAt));
  const plaintext = decipher.update(bytes.subarray(ciphertextAt, tagAt));
  try {
    decipher.final();
    return storedCard.parse(JSON.parse(plaintext.toString()));
  } catch {
    throw new SealError('SEAL_BROKEN');
  } finally {
    plaintext.fill(0);
  }
}

/**
 * A key of its own for each transaction. Random 96-bit nonces allow 2^32 seals under one key (NIST SP 800-38D 8.3), which
 * at 5,000 taps a second would be used up in ten days.
 */
function transactionKey(key: KeyObject, transactionId: string): Buffer {
  return createHmac('sha256', key).update('tapwire pan\0').update(transactionId).digest();
}
