import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { decodeBase64Url } from '../codecs/bytes/hex.ts';
import type { Token } from '../hsm-devices/pkcs11/token.ts';

/** The schema of the key file. `change-key-ring.ts` writes it, `key-ring.ts` reads it. */

/** Six lists of at most 16 keys, each under 400 characters. */
export const MAX_KEY_RING_BYTES = 65_536;
/** Keys rotate yearly and their data live 180 days, so far fewer than 16 keys overlap. */
const MAX_KEYS = 16;

/** An id is a map key and part of a stored text: letters, digits and hyphens, never a path or a separator. */
const keyId = z.string().regex(/^[A-Za-z0-9-]{1,32}$/);
const octets = (length: number) => z.string().refine((text) => decodeBase64Url(text)?.length === length);
const NONCE_BYTES = 12;
const SECRET_BYTES = 32;
const TAG_BYTES = 16;
const octets32 = octets(SECRET_BYTES);

const x25519PrivateJwk = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('X25519'),
  x: octets32,
  d: octets32,
});
const p256PrivateJwk = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: octets32,
  y: octets32,
  d: octets32,
});

/** A key in a PKCS #11 token: its CKA_ID. */
const inToken = { tokenKey: z.string().regex(/^(?:[0-9a-f]{2}){1,32}$/) };
const p256PublicJwk = p256PrivateJwk.omit({ d: true });

/** When a previous key stops opening; undefined for the current one. */
const retireAt = z.iso.datetime().optional();
/** The key opens and verifies what others make with it, and makes nothing yet, because some hosts may not have it. */
const isPrepared = z.literal(true).optional();
const cardDataKey = z.union([
  z.strictObject({
    kid: keyId,
    privateKey: z.discriminatedUnion('kty', [x25519PrivateJwk, p256PrivateJwk]),
    retireAt,
    isPrepared,
  }),
  z.strictObject({ kid: keyId, ...inToken, publicKey: p256PublicJwk, retireAt, isPrepared }),
]);
const secretKey = z.union([
  z.strictObject({ id: keyId, secret: octets32, isPrepared }),
  /** Sealed under a key of the token: nonce, ciphertext, tag (AES-256-GCM with the id as associated data). */
  z.strictObject({ id: keyId, ...inToken, sealed: octets(NONCE_BYTES + SECRET_BYTES + TAG_BYTES), isPrepared }),
]);
const tokenSigningKey = z.union([
  z.strictObject({ kid: keyId, privateKey: p256PrivateJwk, isPrepared }),
  z.strictObject({ kid: keyId, ...inToken, publicKey: p256PublicJwk, isPrepared }),
]);

const isUnique = (ids: readonly string[]) => new Set(ids).size === ids.length;
const secretKeys = z
  .array(secretKey)
  .min(1)
  .max(MAX_KEYS)
  .refine((keys) => isUnique(keys.map(({ id }) => id)))
  .refine((keys) => !keys[0]?.isPrepared);

export const keyRingFile = z.strictObject({
  cardData: z
    .array(cardDataKey)
    .min(1)
    .max(MAX_KEYS)
    .refine((keys) => isUnique(keys.map(({ kid }) => kid)))
    .refine((keys) => keys[0]?.retireAt === undefined && !keys[0]?.isPrepared),
  panSealing: secretKeys,
  panHash: secretKeys,
  blobHmac: secretKeys,
  webhookSealing: secretKeys,
  tokenSigning: z
    .array(tokenSigningKey)
    .min(1)
    .max(MAX_KEYS)
    .refine((keys) => isUnique(keys.map(({ kid }) => kid)))
    .refine((keys) => !keys[0]?.isPrepared),
});

export type KeyRingFile = z.infer<typeof keyRingFile>;
export type PrivateJwk = z.infer<typeof x25519PrivateJwk> | z.infer<typeof p256PrivateJwk>;
export type PublicJwk = z.infer<typeof p256PublicJwk>;

/**
 * The keys of an installation in a PKCS #11 token. A key has the name of its CKA_ID in hexadecimal and never leaves the token.
 * All operations reject with HsmUnavailable if the token does not respond in time, and with TokenError if it refuses.
 */
export interface KeyToken {
  /** ECDH on P-256. @param point 04, x, y @returns 32 bytes */
  agree(id: string, point: Uint8Array): Promise<Buffer>;
  /** ECDSA on P-256. @param digest a SHA-256 @returns r, s */
  sign(id: string, digest: Uint8Array): Promise<Buffer>;
  /** Opens a secret of the key file; stops the process meanwhile, for 2 seconds at most. */
  openNow(id: string, sealed: Uint8Array, associated: Uint8Array): Buffer;
  seal(id: string, plaintext: Uint8Array, associated: Uint8Array): Promise<Buffer>;
  /** @returns the public point: 04, x, y */
  createPair(id: string, label: string, use: 'agree' | 'sign'): Promise<Buffer>;
  createSecret(id: string, label: string): Promise<void>;
}

/** The keys of an installation in a PKCS #11 token. */
export class TokenKeys implements KeyToken {
  readonly #token: Token;

  constructor(token: Token) {
    this.#token = token;
  }

  async agree(id: string, point: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'agree', id, point }));
  }

  async sign(id: string, digest: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'sign', id, digest }));
  }

  openNow(id: string, sealed: Uint8Array, associated: Uint8Array): Buffer {
    return Buffer.from(this.#token.callNow({ do: 'open', id, bytes: sealed, associated }));
  }

  async seal(id: string, plaintext: Uint8Array, associated: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'seal', id, bytes: plaintext, associated }));
  }

  async createPair(id: string, label: string, use: 'agree' | 'sign'): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'createPair', id, label, use }));
  }

  async createSecret(id: string, label: string): Promise<void> {
    await this.#token.call({ do: 'createSecret', id, label });
  }
}

/** Random, so that two installations can share a token. */
export function freshTokenKeyId(): string {
  return randomBytes(8).toString('hex');
}

/** @param point 04, x, y @throws node's error if it is not on P-256 */
export function publicKeyOfPoint(point: Uint8Array): KeyObject {
  const bytes = Buffer.from(point);
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((half) => half.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}
