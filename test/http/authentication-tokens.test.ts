import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rotateKeys } from '../../src/card/change-key-ring.ts';
import { readKeyRing } from '../../src/card/key-ring.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { createSigner } from '../support/merchant-token.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';
import { type MERCHANTS, USER } from '../support/tenants.ts';

const INTEGRATOR = { acquirerId: 1, integratorId: 10 };
const RIGHT = { scope: 'createMobileProximityToken' };

let installation: Installation;
let publisher: Server;
/** The keys that the issuer publishes at its JWKS URL. */
let published: object[] = [];
beforeAll(async () => {
  installation = await startInstallation();
  publisher = createServer((_request, response) => response.end(JSON.stringify({ keys: published })));
  await new Promise<void>((resolve) => publisher.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  publisher.close();
  await installation.stop();
});

const now = () => Math.floor(Date.now() / 1_000);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const signed = (claims: Record<string, unknown> = {}, merchant: keyof typeof MERCHANTS = 'coffee') =>
  signMerchantToken(installation.profile(merchant), claims);

function post(path: string, headers: Record<string, string>, body?: unknown): Promise<RawResponse> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = { method: 'POST', headers: { ...json, ...headers } };
  return request(installation.url, path, body === undefined ? sent : { ...sent, body: JSON.stringify(body) });
}

const proximity = async (claims: Record<string, unknown> = RIGHT) =>
  post('/mobile/proximity-token', bearer(await signed(claims)));

async function logIn(username: string): Promise<string> {
  return ((await post('/login', {}, { username, password: PASSWORD })).body as { token: string }).token;
}

const list = (headers: Record<string, string>) => request(installation.url, '/transactions', { headers });
const keyFile = () => join(installation.environment().TAPWIRE_DATA!, 'keys.json');

