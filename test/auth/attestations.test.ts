import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { Attestations, type Attester, compareVersions } from '../../src/auth/attestation/attestations.ts';
import { AttestationRefused } from '../../src/basics/errors.ts';

const DEVICE = 'phone-1';
const ISSUER = 'https://attest.example';
const AUDIENCE = 'tapwire';
const NOW_MS = Date.parse('2026-11-23T10:00:00Z');
const NOW_S = NOW_MS / 1_000;

const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const own = pair();
const strange = pair();

const attester = (differing: Partial<Attester> = {}): Attester => ({
  issuer: ISSUER,
  key: { publicKey: own.publicKey, algorithms: ['ES256'] },
  maxAgeSeconds: 300,
  leastAppVersion: null,
  isRequired: true,
  ...differing,
});

function checking(attesters: Record<number, readonly Attester[]>) {
  const counted: string[] = [];
  const clock = { nowMs: NOW_MS };
  const known = { ...attesters };
  const attestations = new Attestations({
    attesters: { attesters: (acquirerId) => known[acquirerId] ?? [] },
    audience: AUDIENCE,
    nowMs: () => clock.nowMs,
    count: (result) => counted.push(result),
  });
  const resultOf = async (token: string | undefined, { acquirerId = 1, device = DEVICE } = {}) => {
    try {
      await attestations.check(acquirerId, device, token);
      return 'passed';
    } catch (error) {
      if (error instanceof AttestationRefused) return error.code;
      throw error;
    }
  };
  return { counted, clock, known, resultOf };
}

interface Token {
  readonly key?: KeyObject;
  readonly header?: object;
  readonly claims?: object;
}

function signed({ key = own.privateKey, header = {}, claims = {} }: Token = {}): Promise<string> {
  const all = { iss: ISSUER, aud: AUDIENCE, sub: DEVICE, iat: NOW_S - 5, verdict: 'trusted', ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: 'ES256', typ: 'attestation+jwt', ...header }).sign(key);
}

const base64Url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('an acquirer without attesters requires nothing', async () => {
  const { resultOf, counted } = checking({ 2: [attester()] });
  expect(await resultOf(undefined)).toBe('passed');
  expect(await resultOf('anything')).toBe('passed');
  expect(counted).toEqual([]);
});

test('an attestation for the device passes, also a second time', async () => {
  const { resultOf, counted } = checking({ 1: [attester()] });
  const token = await signed();
  expect([await resultOf(token), await resultOf(token)]).toEqual(['passed', 'passed']);
  expect(counted).toEqual(['accepted', 'accepted']);
});

describe('is refused', () => {
  const rows: [string, string, () => string | undefined | Promise<string>][] = [
    ['no attestation', 'ATTESTATION_MISSING', () => undefined],
    ['an empty one', 'ATTESTATION_MISSING', () => ''],
    ['text', 'ATTESTATION_INVALID', () => 'not a token'],
    ['a very long text', 'ATTESTATION_INVALID', () => 'a.'.repeat(100_000)],
    ['a signature of another key', 'ATTESTATION_INVALID', () => signed({ key: strange.privateKey })],
    ['another issuer', 'ATTESTATION_INVALID', () => signed({ claims: { iss: 'https://other.example' } })],
    ['another audience', 'ATTESTATION_INVALID', () => signed({ claims: { aud: 'another gateway' } })],
    ['another device', 'ATTESTATION_INVALID', () => signed({ claims: { sub: 'phone-2' } })],
    ['a token of another type', 'ATTESTATION_INVALID', () => signed({ header: { typ: 'JWT' } })],
    ['a token without type', 'ATTESTATION_INVALID', () => signed({ header: { typ: undefined } })],
    ['no verdict', 'ATTESTATION_INVALID', () => signed({ claims: { verdict: undefined } })],
    ['an unknown verdict', 'ATTESTATION_INVALID', () => signed({ claims: { verdict: 'probably' } })],
    ['no time of issue', 'ATTESTATION_INVALID', () => signed({ claims: { iat: undefined } })],
    ['a time of issue in the future', 'ATTESTATION_INVALID', () => signed({ claims: { iat: NOW_S + 120 } })],
    ['an age above the limit', 'ATTESTATION_EXPIRED', () => signed({ claims: { iat: NOW_S - 400 } })],
    ['an attestation that has expired', 'ATTESTATION_EXPIRED', () => signed({ claims: { exp: NOW_S - 100 } })],
    ['an untrusted device', 'DEVICE_UNTRUSTED', () => signed({ claims: { verdict: 'untrusted' } })],
    [
      'no signature',
      'ATTESTATION_INVALID',
      async () => {
        const [, payload] = (await signed()).split('.');
        return `${base64Url({ alg: 'none', typ: 'attestation+jwt' })}.${payload}.`;
      },
    ],
    [
      'the public key as the secret of an HMAC',
      'ATTESTATION_INVALID',
      async () => {
        const [, payload] = (await signed()).split('.');
        const input = `${base64Url({ alg: 'HS256', typ: 'attestation+jwt' })}.${payload}`;
        const secret = own.publicKey.export({ format: 'pem', type: 'spki' });
        return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
      },
    ],
    [
      'a key in the header',
      'ATTESTATION_INVALID',
      () => signed({ key: strange.privateKey, header: { jwk: strange.publicKey.export({ format: 'jwk' }) } }),
    ],
  ];
  test.each(rows)('%s', async (_what, code, token) => {
    const { resultOf, counted } = checking({ 1: [attester()] });
    expect(await resultOf(await token())).toBe(code);
    expect(counted).toEqual([code]);
  });

  test('each changed character of an attestation', async () => {
    const { resultOf } = checking({ 1: [attester()] });
    const token = await signed();
    // The last character of a part may have bits that belong to no byte.
    const ends = new Set([token.indexOf('.') - 1, token.lastIndexOf('.') - 1, token.length - 1]);
    for (let at = 0; at < token.length; at++) {
      if (ends.has(at)) continue;
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
      expect(await resultOf(changed), `character ${at}`).not.toBe('passed');
    }
  });
});

