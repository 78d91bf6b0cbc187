import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { postTap, type RawResponse, request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';

let installation: Installation;
let tap: TapRequest;
beforeAll(async () => {
  installation = await startInstallation();
  tap = await installation.phone().seal({ amount: '10.00', currency: 'ZAR' });
});
afterEach(async () => {
  expect((await installation.database.query('select from transactions')).rowCount).toBe(0);
  expect(installation.asked).toEqual({ authorizations: 0, reversals: 0 });
  await expectInvariants(installation);
});
afterAll(() => installation.stop());

const now = () => Math.floor(Date.now() / 1_000);

/** Each credential on two routes: submitting a tap, and reading transactions. */
async function expectRefused(authorization: string | undefined, status: number, errorCode: number): Promise<void> {
  const byTap = await postTap(installation.url, installation.phone(), tap, { headers: { authorization } });
  const byList = await request(installation.url, '/transactions', { headers: { authorization } });
  for (const response of [byTap, byList]) {
    expect(problemOf(response)).toMatchObject({ status, errorCode });
    expectChallenge(response);
  }
}

/** RFC 9110 11.6.1: a 401 states how to authenticate, and no other response does. */
function expectChallenge({ status, headers }: RawResponse): void {
  if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Bearer/);
  else expect(headers.has('www-authenticate')).toBe(false);
}

describe('a Bearer token', () => {
  const signed = (claims: Record<string, unknown>, profile: Profile = installation.profile()) =>
    signMerchantToken(profile, claims).then((token) => `Bearer ${token}`);

  test('a Bearer token that is missing is 401, 100', () => expectRefused(undefined, 401, 100));

  test.each(['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', 'Bearer a b', 'bearer'])('%j is not one: 401, 100', (header) =>
    expectRefused(header, 401, 100));

  test.each([
    'Bearer abc',
    'Bearer a.b.c',
    'Bearer eyJhbGciOiJub25lIn0.e30.',
  ])('%j cannot be read: 401, 117', (header) => expectRefused(header, 401, 117));

  test('a Bearer token that expired is 401, 118, and the challenge states it', async () => {
    const authorization = await signed({ iat: now() - 7_200, exp: now() - 3_600 });
    await expectRefused(authorization, 401, 118);
    const { headers } = await request(installation.url, '/transactions', { headers: { authorization } });
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token", ApiKey header="x-api-key"');
  });

  test('signed with another key under a known name is 401, 117', async () => {
    const profile = installation.profile();
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    await expectRefused(await signed({}, { ...profile, issuer: { ...profile.issuer, privateKey } }), 401, 117);
  });

  test('signed by an unregistered issuer is 401, 117', async () =>
    expectRefused(await signed({ iss: 'https://stranger.example' }), 401, 117));

  test('a Bearer token for another audience is 401, 117', async () =>
    expectRefused(await signed({ aud: 'another' }), 401, 117));

  test('a Bearer token that lives longer than a day is 401, 117', async () =>
    expectRefused(await signed({ exp: now() + 25 * 3_600 }), 401, 117));

  test('issued in the future is 401, 117', async () =>
    expectRefused(await signed({ iat: now() + 3_600, exp: now() + 7_200 }), 401, 117));

  test('a Bearer token with HS256 over the public key is 401, 117', async () => {
    const { issuer, merchant } = installation.profile();
    const claims = { iss: issuer.iss, aud: issuer.audience, sub: merchant.id, usr: 'u', iat: now(), exp: now() + 60 };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: issuer.kid })
      .sign(Buffer.from(issuer.publicKey));
    await expectRefused(`Bearer ${token}`, 401, 117);
  });

  test('a Bearer token whose claims were changed after it was signed is 401, 117', async () => {
    const [header, payload, signature] = (await signed({})).split('.');
    const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString());
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: '1002' })).toString('base64url');
    await expectRefused(`${header}.${changed}.${signature}`, 401, 117);
  });

  test.each([
    ['another integrator of the same acquirer', '1101'],
    ['unknown', '9999'],
  ])('a Bearer token for a merchant of %s is 403, 101', async (_whose, sub) =>
    expectRefused(await signed({ sub }), 403, 101));

  test('a Bearer token of another acquirer identifies its own merchant of that id, never that of the first', async () => {
    const profile = { ...installation.profile('tailor'), merchant: installation.profile('coffee').merchant };
    const authorization = await signed({}, profile);
    const { status, body } = await request(installation.url, '/transactions', { headers: { authorization } });
    expect(status).toBe(200);
    expect(body).toEqual([]);
  });
});

