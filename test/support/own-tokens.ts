import { generateKeyPairSync } from 'node:crypto';
import { OwnTokens, type TokenKey, type TokenKeys } from '../../src/auth/tokens/own-tokens.ts';

export function createTokenKey(kid: string): TokenKey {
  return { kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

/** Tokens of an installation with this name, signed with these keys, newest first. */
export function ownTokensOf(keys: readonly TokenKey[], name: string, nowMs: () => number): OwnTokens {
  const ring: TokenKeys = { tokenSigning: keys, tokenKey: (kid) => keys.find((candidate) => candidate.kid === kid) };
  return new OwnTokens({ keys: ring, name, nowMs });
}