describe.concurrent('a proximity token', () => {
  test('contains the merchant and terminal of the integrator’s own token, for two days', async () => {
    const { status, headers, body } = await proximity({ ...RIGHT, spCfg: 'default', usr: 'till-3' });
    expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'no-store' });
    const { token, issuedAt, expiresAt, jwtId } = body as Record<'token' | 'issuedAt' | 'expiresAt' | 'jwtId', string>;
    expect(Object.keys(body as object).sort()).toEqual(['expiresAt', 'issuedAt', 'jwtId', 'token']);
    expect(Date.parse(expiresAt) - Date.parse(issuedAt)).toBe(48 * 3_600_000);
    expect(decodeJwt(token)).toEqual({
      iss: 'tapwire',
      aud: 'tapwire',
      use: 'proximity',
      sub: '1001',
      usr: 'till-3',
      mbn: 'Corner Coffee',
      mcc: '5814',
      'x-tid': 'TERM-coffee',
      spCfg: 'default',
      acquirerId: 1,
      jti: jwtId,
      iat: Date.parse(issuedAt) / 1_000,
      exp: Date.parse(expiresAt) / 1_000,
    });
    expect(decodeProtectedHeader(token).alg).toBe('ES256');
  });

  test('takes the permission from scope, from permissions or from the registered user, and is 403 without', async () => {
    expect((await proximity({ permissions: ['other', 'createMobileProximityToken'] })).status).toBe(200);
    for (const claims of [{}, { scope: 'createMobileProximityTokens other' }, { permissions: [] }, { usr: USER.id }]) {
      expect(problemOf(await proximity(claims))).toMatchObject({ status: 403, errorCode: 101 });
    }
    const owner = { ...INTEGRATOR, merchantId: '1001' };
    const till = await savePortalUser(installation.database, owner, 'viewer', ['createMobileProximityToken']);
    await eventually(async () => expect((await proximity({ usr: till.username })).status).toBe(200));
    expect((await proximity({ usr: till.id })).status).toBe(200);
  });

  test.each([
    ['mbn', { mbn: undefined }, ['/claims/mbn']],
    ['mcc', { mcc: undefined }, ['/claims/mcc']],
    ['x-tid', { 'x-tid': undefined }, ['/claims/x-tid']],
    [
      'any of them',
      { mbn: undefined, mcc: undefined, 'x-tid': undefined },
      ['/claims/mbn', '/claims/mcc', '/claims/x-tid'],
    ],
    ['a known x-tid', { 'x-tid': 'TERM-unknown' }, ['/claims/x-tid']],
    ['an x-tid of its acquirer', { 'x-tid': 'TERM-tailor' }, ['/claims/x-tid']],
    ['an x-tid of its merchant', { 'x-tid': 'TERM-bakery' }, ['/claims/x-tid']],
  ])('is 500, 104 without %s', async (_, claims, pointers) => {
    const problem = problemOf(await proximity({ ...RIGHT, ...claims }));
    expect(problem).toMatchObject({ status: 500, errorCode: 104 });
    expect(problem.errors!.map(({ pointer }) => pointer)).toEqual(pointers);
  });

  test('is 401 for no token, a bad one, an expired one, an API key or a session', async () => {
    const expired = await signed({ ...RIGHT, iat: now() - 7_200, exp: now() - 3_600 });
    const viewer = await savePortalUser(installation.database, INTEGRATOR, 'admin');
    const refused = await Promise.all([
      post('/mobile/proximity-token', {}),
      post('/mobile/proximity-token', { 'x-api-key': await installation.apiKey() }),
      post('/mobile/proximity-token', bearer('a.b.c')),
      post('/mobile/proximity-token', bearer(await logIn(viewer.username))),
      post('/mobile/proximity-token', bearer(expired)),
    ]);
    expect(refused.map((response) => problemOf(response).errorCode)).toEqual([100, 100, 117, 117, 118]);
    expect(refused.every(({ status }) => status === 401)).toBe(true);
  });

  test('is 403, 105 for a blocked user, and 403 for one of another merchant', async () => {
    const blocked = await savePortalUser(installation.database, { ...INTEGRATOR, merchantId: '1001' }, 'viewer');
    const baker = await savePortalUser(installation.database, { ...INTEGRATOR, merchantId: '1002' }, 'viewer');
    const florist = await savePortalUser(installation.database, { acquirerId: 1, integratorId: 11 }, 'viewer');
    const boss = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    await installation.database.query('update users set is_blocked = true where id = $1', [blocked.id]);
    await eventually(async () => {
      expect(problemOf(await proximity({ ...RIGHT, usr: blocked.username }))).toMatchObject({
        status: 403,
        errorCode: 105,
      });
    });
    for (const { username } of [baker, florist]) {
      expect(problemOf(await proximity({ ...RIGHT, usr: username }))).toMatchObject({ status: 403, errorCode: 101 });
    }
    expect((await proximity({ ...RIGHT, usr: boss.username.toUpperCase() })).status).toBe(200);
  });

  test('requires no body and ignores one', async () => {
    const headers = { ...bearer(await signed(RIGHT)), 'content-type': 'application/json' };
    for (const body of ['', '{}', '{"a":1}']) {
      const { status } = await request(installation.url, '/mobile/proximity-token', { method: 'POST', headers, body });
      expect(status).toBe(200);
    }
  });
});

