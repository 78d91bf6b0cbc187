import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';

/**
 * The data that a client of an installation needs: the URL and the credentials. Contains secrets; written with mode
 * 0600.
 */
export const profile = z.object({
  url: z.url(),
  apiKey: z.string(),
  login: z.object({ username: z.string(), password: z.string() }),
  /** User and password for the console. */
  operator: z.object({ username: z.string(), password: z.string() }).optional(),
  /** Of the merchant. Without it, the phones bind their taps to no merchant. */
  acquirerId: z.int().optional(),
  merchant: z.object({ id: z.string(), name: z.string(), mcc: z.string(), xTid: z.string(), user: z.string() }),
  issuer: z.object({
    iss: z.string(),
    kid: z.string(),
    audience: z.string(),
    algorithm: z.literal('ES256'),
    privateKey: z.string(),
    publicKey: z.string(),
  }),
  /** Simulates the attestation service of the acquirer, if it requires attestations. */
  attester: z.object({ iss: z.string(), privateKey: z.string() }).optional(),
});

export type Profile = z.infer<typeof profile>;

/** An issuer with new keys, as the backend of a merchant would be. */
export function createIssuer(names: Pick<Profile['issuer'], 'iss' | 'kid' | 'audience'>): Profile['issuer'] {
  const keys = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return { ...names, algorithm: 'ES256', ...keys };
}

/** The file that `npm start` writes, in the data folder. */
export function demoProfilePath(folder: string): string {
  return join(folder, 'demo.json');
}

/** @throws StartError BAD_CONFIG when the file is missing or invalid */
export function readProfile(path: string): Profile {
  try {
    return profile.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new StartError(
      'BAD_CONFIG',
      `There is no usable profile at ${path}. Run npm start first, or name a profile with --profile.`,
      { cause },
    );
  }
}

export function writeProfile(path: string, value: Profile): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}

/** The file that `--profile` names, or that of the demo. */
export function profilePath(given: string | undefined): string {
  return given ?? demoProfilePath(process.env.TAPWIRE_DATA ?? '.tapwire');
}

/**
 * The profile that `--profile` names, or that of the demo; it identifies the merchant and the integrator.
 *
 * @throws StartError BAD_CONFIG
 */
export function readProfileOrDemo(path: string | undefined): Profile {
  return readProfile(profilePath(path));
}
