/** The schema of the key file. `create-key-ring.ts` writes it, `key-ring.ts` reads it. */
import { z } from 'zod';
import { decodeBase64Url } from '../bytes/base64.ts';

/** Six lists of at most 16 keys, each under 400 characters. */
export const MAX_KEY_RING_BYTES = 65_536;
/** Keys rotate yearly and their data live 180 days, so far fewer than 16 keys overlap. */
const MAX_KEYS = 16;

/** An id is a map key and part of a stored text: letters, digits and hyphens, never a path or a separator. */
const keyId = z.string().regex(/^[A-Za-z0-9-]{1,32}$/);
const octets32 = z.string().refine((text) => decodeBase64Url(text)?.length === 32);

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

const cardDataKey = z.strictObject({
  kid: keyId,
  privateKey: z.discriminatedUnion('kty', [x25519PrivateJwk, p256PrivateJwk]),
  /** When a previous key stops opening; undefined for the current one. */
  retireAt: z.iso.datetime().optional(),
});
const secretKey = z.strictObject({ id: keyId, secret: octets32 });
const tokenSigningKey = z.strictObject({ kid: keyId, privateKey: p256PrivateJwk });

const isUnique = (ids: readonly string[]) => new Set(ids).size === ids.length;
const secretKeys = z
  .array(secretKey)
  .min(1)
  .max(MAX_KEYS)
  .refine((keys) => isUnique(keys.map(({ id }) => id)));

export const keyRingFile = z.strictObject({
  cardData: z
    .array(cardDataKey)
    .min(1)
    .max(MAX_KEYS)
    .refine((keys) => isUnique(keys.map(({ kid }) => kid)))
    .refine((keys) => keys[0]?.retireAt === undefined),
  panSealing: secretKeys,
  panHash: secretKeys,
  blobHmac: secretKeys,
  webhookSealing: secretKeys,
  tokenSigning: z
    .array(tokenSigningKey)
    .min(1)
    .max(MAX_KEYS)
    .refine((keys) => isUnique(keys.map(({ kid }) => kid))),
});

export type KeyRingFile = z.infer<typeof keyRingFile>;
export type PrivateJwk = KeyRingFile['cardData'][number]['privateKey'];