describe.concurrent('tokens of the gateway', () => {
  test('verify with the published keys, those from before a rotation and those from after it', async () => {
    const { username } = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const before = await logIn(username);
    const { added } = await rotateKeys(keyFile(), 'token-signing', { nowMs: Date.now(), retireAfterMs: 0 });
    const after = await eventually(async () => {
      const token = await logIn(username);
      expect(decodeProtectedHeader(token).kid).toBe(added[0]);
      return token;
    });
    const { status, headers, body } = await request(installation.url, '/.well-known/jwks.json');
    expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'public, max-age=300' });
    expect(headers.get('content-type')).toMatch(/^application\/jwk-set\+json/);
    const { keys } = body as { keys: { kid: string; d?: string }[] };
    expect(keys[0]!.kid).toBe(added[0]);
    expect(keys.every((key) => key.d === undefined)).toBe(true);
    const published = createRemoteJWKSet(new URL('/.well-known/jwks.json', installation.url));
    for (const token of [before, after]) {
      expect((await jwtVerify(token, published, { issuer: 'tapwire' })).payload.use).toBe('login');
      expect((await list(bearer(token))).status).toBe(200);
    }
  });

  test('are not accepted in place of each other, on any route', async () => {
    const { username } = await savePortalUser(installation.database, INTEGRATOR, 'admin');
    const login = await logIn(username);
    const reader = ((await proximity()).body as { token: string }).token;
    expect(problemOf(await list(bearer(reader)))).toMatchObject({ status: 403, errorCode: 101 });
    const config = await request(installation.url, '/terminal/config', { headers: bearer(login) });
    expect(problemOf(config)).toMatchObject({ status: 401, errorCode: 117 });
    for (const token of [login, reader]) {
      const tap = await request(installation.url, '/transactions/mobile', { method: 'POST', headers: bearer(token) });
      expect(problemOf(tap)).toMatchObject({ status: 401, errorCode: 117 });
    }
  });

  test('are refused if they are forged in any way', async () => {
    const { id } = await savePortalUser(installation.database, INTEGRATOR, 'admin');
    const { tokenSigning } = await readKeyRing(keyFile());
    const { kid, publicKey, sign } = tokenSigning.at(-1)!;
    const claims = {
      iss: 'tapwire',
      aud: 'tapwire',
      sub: id,
      acquirerId: 1,
      jti: 'a',
      use: 'login',
      iat: now(),
      exp: now() + 60,
    };
    const inputOf = (header: object, payload: object) =>
      [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const made = async (more: object = {}, header: object = {}) => {
      const input = inputOf({ alg: 'ES256', typ: 'JWT', kid, ...header }, { ...claims, ...more });
      return `${input}.${(await sign(Buffer.from(input))).toString('base64url')}`;
    };
    const byHand = (header: object, forge: (input: string) => Buffer) => {
      const input = inputOf(header, claims);
      return `${input}.${forge(input).toString('base64url')}`;
    };
    const good = await made();
    expect((await list(bearer(good))).status).toBe(200);
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const forged = {
      'alg none': byHand({ alg: 'none', typ: 'JWT', kid }, () => Buffer.alloc(0)),
      'alg none with a signature': byHand({ alg: 'none', typ: 'JWT', kid }, () => Buffer.alloc(64, 1)),
      'HS256 over the public key': byHand({ alg: 'HS256', typ: 'JWT', kid }, (input) =>
        createHmac('sha256', pem).update(input).digest(),
      ),
      'a signature of zeros': byHand({ alg: 'ES256', typ: 'JWT', kid }, () => Buffer.alloc(64)),
      'another issuer’s signature': await signed({ ...claims, iss: 'tapwire' }),
      jwk: await made({}, { jwk: publicKey.export({ format: 'jwk' }) }),
      jku: await made({}, { jku: 'https://attacker.example/keys' }),
      x5u: await made({}, { x5u: 'https://attacker.example/cert' }),
      'kid as a path': await made({}, { kid: '../../../etc/passwd' }),
      'kid as SQL': await made({}, { kid: "' or '1'='1" }),
      'kid as a URL': await made({}, { kid: 'https://attacker.example/key' }),
      'kid of 10 KB': await made({}, { kid: 'k'.repeat(10_240) }),
      'another audience': await made({ aud: 'another' }),
      'exp as text': await made({ exp: String(now() + 60) as unknown as number }),
      'no use': await made({ use: undefined }),
      'an invalid use': await made({ use: 'admin' }),
      'no user of that id': await made({ sub: '6f1f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11' }),
      'an invalid user id': await made({ sub: "' or '1'='1" }),
      'the user of another acquirer': await made({ acquirerId: 2 }),
      'an invalid acquirer': await made({ acquirerId: '1; drop table users' }),
    };
    for (const [how, token] of Object.entries(forged)) {
      const response = await list(bearer(token));
      expect({ how, ...problemOf(response) }).toMatchObject({ how, status: 401, errorCode: 117 });
    }
    expect(problemOf(await list(bearer(await made({ exp: now() - 1 }))))).toMatchObject({
      status: 401,
      errorCode: 118,
    });
    // Node itself accepts no headers of this size and closes the connection before anything is read of them.
    const huge = await list(bearer('a'.repeat(1_048_576))).catch(() => ({ status: 431 }));
    expect(huge.status).toBe(431);
  });
});

