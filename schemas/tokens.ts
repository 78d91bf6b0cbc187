/** Tokens: the claims of an integrator's backend when it signs for a merchant. */
import { z } from 'zod';
import { merchantReference } from './card-data.ts';
import { plainTextOrNone } from './plain-text.ts';

/** Algorithms of integrators' keys. Never `none`, never a shared secret. */
export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** Node accepts 16 KB of headers in total; a token with every claim at its maximum takes half of that. */
export const MAX_TOKEN_CHARS = 8_192;
/** The same as for the references and names of the interface (section 8). */
const MAX_CLAIM_CHARS = 255;
/** An issuer names one audience, or one per environment and product. */
const MAX_AUDIENCES = 16;
/** There are a dozen permissions. */
const MAX_PERMISSIONS = 64;

/**
 * Blank texts are meaningless, but were always accepted, and a tap must not fail for a claim that is not looked up.
 */
const claimText = plainTextOrNone(MAX_CLAIM_CHARS).min(1);
/** Some backends write ids as JSON numbers; they are text from here on. */
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

/** Claims of a Bearer token of an integrator's backend (contract, "Authentication"). Other claims are ignored. */
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
  /** Rights, separated by spaces (RFC 8693 4.2). */
  scope: z.string().max(MAX_TOKEN_CHARS).optional(),
  permissions: z.array(claimText).max(MAX_PERMISSIONS).optional(),
  /** The acquirer of the merchant `sub`. Decides if several acquirers registered the issuer. */
  acquirerId: z
    .union([
      z.int(),
      z
        .string()
        .regex(/^\d{1,10}$/)
        .transform(Number),
    ])
    .optional(),
  /** Only tokens of the gateway have a use, and none of them is valid as a token of a merchant's backend. */
  use: z.undefined().optional(),
});

export type MerchantTokenClaims = z.infer<typeof merchantTokenClaims>;

/** Header `typ` of the proof that the person who registers a public key holds its private key. */
export const POSSESSION_PROOF_TYPE = 'issuer-key-proof+jwt';

/** Claims of the proof, besides `iss`, `aud` and `iat`. */
export const possessionProofClaims = z.object({
  /** The acquirer that may register the key. */
  acquirerId: z.int(),
});

/**
 * Claims in addition to those of all tokens of the gateway. The user's tenant and rights are looked up, because
 * rights change during a session.
 */
export const loginTokenClaims = z.object({
  /** The user. */
  sub: z.uuid(),
  acquirerId: z.int(),
});

/** Claims in addition to those of all tokens of the gateway; `sub` is the merchant. */
export const intentSessionTokenClaims = z.object({
  sub: claimText,
  acquirerId: z.int(),
  /** A number if it is numeric (contract, "Values"). */
  merchantId: idText,
});

/** Claims in addition to those of all tokens of the gateway; `sub` is the merchant, `txn` the link or intent. */
export const intentTokenClaims = intentSessionTokenClaims.extend({ txn: z.uuid() });

/**
 * Claims in addition to those of all tokens of the gateway: merchant (`sub`), user and terminal from the integrator's
 * token.
 */
export const proximityTokenClaims = z.object({
  sub: claimText,
  acquirerId: z.int(),
  usr: claimText,
  'x-tid': claimText,
  spCfg: claimText.optional(),
});

/** The response of 4.3 (2.11). */
export const proximityTokenResponse = z
  .object({
    token: z.string().describe('JWT for the mobile SDK; sent in the header `Authorization: Bearer <token>`'),
    expiresAt: z
      .string()
      .describe('Time at which the token expires, ISO 8601, server time')
      .meta({ examples: ['2026-03-03T12:00:00.000Z'] }),
    issuedAt: z
      .string()
      .describe('Time of issue, ISO 8601, server time')
      .meta({ examples: ['2026-03-01T12:00:00.000Z'] }),
    jwtId: z.uuid().describe('Id of the token instance (claim `jti`), for traceability'),
  })
  .meta({ id: 'ProximityToken' });

export type ProximityTokenResponse = z.infer<typeof proximityTokenResponse>;

/** The response of 4.16. */
export const ownAcquirer = z
  .object({
    id: z
      .int()
      .describe('Id of the acquirer that the credential belongs to')
      .meta({ examples: [1] }),
  })
  .meta({ id: 'OwnAcquirer' });

/** Why a merchant's token is refused: the check that fails. Checks are in this order. */
export const TOKEN_CHECKS = {
  size: 'The token is too long.',
  shape:
    'The token is not a compact JWS: it must have three parts in Base64url, and the first two must be JSON objects in UTF-8.',
  header:
    'The header contains a parameter that is not allowed (jwk, jku, x5u, x5c, crit, b64, enc, zip), or its kid or typ is invalid.',
  algorithm: 'The algorithm (alg) must be RS256, PS256, ES256 or EdDSA, and the key must be registered for it.',
  claims: 'A claim is missing or has the wrong type. Required claims: iss, sub, usr, aud, iat and exp.',
  issuer: 'The issuer (iss) is unknown or belongs to another tenant.',
  keySet: 'The keys of the issuer cannot be fetched from the registered JWKS URL.',
  key: 'The issuer has no key with this kid.',
  acquirer:
    'Another acquirer has registered the issuer, too, so the token must name yours in the claim acquirerId. A key whose possession was proven at registration, and only for your acquirer, needs no claim.',
  signature: 'The signature does not match any key of the issuer.',
  audience: 'The audience (aud) does not name this installation.',
  'not-yet': 'The time of issue (iat) or the start of validity (nbf) is in the future.',
  lifetime: 'The expiry (exp) must be after the time of issue (iat) and at most 24 hours after it.',
  expired: 'The token has expired.',
  owner: 'The merchant (sub) does not belong to the owner of the key.',
  blocked: 'The merchant is blocked.',
} as const;

export type TokenCheckName = keyof typeof TOKEN_CHECKS;

/** More than the size of any header that can arrive. */
const MAX_CHECKED_CHARS = 65_536;

/** The body of POST /tokens/check. */
export const tokenCheck = z
  .object({
    token: z.string().max(MAX_CHECKED_CHARS).describe('JWT to check, without the prefix `Bearer`; not stored'),
  })
  .meta({ id: 'TokenCheck' });

export const tokenVerdict = z
  .object({
    valid: z.boolean().describe('Whether the gateway accepts the token'),
    check: z
      .enum(Object.keys(TOKEN_CHECKS) as [TokenCheckName, ...TokenCheckName[]])
      .nullable()
      .describe('First failed check; null if the token is valid'),
    detail: z
      .string()
      .describe('Result of the check in words')
      .meta({ examples: ['The token has expired.'] }),
  })
  .meta({ id: 'TokenVerdict' });

export type TokenVerdict = z.infer<typeof tokenVerdict>;

/** The body of POST /transactions/references/check. */
export const referenceCheck = z
  .object({
    merchantReference,
    merchantId: idText
      .optional()
      .describe('Id of the merchant; required if the credential covers several merchants')
      .meta({ examples: ['1001'] }),
  })
  .meta({ id: 'ReferenceCheck' });

export const referenceVerdict = z
  .object({ free: z.boolean().describe('Whether the reference is available') })
  .meta({ id: 'ReferenceVerdict' });
