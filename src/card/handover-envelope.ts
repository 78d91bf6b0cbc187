/**
 * The byte layout of a sealed handover:
 *
 * - version (1), sender's public key (32), salt (16), count (1)
 * - for each recipient: key id (8), wrapped content key (32 + 16)
 * - ciphertext, tag (16)
 *
 * The plaintext is the length of the general blob (4), the general blob and the payment blob. Each key encrypts once
 * (the content key is random, a wrapping key belongs to one salt and recipient), so the nonces are zeros.
 */

import { SealError } from '../basics/errors.ts';
import { decryptGcm, encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from '../codecs/crypto/aes-gcm.ts';
import { MAX_TLV_BYTES } from '../codecs/emv/tlv.ts';
import { KEY_ID_BYTES, PUBLIC_KEY_BYTES } from './memory-key-pair.ts';

/** More workers than any switch gives connections to. A value sealed for 16 is 900 bytes longer than its blobs. */
export const MAX_RECIPIENTS = 16;
export const SALT_BYTES = 16;
export const CONTENT_KEY_BYTES = 32;

const VERSION = 1;
const ZERO_NONCE = Buffer.alloc(GCM_NONCE_BYTES);
const LENGTH_BYTES = 4;
const WRAPPED_BYTES = KEY_ID_BYTES + CONTENT_KEY_BYTES + GCM_TAG_BYTES;
const SALT_AT = 1 + PUBLIC_KEY_BYTES;
const COUNT_AT = SALT_AT + SALT_BYTES;
const WRAPS_AT = COUNT_AT + 1;
/** Both blobs at their maximum length. */
const MAX_SEALED_BYTES = WRAPS_AT + MAX_RECIPIENTS * WRAPPED_BYTES + LENGTH_BYTES + 2 * MAX_TLV_BYTES + GCM_TAG_BYTES;

/** The attempt for which a tap is handed over. The seal is bound to it, so the value opens for no other attempt. */
export interface HandoverAttempt {
  readonly id: string;
  readonly attempt: number;
}

/** The bytes of both blobs, unsealed. */
export interface HandoverBlobs {
  readonly general: Uint8Array;
  readonly payment: Uint8Array;
}

export interface WrappedKey {
  readonly keyId: Uint8Array;
  readonly wrapped: Uint8Array;
}

export interface HandoverEnvelope {
  readonly sender: Uint8Array;
  readonly salt: Uint8Array;
  readonly keys: readonly WrappedKey[];
  readonly ciphertext: Uint8Array;
}

export function encodeEnvelope({ sender, salt, keys, ciphertext }: HandoverEnvelope): Buffer {
  const wraps = keys.flatMap(({ keyId, wrapped }) => [keyId, wrapped]);
  return Buffer.concat([Buffer.of(VERSION), sender, salt, Buffer.of(keys.length), ...wraps, ciphertext]);
}

/** @throws {SealError} SEAL_BROKEN if the bytes do not have this layout */
export function decodeEnvelope(bytes: Uint8Array): HandoverEnvelope {
  const count = bytes[COUNT_AT] ?? 0;
  const ciphertextAt = WRAPS_AT + count * WRAPPED_BYTES;
  const fits =
    bytes[0] === VERSION &&
    count > 0 &&
    count <= MAX_RECIPIENTS &&
    bytes.length >= ciphertextAt + GCM_TAG_BYTES &&
    bytes.length <= MAX_SEALED_BYTES;
  if (!fits) throw new SealError('SEAL_BROKEN');
  const keys = Array.from({ length: count }, (_, position) => {
    const at = WRAPS_AT + position * WRAPPED_BYTES;
    const wrapped = bytes.subarray(at + KEY_ID_BYTES, at + WRAPPED_BYTES);
    return { keyId: bytes.subarray(at, at + KEY_ID_BYTES), wrapped };
  });
  return {
    sender: bytes.subarray(1, SALT_AT),
    salt: bytes.subarray(SALT_AT, COUNT_AT),
    keys,
    ciphertext: bytes.subarray(ciphertextAt),
  };
}

/** @throws {SealError} TOO_LARGE */
export function encodeBlobs({ general, payment }: HandoverBlobs): Buffer {
  if (general.length > MAX_TLV_BYTES || payment.length > MAX_TLV_BYTES) throw new SealError('TOO_LARGE');
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(general.length);
  return Buffer.concat([length, general, payment]);
}

/** @throws {SealError} SEAL_BROKEN */
export function decodeBlobs(plaintext: Buffer): HandoverBlobs {
  const paymentAt = plaintext.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + plaintext.readUInt32BE(0);
  if (paymentAt > plaintext.length) throw new SealError('SEAL_BROKEN');
  return { general: plaintext.subarray(LENGTH_BYTES, paymentAt), payment: plaintext.subarray(paymentAt) };
}

/** Encrypts with a key that is then zeroed. The tag, at the end, also covers the attempt. */
export function encryptOnce(key: Buffer, plaintext: Uint8Array, attempt: HandoverAttempt): Buffer {
  return encryptGcm(key, ZERO_NONCE, plaintext, associatedData(attempt));
}

/** @throws {SealError} SEAL_BROKEN */
export function decryptOnce(key: Buffer, sealed: Uint8Array, attempt: HandoverAttempt): Buffer {
  const tagAt = sealed.length - GCM_TAG_BYTES;
  const [ciphertext, tag] = [sealed.subarray(0, tagAt), sealed.subarray(tagAt)];
  const plaintext = decryptGcm(key, ZERO_NONCE, ciphertext, tag, associatedData(attempt));
  if (plaintext === undefined) throw new SealError('SEAL_BROKEN');
  return plaintext;
}

function associatedData({ id, attempt }: HandoverAttempt): Buffer {
  return Buffer.from(`${id}:${attempt}`);
}
