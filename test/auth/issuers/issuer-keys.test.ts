import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readIssuerPem } from '../../../src/auth/issuers/issuer-keys.ts';

const publicPem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }) as string;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });

describe('the PEM that an integrator registers', () => {
  test.each([
    ['RSA', rsa.publicKey, ['RS256', 'PS256']],
    ['P-256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, ['ES256']],
    ['Ed25519', generateKeyPairSync('ed25519').publicKey, ['EdDSA']],
  ])('a PEM of an %s key gives the key and its allowed algorithms', (_, publicKey, algorithms) => {
    const read = readIssuerPem(publicPem(publicKey));
    expect(read?.algorithms).toEqual(algorithms);
    expect(read?.publicKey.equals(publicKey)).toBe(true);
  });

  test.each([
    ['an RSA key of 1,024 bits', publicPem(generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey)],
    ['an RSA key for PSS alone', publicPem(generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).publicKey)],
    ['a P-384 key', publicPem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)],
    ['a secp256k1 key', publicPem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey)],
    ['an Ed448 key', publicPem(generateKeyPairSync('ed448').publicKey)],
    ['an X25519 key', publicPem(generateKeyPairSync('x25519').publicKey)],
    ['a private key', rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string],
    [
      'a public key with a private one behind it',
      publicPem(rsa.publicKey) + rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }),
    ],
    ['nothing', ''],
    ['any text', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA'],
    ['a PEM of nothing', '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n'],
    ['a PEM above 4,096 characters', publicPem(rsa.publicKey).padEnd(4_097)],
  ])('is refused if it is %s', (_, pem) => {
    expect(readIssuerPem(pem)).toBeUndefined();
  });
});