describe('an API key', () => {
  const list = (headers: Record<string, string>) => request(installation.url, '/transactions', { headers });

  async function expectKeyRefused(headers: Record<string, string>, status: number, errorCode: number): Promise<void> {
    const response = await list(headers);
    expect(problemOf(response)).toMatchObject({ status, errorCode });
    expectChallenge(response);
  }

  test('reads transactions', async () => {
    const { status, body } = await list({ 'x-api-key': await installation.apiKey() });
    expect({ status, body }).toEqual({ status: 200, body: [] });
  });

  test('does not submit taps', async () => {
    const headers = { authorization: undefined, 'x-api-key': await installation.apiKey() };
    const response = await postTap(installation.url, installation.phone(), tap, { headers });
    expect(problemOf(response)).toMatchObject({ status: 401, errorCode: 100 });
  });

  test('an API key that is malformed, unknown or has a wrong secret is 401, 102, always the same', async () => {
    const key = await installation.apiKey();
    const [prefix, mode, id, secret] = key.split('_');
    const otherSecret = `${prefix}_${mode}_${id}_${secret!.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}`;
    const otherId = `${prefix}_${mode}_${'0'.repeat(16)}_${secret}`;
    for (const wrong of ['', 'x', otherSecret, otherId, key.replace('_test_', '_live_'), key.toUpperCase()]) {
      await expectKeyRefused({ 'x-api-key': wrong }, 401, 102);
    }
  });

  test('an API key that expired is 401, 102', async () => {
    const key = await installation.apiKey();
    await installation.database.query(`update api_keys set expires_at = now() - interval '1 s' where id = $1`, [
      key.split('_')[2],
    ]);
    await expectKeyRefused({ 'x-api-key': key }, 401, 102);
  });

  test('an API key that is revoked while it is in use stops working within five seconds', async () => {
    const key = await installation.apiKey();
    expect((await list({ 'x-api-key': key })).status).toBe(200);
    await installation.database.query('update api_keys set revoked_at = now() where id = $1', [key.split('_')[2]]);
    await eventually(() => expectKeyRefused({ 'x-api-key': key }, 401, 102));
  });

  test('an API key without the scope is 403, 101', async () => {
    const key = await installation.apiKey();
    await installation.database.query(`update api_keys set scopes = '{}' where id = $1`, [key.split('_')[2]]);
    await expectKeyRefused({ 'x-api-key': key }, 403, 101);
  });

  test('together with a token of another owner is 403, 101', async () => {
    const authorization = `Bearer ${await installation.phone('flowers').token()}`;
    await expectKeyRefused({ 'x-api-key': await installation.apiKey(), authorization }, 403, 101);
  });

  test('together with an invalid token is 401', async () => {
    const authorization = 'Bearer a.b.c';
    await expectKeyRefused({ 'x-api-key': await installation.apiKey(), authorization }, 401, 117);
  });
});

test('an issuer key that is revoked while its tokens are in use stops working within five seconds', async () => {
  const authorization = `Bearer ${await installation.phone('flowers').token()}`;
  const list = () => request(installation.url, '/transactions', { headers: { authorization } });
  expect((await list()).status).toBe(200);
  await installation.database.query(`update issuer_keys set revoked_at = now() where kid = 'key-11'`);
  await eventually(async () => expect(problemOf(await list())).toMatchObject({ status: 401, errorCode: 117 }));
});
