/** Credentials of tenants: API keys, issuer keys, portal users. A secret is shown once, when it is created. */
import { z } from 'zod';
import { blocked, name, numberedId, times } from './admin.ts';
import { MAX_PASSWORD_CHARS } from './login.ts';
import { moment } from './moment.ts';
import { plainText } from './plain-text.ts';
import { SCOPE_NAMES } from './scopes.ts';
import { MAX_TOKEN_CHARS, SIGNING_ALGORITHMS } from './tokens.ts';

/** Long enough to deploy a new key to every server of a large fleet by hand. */
const MAX_OVERLAP_HOURS = 720;
const DEFAULT_OVERLAP_HOURS = 24;
/** An RSA key of 8,192 bits as PEM takes 1,500 characters, a certificate around it twice that. */
const MAX_PEM_CHARS = 4_096;
const MAX_URL_CHARS = 2_048;

const integratorId = numberedId
  .nullable()
  .describe('Id of the integrator that owns the credential; null if the owner is the acquirer');
const merchantId = plainText(64)
  .nullable()
  .describe('Id of the merchant that owns the credential; null if the owner is not a merchant');
const dateTime = moment.meta({ examples: ['2027-01-01T00:00:00Z'] });

const scopes = z
  .array(z.enum(SCOPE_NAMES))
  .min(1)
  .max(SCOPE_NAMES.length)
  .describe('Scopes of the key; each must be a scope of the key that makes this request')
  .meta({ examples: [['transactions:read']] });

/**
 * Without integrator and merchant, the key belongs to the acquirer. For a merchant's key, the integrator may be
 * omitted.
 */
export const newApiKey = z.object({
  name,
  scopes,
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  expiresAt: dateTime
    .nullable()
    .default(null)
    .describe('Time at which the key expires, ISO 8601 with offset; null for no expiry'),
});

export const apiKeyRotation = z.object({
  overlapHours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .default(DEFAULT_OVERLAP_HOURS)
    .describe('Hours for which the old key remains valid; a whole number'),
});

const apiKey = {
  id: z.string().describe('Id of the key; part of the key text, after the mode'),
  name,
  mode: z
    .enum(['test', 'live'])
    .describe('Mode of the key: `live` keys work only in prod, `test` keys only in other environments'),
  scopes: z.array(z.string()).describe('Scopes of the key'),
  integratorId,
  merchantId,
  expiresAt: z.string().nullable().describe('Time at which the key expires, ISO 8601; null for no expiry'),
  revokedAt: z.string().nullable().describe('Time of revocation, ISO 8601; null while the key is not revoked'),
  lastUsedAt: z.string().nullable().describe('Time of last use, ISO 8601 rounded to the minute; null if never used'),
  ...times,
};

export const storedApiKey = z.object(apiKey).meta({ id: 'ApiKey' });
export const createdApiKey = z
  .object({ ...apiKey, key: z.string().describe('Key text for the header `x-api-key`; returned only once') })
  .meta({ id: 'CreatedApiKey' });

/** Key of an integrator or merchant: as PEM, or as the URL of a JWKS, whose keys then have their own `kid`. */
export const newIssuerKey = z.object({
  issuer: plainText(255)
    .describe(
      'Value of the claim `iss` in tokens signed with the key. An issuer belongs permanently to one owner of the acquirer, and the name of the gateway is reserved',
    )
    .meta({ examples: ['https://shop.example'] }),
  kid: plainText(255)
    .nullable()
    .default(null)
    .describe('Key id (`kid`), unique for the issuer; null for the only key of an issuer, and with a JWKS'),
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  algorithms: z
    .array(z.enum(SIGNING_ALGORITHMS))
    .min(1)
    .max(SIGNING_ALGORITHMS.length)
    .nullable()
    .default(null)
    .describe('Signature algorithms accepted for the key; null for every algorithm of its key type'),
  publicKey: z
    .string()
    .max(MAX_PEM_CHARS)
    .nullable()
    .default(null)
    .describe('Public key as PEM: RSA with at least 2,048 bits, P-256 or Ed25519; null with a JWKS'),
  jwksUrl: z
    .string()
    .max(MAX_URL_CHARS)
    .nullable()
    .default(null)
    .describe('URL of the JWKS of the issuer; null with a public key'),
  proof: z
    .string()
    .max(MAX_TOKEN_CHARS)
    .nullable()
    .default(null)
    .describe(
      'Proof of possession, required with a public key: a JWS that the private key signs, with the header `typ` `issuer-key-proof+jwt` and the claims `iss` (the issuer), `aud` (the audience of this installation), `acquirerId` (a number) and `iat` (at most 7 days ago); null with a JWKS',
    ),
});

