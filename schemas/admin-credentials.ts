/** Credentials of tenants: API keys, issuer keys, portal users. What is secret is shown once, when it is made. */
import { z } from 'zod';
import { blocked, name, numberedId, times } from './admin.ts';
import { MAX_PASSWORD_CHARS } from './login.ts';
import { moment } from './moment.ts';
import { plainText } from './plain-text.ts';
import { SCOPE_NAMES } from './scopes.ts';
import { SIGNING_ALGORITHMS } from './tokens.ts';

/** Long enough to carry a new key to every server of a large fleet by hand. */
const MAX_OVERLAP_HOURS = 720;
const USUAL_OVERLAP_HOURS = 24;
/** An RSA key of 8,192 bits as PEM takes 1,500 characters, a certificate around it twice that. */
const MAX_PEM_CHARS = 4_096;
const MAX_URL_CHARS = 2_048;

const integratorId = numberedId.nullable().describe('The integrator that it belongs to');
const merchantId = plainText(64).nullable().describe('The merchant that it belongs to');
const dateTime = moment.meta({ examples: ['2027-01-01T00:00:00Z'] });

const scopes = z
  .array(z.enum(SCOPE_NAMES))
  .min(1)
  .max(SCOPE_NAMES.length)
  .describe('What it may do; nobody gives a scope that his own key does not have')
  .meta({ examples: [['transactions:read']] });

/** Without integrator and merchant it is the acquirer's own; a merchant's integrator need not be named. */
export const newApiKey = z.object({
  name,
  scopes,
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  expiresAt: dateTime.nullable().default(null).describe('ISO 8601; null for never'),
});

export const apiKeyRotation = z.object({
  overlapHours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .default(USUAL_OVERLAP_HOURS)
    .describe('Whole hours for which the old key works besides the new one'),
});

const apiKey = {
  id: z.string().describe('Stands in the key itself, behind its mode'),
  name,
  mode: z.enum(['test', 'live']).describe('live keys work in prod alone, test keys everywhere else'),
  scopes: z.array(z.string()).describe('What it may do'),
  integratorId,
  merchantId,
  expiresAt: z.string().nullable().describe('ISO 8601; null for never'),
  revokedAt: z.string().nullable().describe('ISO 8601: it has not worked since'),
  lastUsedAt: z.string().nullable().describe('ISO 8601, to the minute'),
  ...times,
};

export const storedApiKey = z.object(apiKey).meta({ id: 'ApiKey' });
export const createdApiKey = z
  .object({ ...apiKey, key: z.string().describe('The key: shown this once. Header `x-api-key`') })
  .meta({ id: 'CreatedApiKey' });

/** Of an integrator or of a merchant; as PEM, or by the URL of a JWKS, whose keys then have their own `kid`. */
export const newIssuerKey = z.object({
  issuer: plainText(255)
    .describe(
      '`iss` of the tokens that it signs; belongs to one owner of the acquirer for good; the name of the gateway is reserved',
    )
    .meta({ examples: ['https://shop.example'] }),
  kid: plainText(255).nullable().default(null).describe('Names the key among those of the issuer; null with a JWKS'),
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  algorithms: z
    .array(z.enum(SIGNING_ALGORITHMS))
    .min(1)
    .max(SIGNING_ALGORITHMS.length)
    .nullable()
    .default(null)
    .describe('What it may sign with; null for all that keys of its kind can'),
  publicKey: z
    .string()
    .max(MAX_PEM_CHARS)
    .nullable()
    .default(null)
    .describe('PEM: RSA from 2,048 bits, P-256 or Ed25519; null with a JWKS'),
  jwksUrl: z.string().max(MAX_URL_CHARS).nullable().default(null).describe('Where its keys are published'),
});

export const storedIssuerKey = z
  .object({
    id: z.uuid().describe('Its id, a UUID'),
    issuer: z.string().describe('`iss` of the tokens that it signs'),
    kid: z.string().nullable().describe('Names the key among those of the issuer'),
    integratorId,
    merchantId,
    algorithms: z.array(z.string()).describe('What it may sign with'),
    publicKey: z.string().nullable().describe('PEM'),
    jwksUrl: z.string().nullable().describe('Where its keys are published'),
    revokedAt: z.string().nullable().describe('ISO 8601: nothing that it signed has been believed since'),
    ...times,
  })
  .meta({ id: 'IssuerKey' });

const role = z
  .enum(['admin', 'operator', 'viewer'])
  .describe('viewers see, operators take payments and give them back, admins see to devices, too');
const permissions = z
  .array(z.enum([...SCOPE_NAMES, 'createMobileProximityToken']))
  .max(SCOPE_NAMES.length + 1)
  .describe('Rights beyond those of the role')
  .meta({ examples: [['createMobileProximityToken']] });
const password = z
  .string()
  .min(1)
  .max(MAX_PASSWORD_CHARS)
  .nullable()
  .default(null)
  .describe('At least 12 characters; null makes one');

export const newUser = z.object({
  username: plainText(255)
    .describe('Unique in the installation, in any case')
    .meta({ examples: ['till@coffee.example'] }),
  role,
  permissions: permissions.default([]),
  integratorId: integratorId.default(null),
  merchantId: merchantId.default(null),
  blocked: blocked
    .default(false)
    .describe('Whoever is blocked cannot log in, and tokens that name the user are refused'),
  password,
});
export const userChange = z.object({ role, permissions, blocked }).partial();
export const newPassword = z.object({ password });

const user = {
  id: z.uuid().describe('Its id, a UUID'),
  username: z.string().describe('What the user logs in with'),
  role,
  permissions: z.array(z.string()).describe('Rights beyond those of the role'),
  integratorId,
  merchantId,
  blocked: z.boolean().describe('Cannot log in'),
  lastLoginAt: z.string().nullable().describe('ISO 8601'),
  ...times,
};

export const storedUser = z.object(user).meta({ id: 'User' });
export const createdUser = z
  .object({ ...user, password: z.string().nullable().describe('Made for the user: shown this once') })
  .meta({ id: 'CreatedUser' });
export const madePassword = z
  .object({ password: z.string().nullable().describe('Made for the user: shown this once') })
  .meta({ id: 'MadePassword' });

export type NewApiKey = z.output<typeof newApiKey>;
export type StoredApiKey = z.output<typeof storedApiKey>;
export type NewIssuerKey = z.output<typeof newIssuerKey>;
export type StoredIssuerKey = z.output<typeof storedIssuerKey>;
export type NewUser = z.output<typeof newUser>;
export type StoredUser = z.output<typeof storedUser>;
