import { createPublicKey, diffieHellman, generateKeyPairSync, type JsonWebKey, randomBytes } from 'node:crypto';
import { encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES, type SamplePublicKey, type TapBinding } from '#reader-kit';
import { deriveContentKey, JWE_ALGORITHM, JWE_ENCRYPTION } from './jwe-profile.ts';

/** The ephemeral key of a proximity session, and the secret that it shares with the recipient. */
export interface JweSession {
  readonly kid: string;
  readonly publicJwk: JsonWebKey;
  readonly secret: Buffer;
}

/** @throws node's error if `recipient` is not a point of its curve */
export function openJweSession(recipient: SamplePublicKey): JweSession {
  const { privateKey, publicKey } =
    recipient.crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const recipientKey = createPublicKey({ key: { ...recipient }, format: 'jwk' });
  return {
    kid: recipient.kid,
    publicJwk: { kty, crv, x, ...(y === undefined ? {} : { y }) } as JsonWebKey,
    secret: diffieHellman({ privateKey, publicKey: recipientKey }),
  };
}

/** RFC 7516 5.1 for direct key agreement: the encrypted key is empty, the protected header is the additional data. */
export function sealJwe(plaintext: Uint8Array, { kid, publicJwk, secret }: JweSession, binding: TapBinding): string {
  const apu = Buffer.from(binding.deviceInstallationId);
  const apv = Buffer.from(binding.merchantReference);
  const header = JSON.stringify({
    alg: JWE_ALGORITHM,
    enc: JWE_ENCRYPTION,
    kid,
    epk: publicJwk,
    apu: apu.toString('base64url'),
    apv: apv.toString('base64url'),
    merchant: binding.merchant,
  });
  const protectedHeader = Buffer.from(header).toString('base64url');
  const iv = randomBytes(GCM_NONCE_BYTES);
  const sealed = encryptGcm(deriveContentKey(secret, apu, apv), iv, plaintext, Buffer.from(protectedHeader));
  const tagAt = sealed.length - GCM_TAG_BYTES;
  const parts = [iv, sealed.subarray(0, tagAt), sealed.subarray(tagAt)].map((bytes) => bytes.toString('base64url'));
  return `${protectedHeader}..${parts.join('.')}`;
}
