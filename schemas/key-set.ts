/** Key sets (RFC 7517): the one that we publish for our own tokens, and those that issuers publish for theirs. */
import { z } from 'zod';

/** What verifies tokens that we sign. */
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

/** Larger ones are no list of the keys that one issuer signs with. */
const MAX_KEYS = 100;
/** As with keys that are registered one by one. */
const MAX_KID_CHARS = 255;
const MAX_WORD_CHARS = 32;

const word = z.string().max(MAX_WORD_CHARS);

/** A set as issuers publish it. Its keys are read one by one: one that is none of ours to use does not spoil the others. */
export const publishedKeySet = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) });

/** A public key that verifies signatures. `d` would make it a private one, which nobody should have published. */
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
