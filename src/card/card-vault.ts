/**
 * What is kept of a card for reversal and refund: AES-256-GCM under keys used for nothing else, bound to its transaction.
 * A sealed value is
 *
 *   version (1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { z } from 'zod';
import { SealError } from '../errors.ts';
import type { CardVault, KeptCard } from '../transactions/ports.ts';
import type { KeyRing, NamedSecretKey, SecretKeys } from './key-ring.ts';

const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The fields that a reversal repeats (DE43 and the chip's tags are the longest) stay under 2 KB as JSON. */
const MAX_PLAINTEXT_BYTES = 8_192;

const keptCard = z.strictObject({
  pan: z.string(),
  expiry: z.string(),
  original: z.record(z.string(), z.string()),
});

/** The vault, and the search that spans a rotation of the hash key. */
export interface SearchableCardVault extends CardVault {
  /** A PAN's hashes under every key of the ring, newest first: rows written before a rotation have an older one. */
  panHashes(pan: string): string[];
}

/** A vault over the keys of an installation. A PAN's hash is `<key id>:<HMAC-SHA-256 over all its digits, Base64url>`. */
export function createCardVault({ panSealing, panHash }: Pick<KeyRing, 'panSealing' | 'panHash'>): SearchableCardVault {
  return {
    seal: (transactionId, card) => seal(panSealing.current, transactionId, card),
    open: (transactionId, sealed) => open(panSealing, transactionId, sealed),
    hashPan: (pan) => hashPan(panHash.current, pan),
    panHashes: (pan) => panHash.all.map((key) => hashPan(key, pan)),
  };
}

/** @throws {SealError} TOO_LARGE */
function seal({ id, key }: NamedSecretKey, transactionId: string, card: KeptCard): Buffer {
  const plaintext = Buffer.from(JSON.stringify(card));
  if (plaintext.length > MAX_PLAINTEXT_BYTES) throw new SealError('TOO_LARGE');
  const keyId = Buffer.from(id, 'latin1');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, transactionKey(key, transactionId), nonce);
  cipher.setAAD(Buffer.from(transactionId));
  const sealed = [Buffer.of(VERSION, keyId.length), keyId, nonce, cipher.update(plaintext), cipher.final()];
  plaintext.fill(0);
  return Buffer.concat([...sealed, cipher.getAuthTag()]);
}

/**
 * @throws {SealError} KEY_GONE when its key is no longer in the ring, SEAL_BROKEN when it was changed, moved from another
 *   transaction or never was one
 */
function open(keys: SecretKeys, transactionId: string, sealed: Uint8Array): KeptCard {
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
    return keptCard.parse(JSON.parse(plaintext.toString()));
  } catch {
    throw new SealError('SEAL_BROKEN');
  } finally {
    plaintext.fill(0);
  }
}

/**
 * A key of its own for each transaction. Random 96-bit nonces allow 2^32 seals under one key (NIST SP 800-38D 8.3), which
 * 5,000 taps a second would use up in ten days.
 */
function transactionKey(key: KeyObject, transactionId: string): KeyObject {
  return createSecretKey(createHmac('sha256', key).update('tapwire card\0').update(transactionId).digest());
}

/** A plain hash would give the PAN away: there are few enough to try them all. */
function hashPan({ id, key }: NamedSecretKey, pan: string): string {
  return `${id}:${createHmac('sha256', key).update(pan).digest('base64url')}`;
}
