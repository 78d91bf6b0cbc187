import { generateKeyPairSync } from 'node:crypto';
import type { Profile } from '../../src/tools/phone/profile.ts';

/** The issuer of the tokens of a benchmark, with a new key each time. */
export function createBenchIssuer(iss = 'https://bench.example'): Profile['issuer'] & { readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return { iss, kid: 'b1', audience: 'tapwire', algorithm: 'ES256', privateKey, publicKey };
}