describe.concurrent('an issuer that publishes its keys', () => {
  test('is trusted for its own merchants, with the registered algorithms, until it is revoked', async () => {
    const { port } = publisher.address() as AddressInfo;
    const iss = 'https://publishing.example';
    const [signer, rsa] = [createSigner('ES256'), createSigner('RS256')];
    published = [signer, rsa].map(({ registered }) => ({
      ...registered.publicKey.export({ format: 'jwk' }),
      kid: registered.kid,
    }));
    await installation.database.query(
      `insert into issuer_keys (issuer, acquirer_id, integrator_id, algorithms, jwks_url) values ($1, 1, 11, '{ES256}', $2)`,
      [iss, `http://127.0.0.1:${port}/jwks`],
    );
    const tokenOf = ({ algorithm, privateKey, registered }: typeof signer, sub = '1101') =>
      new SignJWT({ iss, sub, usr: 'till', aud: 'tapwire', iat: now(), exp: now() + 60 })
        .setProtectedHeader({ alg: algorithm, kid: registered.kid! })
        .sign(privateKey);
    const own = await tokenOf(signer);
    await eventually(async () => expect((await list(bearer(own))).status).toBe(200));
    expect(problemOf(await list(bearer(await tokenOf(signer, '1001'))))).toMatchObject({ status: 403 });
    expect(problemOf(await list(bearer(await tokenOf(rsa))))).toMatchObject({ status: 401, errorCode: 117 });
    await installation.database.query('update issuer_keys set revoked_at = now() where issuer = $1', [iss]);
    await eventually(async () => expect((await list(bearer(own))).status).toBe(401));
  });
});

describe.concurrent('a token check', () => {
  const check = async (token: string, key: string) => post('/tokens/check', { 'x-api-key': key }, { token });

  test('reports to its owner which check a token fails, with any key', async () => {
    const key = await saveApiKey(installation.database, INTEGRATOR, []);
    const explained = async (token: string) => ((await check(token, key)).body as { check: string | null }).check;
    expect((await check(await signed(), key)).body).toEqual({
      valid: true,
      check: null,
      detail: 'The token is valid.',
    });
    expect(await explained(await signed({ aud: 'another' }))).toBe('audience');
    expect(await explained(await signed({ exp: String(now() + 60) }))).toBe('claims');
    expect(await explained(await signed({ iat: now() - 7_200, exp: now() - 3_600 }))).toBe('expired');
    expect(await explained(await signed({ exp: now() + 90_000 }))).toBe('lifetime');
    expect(await explained(await signed({ sub: '1101' }))).toBe('owner');
    expect(await explained(`${(await signed()).split('.').slice(0, 2).join('.')}.AAAA`)).toBe('signature');
    expect(await explained('a'.repeat(20_000))).toBe('size');
    expect(await explained('')).toBe('shape');
  });

  test('explains no token of another tenant’s issuer, nor of the gateway', async () => {
    const key = await installation.apiKey();
    const viewer = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const foreign = [
      await signed({}, 'flowers'),
      await signed({ aud: 'another' }, 'flowers'),
      await signed({}, 'tailor'),
      await signed({ iss: 'https://unknown.example' }),
    ];
    for (const token of foreign) {
      expect((await check(token, key)).body).toMatchObject({ valid: false, check: 'issuer' });
    }
    expect((await check(await logIn(viewer.username), key)).body).toMatchObject({ valid: false });
    const acquirer = await saveApiKey(installation.database, { acquirerId: 1 }, []);
    expect((await check(foreign[0]!, acquirer)).body).toMatchObject({ valid: true });
    expect((await check(foreign[2]!, acquirer)).body).toMatchObject({ check: 'issuer' });
  });

  test('accepts no token as its credential', async () => {
    const token = await signed();
    expect(problemOf(await post('/tokens/check', bearer(token), { token }))).toMatchObject({ status: 403 });
    expect(problemOf(await post('/tokens/check', {}, { token }))).toMatchObject({ status: 401, errorCode: 100 });
  });
});