test('an attestation passes for its device and its acquirer only, also after it was accepted', async () => {
  const { resultOf } = checking({
    1: [attester()],
    2: [attester({ key: { publicKey: strange.publicKey, algorithms: ['ES256'] } })],
  });
  const token = await signed();
  expect(await resultOf(token)).toBe('passed');
  expect(await resultOf(token, { device: 'phone-2' })).toBe('ATTESTATION_INVALID');
  expect(await resultOf(token, { acquirerId: 2 })).toBe('ATTESTATION_INVALID');
});

test('an accepted attestation ends with its age, and with its attester', async () => {
  const { resultOf, clock, known } = checking({ 1: [attester()] });
  const token = await signed();
  expect(await resultOf(token)).toBe('passed');
  known[1] = [attester({ key: { publicKey: strange.publicKey, algorithms: ['ES256'] } })];
  expect(await resultOf(token)).toBe('ATTESTATION_INVALID');
  known[1] = [attester()];
  expect(await resultOf(token)).toBe('passed');
  clock.nowMs += 400_000;
  expect(await resultOf(token)).toBe('ATTESTATION_EXPIRED');
});

test('both attesters of an issuer are believed while its key is replaced', async () => {
  const { resultOf } = checking({
    1: [
      attester({ key: { publicKey: strange.publicKey, algorithms: ['ES256'] } }),
      attester({ key: undefined }),
      attester(),
    ],
  });
  expect(await resultOf(await signed())).toBe('passed');
  expect(await resultOf(await signed({ key: strange.privateKey }))).toBe('passed');
});

test.each([
  ['1.12.0', undefined, 'APP_OUTDATED'],
  ['1.12.0', '1.9', 'APP_OUTDATED'],
  ['1.12.0', '1.12', 'passed'],
  ['1.12.0', '1.12.1', 'passed'],
  ['2', '10.0', 'passed'],
])('with the least version %s, an app of version %s: %s', async (leastAppVersion, appVersion, result) => {
  const { resultOf } = checking({ 1: [attester({ leastAppVersion })] });
  expect(await resultOf(await signed({ claims: { appVersion } }))).toBe(result);
});

test('attesters that are not required refuse nothing, and count everything', async () => {
  const { resultOf, counted } = checking({ 1: [attester({ isRequired: false })] });
  const tokens = [undefined, await signed(), await signed({ claims: { verdict: 'untrusted' } })];
  for (const token of tokens) expect(await resultOf(token)).toBe('passed');
  expect(counted).toEqual(['ATTESTATION_MISSING', 'accepted', 'DEVICE_UNTRUSTED']);
});

test('versions are compared by number', () => {
  expect(['1.10', '1.9', '1.9.0', '2', '0.1'].sort(compareVersions)).toEqual(['0.1', '1.9', '1.9.0', '1.10', '2']);
});
