import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { KeyRingFile, PrivateJwk } from './key-ring-file.ts';

type CardDataEntry = KeyRingFile['cardData'][number];
type SecretEntry = KeyRingFile['panSealing'][number];
type SigningEntry = KeyRingFile['tokenSigning'][number];

/**
 * X25519 first: opening a blob with it costs two thirds of P-256, which remains for readers whose secure element
 * lacks X25519.
 */
export function freshCardDataKeys(): CardDataEntry[] {
  const x25519 = privateJwk(generateKeyPairSync('x25519').privateKey);
  return [
    { kid: freshId('card'), privateKey: x25519 },
    { kid: freshId('card'), privateKey: p256PrivateJwk() },
  ];
}

/** @param name the prefix of the id */
export function freshSecret(name: string): SecretEntry {
  return { id: freshId(name), secret: randomBytes(32).toString('base64url') };
}

export function freshSigningKey(): SigningEntry {
  return { kid: freshId('token'), privateKey: p256PrivateJwk() };
}

function p256PrivateJwk(): Extract<PrivateJwk, { kty: 'EC' }> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateJwk(privateKey) as Extract<PrivateJwk, { kty: 'EC' }>;
}

function privateJwk(key: KeyObject): PrivateJwk {
  return key.export({ format: 'jwk' }) as PrivateJwk;
}

function freshId(name: string): string {
  return `${name}-${randomBytes(4).toString('hex')}`;
}
