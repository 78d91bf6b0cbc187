/** The words of tokens: what an integrator's backend claims when it signs for a merchant. */
import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { plainTextOrNone } from './plain-text.ts';

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

/** Blank ones name nobody, but were never refused, and a tap must not fail for a claim that nothing looks up. */
const claimText = plainTextOrNone(MAX_CLAIM_CHARS).min(1);
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
  /** For an issuer that several acquirers registered: whose merchant `sub` is. */
  acquirerId: z
    .union([
      z.int(),
      z
        .string()
        .regex(/^\d{1,10}$/)
        .transform(Number),
    ])
    .optional(),
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

/** Besides what all of our tokens claim: what the integrator's own said of the merchant (`sub`), its user and its terminal. */
export const proximityTokenClaims = z.object({
  sub: claimText,
  acquirerId: z.int(),
  usr: claimText,
  'x-tid': claimText,
  spCfg: claimText.optional(),
});

/** The answer of 4.3 (2.11). */
export const proximityTokenAnswer = z
  .object({
    token: z.string().describe('JWT for the reader: send it as `Authorization: Bearer <token>`'),
    expiresAt: z
      .string()
      .describe('ISO 8601, by our clock')
      .meta({ examples: ['2026-03-03T12:00:00.000Z'] }),
    issuedAt: z
      .string()
      .describe('ISO 8601, by our clock')
      .meta({ examples: ['2026-03-01T12:00:00.000Z'] }),
    jwtId: z.uuid().describe('`jti` of this token, to trace it by'),
  })
  .meta({ id: 'ProximityToken' });

export type ProximityTokenAnswer = z.infer<typeof proximityTokenAnswer>;

/** The answer of 4.16. */
export const ownAcquirer = z
  .object({
    id: z
      .int()
      .describe('Of the acquirer')
      .meta({ examples: [1] }),
  })
  .meta({ id: 'OwnAcquirer' });

/** Why a merchant's token is refused, by the check that it fails. Checks come in this order. */
export const TOKEN_CHECKS = {
  size: 'it is too long',
  shape: 'it is no compact JWS: three parts in Base64url, the first two of them JSON objects in UTF-8',
  header:
    'its header has a parameter that is not allowed (jwk, jku, x5u, x5c, crit, b64, enc, zip), or its kid or typ is none',
  algorithm: 'its alg is none of RS256, PS256, ES256 and EdDSA, or its key is not registered for it',
  claims: 'a claim is missing, or not of its type: iss, sub, usr, aud, iat, exp, and those that are optional',
  issuer: 'its issuer is not known, or not yours',
  keySet: 'no key could be fetched from where its issuer publishes them',
  key: 'its issuer has no key of that kid',
  signature: 'no key of its issuer has signed it',
  audience: 'its aud does not name this installation',
  'not-yet': 'its iat or nbf is in the future',
  lifetime: 'its exp is before its iat, or more than 24 hours after it',
  expired: 'it has expired',
  owner: 'its sub is no merchant of whoever registered its key',
  blocked: 'its merchant is blocked',
} as const;

export type TokenCheckName = keyof typeof TOKEN_CHECKS;

/** So long that no header of that size would arrive. */
const MAX_CHECKED_CHARS = 65_536;

/** The body of POST /tokens/check. */
export const tokenCheck = z
  .object({ token: z.string().max(MAX_CHECKED_CHARS).describe('A JWT as it would follow `Bearer`; it is not kept') })
  .meta({ id: 'TokenCheck' });

export const tokenVerdict = z
  .object({
    valid: z.boolean().describe('A request with it would be let in'),
    check: z
      .enum(Object.keys(TOKEN_CHECKS) as [TokenCheckName, ...TokenCheckName[]])
      .nullable()
      .describe('The first check that it fails; null when it passes them all'),
    detail: z
      .string()
      .describe('The same in words')
      .meta({ examples: ['it has expired'] }),
  })
  .meta({ id: 'TokenVerdict' });

export type TokenVerdict = z.infer<typeof tokenVerdict>;

/** The body of POST /transactions/references/check. */
export const referenceCheck = z
  .object({
    merchantReference,
    merchantId: idText
      .optional()
      .describe('Whose reference it is, where the credential has several merchants')
      .meta({ examples: ['1001'] }),
  })
  .meta({ id: 'ReferenceCheck' });

export const referenceVerdict = z
  .object({ free: z.boolean().describe('No transaction, link or intent of the merchant has it') })
  .meta({ id: 'ReferenceVerdict' });
