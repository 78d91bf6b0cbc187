import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { OwnTokens, type TokenKey, type TokenKeys } from '../../src/auth/tokens/gateway-tokens.ts';

/** With its private half, for tokens that a test makes itself. */
export function createTokenKey(kid: string): TokenKey & { readonly privateKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return { kid, privateKey, publicKey, sign: (message) => sign('sha256', message, key) };
}

/** Tokens of an installation with this name, signed with these keys, newest first. */
export function ownTokensOf(keys: readonly TokenKey[], name: string, nowMs: () => number): OwnTokens {
  const ring: TokenKeys = { tokenSigning: keys, tokenKey: (kid) => keys.find((candidate) => candidate.kid === kid) };
  return new OwnTokens({ keys: ring, name, nowMs });
}
