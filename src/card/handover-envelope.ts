import {
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import { decryptGcm, encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from '../codecs/crypto/aes-gcm.ts';
import { MAX_TLV_BYTES } from '../codecs/emv/tlv.ts';

const PUBLIC_KEY_BYTES = 32;
/**
 * Length of the recipient id in a wrapped key: the beginning of the public key's SHA-256. A collision by chance
 * takes 2^32 live keys.
 */
const KEY_ID_BYTES = 8;
/** Peers are the processes of one installation: 16 workers, or as many api nodes, each with a new key every hour. */
const MAX_PEERS = 256;

/** The id of a public key inside a sealed value. */
export function keyIdOf(publicKey: Uint8Array): Buffer {
  return hash('sha256', publicKey, 'buffer').subarray(0, KEY_ID_BYTES);
}

/** An X25519 key pair that is never written anywhere, with the secrets that it shares with its peers. */
export class MemoryKeyPair {
  readonly publicKey: Buffer;
  readonly id: Buffer;
  #privateKey: KeyObject | undefined;
  /** Keyed by peer, in Base64url: an agreement costs 60 µs, and there are only a few peers. */
  readonly #secrets = new Map<string, KeyObject>();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('x25519');
    this.#privateKey = privateKey;
    this.publicKey = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
    this.id = keyIdOf(this.publicKey);
  }

  /**
   * A key for one message between this pair and a peer (HKDF-SHA-256, RFC 5869), the same on both sides.
   *
   * @param sender, recipient the two public keys: a message between other parties has another key
   * @throws {SealError} KEY_GONE after `destroy`, SEAL_BROKEN if the peer's key is not a point that shares a secret
   */
  deriveKey(peer: Uint8Array, salt: Uint8Array, sender: Uint8Array, recipient: Uint8Array): Buffer {
    const info = Buffer.concat([Buffer.from('tapwire handover\0'), sender, recipient]);
    return Buffer.from(hkdfSync('sha256', this.#sharedWith(peer), salt, info, 32));
  }

  /**
   * Discards the private key and everything agreed with it. Values that were sealed with the pair can no longer be
   * opened. OpenSSL wipes the memory of a key when the key is collected.
   */
  destroy(): void {
    this.#privateKey = undefined;
    this.#secrets.clear();
  }

  #sharedWith(peer: Uint8Array): KeyObject {
    if (this.#privateKey === undefined) throw new SealError('KEY_GONE');
    const x = Buffer.from(peer.buffer, peer.byteOffset, peer.byteLength).toString('base64url');
    const known = this.#secrets.get(x);
    if (known !== undefined) return known;
    const secret = agree(this.#privateKey, x);
    if (this.#secrets.size === MAX_PEERS) this.#secrets.clear();
    this.#secrets.set(x, secret);
    return secret;
  }
}

function agree(privateKey: KeyObject, x: string): KeyObject {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
    return createSecretKey(diffieHellman({ privateKey, publicKey }));
  } catch {
    throw new SealError('SEAL_BROKEN');
  }
}

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
/** Length of a sealed handover with both blobs at their maximum length. */
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

/**
 * The parts of a sealed handover. Its bytes:
 *
 * - version (1), sender's public key (32), salt (16), count (1)
 * - for each recipient: key id (8), wrapped content key (32 + 16)
 * - ciphertext, tag (16)
 *
 * The plaintext is the length of the general blob (4), the general blob and the payment blob. Each key encrypts once
 * (the content key is random, a wrapping key belongs to one salt and recipient), so the nonces are zeros.
 */
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

/** The public key of a worker, valid until the time that its worker announced. */
export interface WorkerPublicKey {
  /** The worker that holds the private half; the same across rotations. */
  readonly workerId: string;
  /** X25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** Where workers publish their handover keys and api processes find them. It only ever contains public halves. */
export interface HandoverKeys {
  /**
   * Replaces the worker's previous key and keeps it live for `liveForMs` from now, by the clock of the store. The
   * worker calls this repeatedly while it lives.
   */
  publish(key: WorkerPublicKey & { readonly liveForMs: number }): Promise<void>;
  /** One key for each worker that is live by the clock of the store, the most recently published first. */
  live(): Promise<readonly WorkerPublicKey[]>;
}