export const storedIssuerKey = z
  .object({
    id: z.uuid().describe('Id of the issuer key'),
    issuer: z.string().describe('Value of the claim `iss` in tokens signed with the key'),
    kid: z.string().nullable().describe('Key id (`kid`); null if the issuer gave none'),
    integratorId,
    merchantId,
    algorithms: z.array(z.string()).describe('Signature algorithms accepted for the key'),
    publicKey: z.string().nullable().describe('Public key as PEM; null with a JWKS'),
    jwksUrl: z.string().nullable().describe('URL of the JWKS of the issuer; null with a public key'),
    provenAt: z
      .string()
      .nullable()
      .describe(
        'Time at which possession of the private key was proven, ISO 8601; null with a JWKS. Without a proof, tokens need the claim `acquirerId` if another acquirer has the issuer',
      ),
    revokedAt: z
      .string()
      .nullable()
      .describe(
        'Time of revocation, ISO 8601; null while the key is not revoked. Tokens signed with a revoked key are refused',
      ),
    ...times,
  })
  .meta({ id: 'IssuerKey' });

const role = z
  .enum(['admin', 'operator', 'viewer'])
  .describe(
    'Role of the user: a viewer reads transactions, an operator also creates payments and refunds, an admin also manages devices',
  );
const permissions = z
  .array(z.enum([...SCOPE_NAMES, 'createMobileProximityToken']))
  .max(SCOPE_NAMES.length + 1)
  .describe('Additional rights of the user, beyond the role')
  .meta({ examples: [['createMobileProximityToken']] });
const password = z
  .string()
  .min(1)
  .max(MAX_PASSWORD_CHARS)
  .nullable()
  .default(null)
  .describe('Password with at least 12 characters; null lets the gateway generate one');

export const newUser = z.object({
  username: plainText(255)
    .describe(
      'User name for the login; unique in the installation, ignoring case; in the login domain of the acquirer, if it has one',
    )
    .meta({ examples: ['till@coffee.example'] }),
  role,
  permissions: permissions.default([]),
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  blocked: blocked
    .default(false)
    .describe('Whether the user is blocked: a blocked user cannot log in, and tokens that name the user are refused'),
  password,
});
export const userChange = z.object({ role, permissions, blocked }).partial();
export const newPassword = z.object({ password });

const user = {
  id: z.uuid().describe('Id of the user'),
  username: z.string().describe('User name for the login'),
  role,
  permissions: z.array(z.string()).describe('Additional rights of the user, beyond the role'),
  integratorId,
  merchantId,
  blocked: z.boolean().describe('Whether the user is blocked and cannot log in'),
  lastLoginAt: z.string().nullable().describe('Time of the last login, ISO 8601; null before the first login'),
  ...times,
};

export const storedUser = z.object(user).meta({ id: 'User' });
export const createdUser = z
  .object({
    ...user,
    password: z
      .string()
      .nullable()
      .describe('Generated password, returned only once; null if the request contained a password'),
  })
  .meta({ id: 'CreatedUser' });
export const madePassword = z
  .object({
    password: z
      .string()
      .nullable()
      .describe('Generated password, returned only once; null if the request contained a password'),
  })
  .meta({ id: 'MadePassword' });

export type NewApiKey = z.output<typeof newApiKey>;
export type StoredApiKey = z.output<typeof storedApiKey>;
export type NewIssuerKey = z.output<typeof newIssuerKey>;
export type StoredIssuerKey = z.output<typeof storedIssuerKey>;
export type NewUser = z.output<typeof newUser>;
export type StoredUser = z.output<typeof storedUser>;
