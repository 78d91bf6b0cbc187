import { decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { OwnTokens, type TokenKey, type TokenKeys, type TokenUse } from '../../../src/auth/tokens/gateway-tokens.ts';
import { AuthError } from '../../../src/basics/errors.ts';
import { createTokenKey } from '../../support/own-tokens.ts';

const NAME = 'tapwire-test';
const START_MS = Date.parse('2026-03-01T12:00:00.500Z');
const NOW = Math.floor(START_MS / 1_000);
const CLAIMS = { sub: '1001', jti: 'token-1', exp: NOW + 90 };

let nowMs: number;
let key: ReturnType<typeof createTokenKey>;
let tokens: OwnTokens;
beforeEach(() => {
  nowMs = START_MS;
  key = createTokenKey('new');
  tokens = tokensOf([key]);
});

function tokensOf(keys: readonly TokenKey[], name = NAME): OwnTokens {
  return new OwnTokens({ keys: ringOf(keys), name, nowMs: () => nowMs });
}

/** Token keys as a key ring holds them. */
function ringOf(tokenSigning: readonly TokenKey[]): TokenKeys {
  return { tokenSigning, tokenKey: (kid) => tokenSigning.find((candidate) => candidate.kid === kid) };
}

/** Why a token is refused: its code and the check. */
async function refusalOf(token: string, verifier = tokens): Promise<string> {
  try {
    await verifier.verify('pin', token);
  } catch (error) {
    if (error instanceof AuthError) return `${error.code} ${error.check}`;
    throw error;
  }
  return 'none';
}

/** A token signed with the right key, with any claims and header. */
function made(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT({ ...CLAIMS, iss: NAME, aud: NAME, iat: NOW, use: 'pin', ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: key.kid, ...header })
    .sign(key.privateKey);
}

describe('a token', () => {
  test('is ES256 with kid, jti and its use, with the gateway as issuer and audience, and verifies with its public key alone', async () => {
    const token = await tokens.sign('pin', { ...CLAIMS, txn: 'a' });
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'new' });
    const { payload } = await jwtVerify(token, key.publicKey, { currentDate: new Date(nowMs) });
    expect(payload).toEqual({ ...CLAIMS, iss: NAME, aud: NAME, iat: NOW, use: 'pin', txn: 'a' });
  });

  test('gives its claims for its own use', async () => {
    const token = await tokens.sign('pin', { ...CLAIMS, txn: 'a' });
    expect(await tokens.verify('pin', token)).toMatchObject({ txn: 'a', sub: '1001' });
  });

  test('a token of the previous key still verifies after a rotation, and new ones are signed with the new key', async () => {
    const old = await tokens.sign('pin', CLAIMS);
    const rotated = tokensOf([createTokenKey('newer'), key]);
    expect(await refusalOf(old, rotated)).toBe('none');
    expect(decodeProtectedHeader(await rotated.sign('pin', CLAIMS)).kid).toBe('newer');
  });

  test('is valid until its last second, and expired from then on', async () => {
    const token = await tokens.sign('pin', CLAIMS);
    nowMs = CLAIMS.exp * 1_000 - 1;
    expect(await refusalOf(token)).toBe('none');
    nowMs = CLAIMS.exp * 1_000;
    expect(await refusalOf(token)).toBe('JWT_EXPIRED expired');
  });
});

describe('no token', () => {
  test('no token of another use is accepted, expired or not', async () => {
    const token = await tokens.sign('login' as TokenUse, CLAIMS);
    expect(await refusalOf(token)).toBe('JWT_INVALID use');
    nowMs = CLAIMS.exp * 1_000;
    expect(await refusalOf(token)).toBe('JWT_INVALID use');
  });

  test('no token without a use is accepted', async () => {
    expect(await refusalOf(await made({ use: undefined }))).toBe('JWT_INVALID use');
  });

  test.each([
    ['issuer', { iss: 'another' }],
    ['audience', { aud: 'another' }],
    ['no subject', { sub: undefined }],
    ['no id', { jti: undefined }],
    ['no expiry', { exp: undefined }],
    ['no time of issue', { iat: undefined }],
    ['an expiry as text', { exp: String(NOW + 90) }],
  ])('no token with another or %s is accepted', async (_what, claims) => {
    expect(await refusalOf(await made(claims))).toMatch(/^JWT_INVALID/);
  });

  test('no token of another type is accepted', async () => {
    expect(await refusalOf(await made({}, { typ: 'at+jwt' }))).toMatch(/^JWT_INVALID/);
  });

  test.each([
    'unknown',
    '../../etc/passwd',
    '__proto__',
    'constructor',
  ])('no token of key %s is accepted', async (kid) => {
    expect(await refusalOf(await made({}, { kid }))).toBe('JWT_INVALID key');
  });

  test('no token of another key with the gateway’s kid is accepted', async () => {
    const token = await tokensOf([createTokenKey('new')]).sign('pin', CLAIMS);
    expect(await refusalOf(token)).toBe('JWT_INVALID signature');
  });

  test('signed with the public key as a shared secret is accepted', async () => {
    const secret = Buffer.from(key.publicKey.export({ type: 'spki', format: 'pem' }));
    const claims = decodeJwt(await tokens.sign('pin', CLAIMS));
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: key.kid }).sign(secret);
    expect(await refusalOf(token)).toMatch(/^JWT_INVALID/);
  });

  test('no token without a signature is accepted', async () => {
    const [, payload] = (await tokens.sign('pin', CLAIMS)).split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'none', kid: key.kid })).toString('base64url');
    for (const token of [`${header}.${payload}.`, `${header}.${payload}`])
      expect(await refusalOf(token)).toMatch(/^JWT_INVALID/);
  });

  test.each(['', 'a', 'a.b.c', '..', '{}'])('is accepted that is %j', async (token) => {
    expect(await refusalOf(token)).toMatch(/^JWT_INVALID/);
  });

  test('longer than the limit is parsed', async () => {
    expect(await refusalOf('a'.repeat(1_000_000))).toBe('JWT_INVALID size');
  });
});
