import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { PrivateJwk } from './key-ring-file.ts';

/**
 * The private key of a JWK, or undefined if its halves do not belong together. Node imports `x` and `y` without a
 * check, and a mismatched pair would announce a key for which nothing can be opened.
 */
export function importPrivateJwk(jwk: PrivateJwk): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    return jwk.kty === 'EC' ? (isOwnPoint(jwk) ? key : undefined) : isOwnCoordinate(jwk.x, key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function isOwnCoordinate(x: string, key: KeyObject): boolean {
  return createPublicKey(key).export({ format: 'jwk' }).x === x;
}

function isOwnPoint({ x, y, d }: Extract<PrivateJwk, { kty: 'EC' }>): boolean {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(d, 'base64url');
  const uncompressed = Buffer.concat([Buffer.of(0x04), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return pair.getPublicKey().equals(uncompressed);
}
