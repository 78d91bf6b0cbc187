/** Key sets (RFC 7517): the set that the gateway publishes for its own tokens, and the sets of issuers. */
import { z } from 'zod';

/** Keys that verify tokens of the gateway. */
export const tokenKeySet = z
  .object({
    keys: z
      .array(
        z.object({
          kty: z.literal('EC').describe('Key type (RFC 7517)'),
          crv: z.literal('P-256').describe('Elliptic curve of the key'),
          x: z.string().describe('X coordinate of the public point, Base64url'),
          y: z.string().describe('Y coordinate of the public point, Base64url'),
          kid: z.string().describe('Key id, as in the header of tokens'),
          use: z.literal('sig').describe('Use of the key: signature verification'),
          alg: z.literal('ES256').describe('Signature algorithm of the key'),
        }),
      )
      .describe('Public keys, newest first; the first key signs new tokens'),
  })
  .meta({ id: 'TokenKeySet' });

export type TokenKeySet = z.infer<typeof tokenKeySet>;

/** A larger set is not a list of one issuer's signing keys. */
const MAX_KEYS = 100;
/** Limit of a kid, the same as for keys that are registered individually. */
const MAX_KID_CHARS = 255;
const MAX_WORD_CHARS = 32;

const word = z.string().max(MAX_WORD_CHARS);

/** A set as issuers publish it. Keys are read individually, so that an unusable key does not affect the others. */
export const publishedKeySet = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) });

/** A public key that verifies signatures. A key with `d` is private and should not have been published. */
export const publishedKey = z.looseObject({
  kty: z.enum(['RSA', 'EC', 'OKP']),
  kid: z.string().min(1).max(MAX_KID_CHARS).optional(),
  use: z.literal('sig').optional(),
  key_ops: z
    .array(word)
    .max(8)
    .refine((operations) => operations.includes('verify'))
    .optional(),
  alg: word.optional(),
  d: z.undefined().optional(),
});