describe.concurrent('a reference check', () => {
  const check = (headers: Record<string, string>, body: object) =>
    post('/transactions/references/check', headers, body);

  test('reports whether a merchant has used a reference', async () => {
    const phone = installation.phone();
    const tap = await phone.seal({ amount: '10.00', currency: 'ZAR' });
    const headers = bearer(await phone.token());
    const { merchantReference } = tap;
    expect((await check(headers, { merchantReference })).body).toEqual({ free: true });
    await phone.submit(tap);
    expect((await check(headers, { merchantReference })).body).toEqual({ free: false });
    const key = { 'x-api-key': await installation.apiKey() };
    expect((await check(key, { merchantReference, merchantId: 1001 })).body).toEqual({ free: false });
    expect((await check(key, { merchantReference, merchantId: '1002' })).body).toEqual({ free: true });
  });

  test('names a merchant that the credential owns, or is refused', async () => {
    const key = { 'x-api-key': await installation.apiKey() };
    const problem = problemOf(await check(key, { merchantReference: 'a' }));
    expect(problem).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/merchantId' }] });
    for (const merchantId of ['1101', '9999']) {
      expect(problemOf(await check(key, { merchantReference: 'a', merchantId }))).toMatchObject({ status: 403 });
    }
    const cashier = await savePortalUser(installation.database, { ...INTEGRATOR, merchantId: '1001' }, 'viewer');
    const session = bearer(await logIn(cashier.username));
    expect((await check(session, { merchantReference: 'a' })).body).toEqual({ free: true });
    expect(problemOf(await check(session, { merchantReference: 'a', merchantId: '1002' }))).toMatchObject({
      status: 403,
    });
  });
});

describe.concurrent('the owner of a credential', () => {
  const me = (headers: Record<string, string>) => request(installation.url, '/acquirers/me', { headers });

  test('is reported to keys of any scope, and to tokens', async () => {
    const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'viewer');
    const credentials = [
      { 'x-api-key': await saveApiKey(installation.database, INTEGRATOR, []) },
      bearer(await signed()),
      bearer(await logIn(username)),
    ];
    for (const headers of credentials) expect((await me(headers)).body).toEqual({ id: 1 });
    expect((await me({ 'x-api-key': await installation.apiKey({ acquirerId: 2 }) })).body).toEqual({ id: 2 });
  });

  test('is empty for the operator, refused for a reader and without a credential', async () => {
    const operator = { 'x-api-key': await saveApiKey(installation.database, 'operator', []) };
    expect(problemOf(await me(operator))).toMatchObject({ status: 403, errorCode: 101 });
    const reader = bearer(((await proximity()).body as { token: string }).token);
    expect(problemOf(await me(reader))).toMatchObject({ status: 403, errorCode: 101 });
    expect(problemOf(await me({}))).toMatchObject({ status: 401, errorCode: 100 });
  });
});

describe.concurrent('browsers', () => {
  test('get no CORS headers on routes for servers', async () => {
    const origin = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    for (const path of ['/login', '/mobile/proximity-token', '/acquirers/1/processors', '/consumer/applink']) {
      const preflight = await request(installation.url, path, { method: 'OPTIONS', headers: origin });
      expect(preflight.status).toBe(405);
      const { headers } = await post(path, origin, {});
      for (const responded of [preflight.headers, headers]) {
        expect([...responded.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      }
    }
  });
});
