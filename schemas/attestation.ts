/** Attestation: a signed statement of an acquirer's service that a device and its app can be trusted. */
import { z } from 'zod';
import { times } from './admin.ts';
import { plainText } from './plain-text.ts';
import { MAX_TOKEN_CHARS } from './tokens.ts';

const MAX_PEM_CHARS = 4_096;
/** Shorter than a customer needs for a second tap makes the app ask its service for each tap; longer than a day checks nothing. */
const LEAST_AGE_SECONDS = 10;
const MAX_AGE_SECONDS = 86_400;
const DEFAULT_AGE_SECONDS = 300;

/** `2`, `1.12.0`: one to four numbers. */
const appVersion = z.string().regex(/^\d{1,6}(\.\d{1,6}){0,3}$/, 'must be one to four numbers separated by dots');

const attesterName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 lower-case letters, digits or hyphens')
  .describe('Name of the attester, unique for the acquirer')
  .meta({ examples: ['android'] });

const attesterFields = {
  issuer: plainText(255)
    .describe('Value of the claim `iss` in the attestations')
    .meta({ examples: ['https://attest.example'] }),
  publicKey: z
    .string()
    .max(MAX_PEM_CHARS)
    .describe('Public key that verifies the attestations, as PEM: RSA with at least 2,048 bits, P-256 or Ed25519'),
  maxAgeSeconds: z
    .int()
    .min(LEAST_AGE_SECONDS)
    .max(MAX_AGE_SECONDS)
    .describe('Seconds after `iat` for which an attestation is accepted'),
  required: z
    .boolean()
    .describe(
      'Whether the acquirer refuses taps and PINs without an attestation. With false for all its attesters, attestations are only counted in the metric `tapwire_attestations_total`, to see what would be refused',
    ),
  leastAppVersion: appVersion
    .nullable()
    .describe('Lowest version of the app that is accepted; null for any')
    .meta({ examples: ['1.12.0'] }),
};

export const newAttester = z.object({
  name: attesterName,
  ...attesterFields,
  maxAgeSeconds: attesterFields.maxAgeSeconds.default(DEFAULT_AGE_SECONDS),
  required: attesterFields.required.default(true),
  leastAppVersion: attesterFields.leastAppVersion.default(null),
});
export const attesterChange = z.object(attesterFields).partial();
export const storedAttester = z.object({ name: attesterName, ...attesterFields, ...times }).meta({ id: 'Attester' });

export type NewAttester = z.output<typeof newAttester>;
export type StoredAttester = z.output<typeof storedAttester>;

/** The header `typ` of an attestation. No other token has it, so that a merchant's token is not taken for one. */
export const ATTESTATION_TYPE = 'attestation+jwt';

/** The claims of an attestation besides `iss`, `aud` and `iat`. */
export const attestationClaims = z.object({
  /** The device installation id. */
  sub: z.string().min(1).max(255),
  verdict: z.enum(['trusted', 'untrusted']),
  appVersion: appVersion.optional(),
});

/** The header that carries an attestation. */
export const attestationHeader = z
  .string()
  .max(MAX_TOKEN_CHARS)
  .describe(
    'Attestation of the device: a JWS signed by an attester of the acquirer. Required if the acquirer has a required attester',
  );
