/** The words of tokens: what an integrator's backend claims when it signs for a merchant. */
import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** Algorithms of integrators' keys. Never `none`, never a shared secret. */
export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** Node takes 16 KB of headers in all; a token with every claim at its longest is half of that. */
export const MAX_TOKEN_CHARS = 8_192;
/** As long as the references and names of the interface (section 8). */
const MAX_CLAIM_CHARS = 255;
/** An issuer names one audience, or one per environment and product. */
const MAX_AUDIENCES = 16;
/** There are a dozen permissions. */
const MAX_PERMISSIONS = 64;

const claimText = plainText(MAX_CLAIM_CHARS);
/** Ids that some backends write as JSON numbers; they are text from here on. */
const idText = z.union([claimText, z.int().nonnegative().transform(String)]);
/** Seconds since 1970 (RFC 7519 2 allows fractions). Never text. */
const numericDate = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);
const mcc = z.union([
  z.string().regex(/^\d{4}$/),
  z
    .int()
    .nonnegative()
    .max(9_999)
    .transform((code) => String(code).padStart(4, '0')),
]);

/** Claims of a Bearer token of an integrator's backend (contract, "Authentication"). Others are ignored. */
export const merchantTokenClaims = z.object({
  iss: claimText,
  /** The merchant. */
  sub: idText,
  /** The merchant's user. */
  usr: idText,
  aud: z.union([claimText, z.array(claimText).min(1).max(MAX_AUDIENCES)]),
  iat: numericDate,
  exp: numericDate,
  nbf: numericDate.optional(),
  /** Merchant business name. */
  mbn: claimText.optional(),
  /** Merchant category code, n4. */
  mcc: mcc.optional(),
  'x-tid': idText.optional(),
  /** Name of a terminal profile. */
  spCfg: claimText.optional(),
  /** Rights, separated by blanks (RFC 8693 4.2). */
  scope: z.string().max(MAX_TOKEN_CHARS).optional(),
  permissions: z.array(claimText).max(MAX_PERMISSIONS).optional(),
  /** Only tokens that we sign have a use, and none of those stands for a merchant's backend. */
  use: z.undefined().optional(),
});

export type MerchantTokenClaims = z.infer<typeof merchantTokenClaims>;

/** Besides what all of our tokens claim. Whose the user is and what it may do is looked up: rights change while a session lasts. */
export const loginTokenClaims = z.object({
  /** The user. */
  sub: z.uuid(),
  acquirerId: z.int(),
});

/** Besides what all of our tokens claim; `sub` is the merchant. */
export const intentSessionTokenClaims = z.object({
  sub: claimText,
  acquirerId: z.int(),
  /** Numeric when it is (contract, "Values"). */
  merchantId: idText,
});

/** Besides what all of our tokens claim; `sub` is the merchant, `txn` the link or intent. */
export const intentTokenClaims = intentSessionTokenClaims.extend({ txn: z.uuid() });
