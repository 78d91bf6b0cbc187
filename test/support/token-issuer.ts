import { generateKeyPairSync } from 'node:crypto';
import type { Profile } from '../../src/tools/phone/profile.ts';

/** An issuer of merchants' tokens, with a new key each time. */
export function createTokenIssuer(iss: string, kid = 'key-1'): Profile['issuer'] & { readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return { iss, kid, audience: 'tapwire', algorithm: 'ES256', privateKey, publicKey };
}
