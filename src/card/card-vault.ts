/**
 * What is kept of a card for reversal and refund: AES-256-GCM under keys used for nothing else, bound to its transaction.
 * A sealed value is
 *
 *   version (1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
 */
import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SealError } from '../errors.ts';
import type { CardVault, KeptCard } from '../transactions/ports.ts';
import { decryptGcm, encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from './aes-gcm.ts';
import type { KeyRing, NamedSecretKey, SecretKeys } from './key-ring.ts';

const VERSION = 1;
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
  const nonce = randomBytes(GCM_NONCE_BYTES);
  const sealed = encryptGcm(transactionKey(key, transactionId), nonce, plaintext, Buffer.from(transactionId));
  plaintext.fill(0);
  return Buffer.concat([Buffer.of(VERSION, id.length), Buffer.from(id, 'latin1'), nonce, sealed]);
}

/**
 * @throws {SealError} KEY_GONE when its key is no longer in the ring, SEAL_BROKEN when it was changed, moved from another
 *   transaction or never was one
 */
function open(keys: SecretKeys, transactionId: string, sealed: Uint8Array): KeptCard {
  const nonceAt = 2 + (sealed[1] ?? 0);
  const ciphertextAt = nonceAt + GCM_NONCE_BYTES;
  const tagAt = sealed.length - GCM_TAG_BYTES;
  if (sealed[0] !== VERSION || ciphertextAt > tagAt) throw new SealError('SEAL_BROKEN');
  const key = keys.find(Buffer.from(sealed.subarray(2, nonceAt)).toString('latin1'));
  if (key === undefined) throw new SealError('KEY_GONE');

  const plaintext = decryptGcm(
    transactionKey(key.key, transactionId),
    sealed.subarray(nonceAt, ciphertextAt),
    sealed.subarray(ciphertextAt, tagAt),
    sealed.subarray(tagAt),
    Buffer.from(transactionId),
  );
  const card = plaintext && parseCard(plaintext);
  if (card === undefined) throw new SealError('SEAL_BROKEN');
  return card;
}

/** Zeroes the plaintext. JSON.parse quotes what it cannot read, so its error goes no further. */
function parseCard(plaintext: Buffer): KeptCard | undefined {
  try {
    return keptCard.parse(JSON.parse(plaintext.toString()));
  } catch {
    return undefined;
  } finally {
    plaintext.fill(0);
  }
}

/**
 * A key of its own for each transaction. Random 96-bit nonces allow 2^32 seals under one key (NIST SP 800-38D 8.3), which
 * 5,000 taps a second would use up in ten days.
 */
function transactionKey(key: KeyObject, transactionId: string): Buffer {
  return createHmac('sha256', key).update('tapwire card\0').update(transactionId).digest();
}

/** A plain hash would give the PAN away: there are few enough to try them all. */
function hashPan({ id, key }: NamedSecretKey, pan: string): string {
  return `${id}:${createHmac('sha256', key).update(pan).digest('base64url')}`;
}
