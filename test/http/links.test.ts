import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import {
  AppPhone,
  ask,
  createLink,
  type HandedLink,
  letExpire,
  linkBody,
  MANDATE,
  post,
  statusOf,
} from '../support/links.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';

let installation: Installation;
/** The integrator's. */
let key: string;
beforeAll(async () => {
  installation = await startInstallation({ settings: { APP_URL: 'https://pay.example/app/' } });
  key = await installation.apiKey();
});
afterAll(async () => {
  await expectInvariants(installation);
  await installation.stop();
});

const create = (changes?: Record<string, unknown>, path?: string) => createLink(installation, changes, path);
const app = (link: HandedLink) => new AppPhone(installation, link);
const status = (link: HandedLink) => statusOf(installation, link.id);
const details = (link: HandedLink) => ask(installation, link, `/consumer/qrCodeDetails/${link.id}`);

/** Sends a body to a route, with the integrator's key unless other headers are given. */
function send(
  path: string,
  body: unknown,
  headers: Record<string, string> = { 'x-api-key': key },
): Promise<RawResponse> {
  return post(installation, path, body, headers);
}

function get(path: string, headers: Record<string, string | undefined> = { 'x-api-key': key }): Promise<RawResponse> {
  return request(installation.url, path, { headers });
}

async function pointersOf(path: string, body: unknown): Promise<string[]> {
  const problem = problemOf(await send(path, body));
  expect(problem).toMatchObject({ status: 400, errorCode: 104 });
  return [...new Set(problem.errors?.map(({ pointer }) => pointer))];
}

const CREATING = [
  '/consumer/qrCode',
  '/consumer/applink',
  '/consumer/intentTransaction',
  '/consumer/tt3Applink',
  '/consumer/tt3IntentTransaction',
  '/refresh/intentSessionToken',
];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a created link', () => {
  test('is a URL with the token behind the fragment, and a reference', async () => {
    const response = await send('/consumer/applink', linkBody());
    expect(response.status).toBe(200);
    expect(response.headers.get('deprecation')).toBeNull();
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { url, reference, expiresAt, ...others } = response.body as Record<string, string>;
    expect(others).toEqual({});
    expect(reference).toMatch(UUID);
    const [address, token] = url!.split('#');
    expect(address).toBe(`https://pay.example/app/pay/${reference}`);
    const claims = decodeJwt(token!);
    expect(claims).toEqual({
      iss: 'tapwire',
      aud: 'tapwire',
      sub: '1001',
      use: 'intent',
      txn: reference,
      merchantId: 1001,
      acquirerId: 1,
      jti: expect.stringMatching(UUID),
      iat: expect.any(Number),
      exp: Math.floor(Date.parse(expiresAt!) / 1_000),
    });
    expect(claims.exp! - claims.iat!).toBeGreaterThanOrEqual(899);
    expect(claims.exp! - claims.iat!).toBeLessThanOrEqual(900);
  });

  test('a created link with the deprecated address is the same, and names its successor', async () => {
    const response = await send('/consumer/qrCode', linkBody());
    expect(response).toMatchObject({ status: 200, body: { reference: expect.stringMatching(UUID) } });
    expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(response.headers.get('link')).toBe('</consumer/applink>; rel="successor-version"');
  });

  test.each([[256], [1_024], [undefined]])('has a QR code of %s pixels if requested', async (size) => {
    const { body } = await send('/consumer/applink', linkBody('coffee', { image: { required: true, size } }));
    const { qrCode } = body as { qrCode: string };
    const [, base64] = /^data:image\/png;base64,(.+)$/.exec(qrCode)!;
    const png = Buffer.from(base64!, 'base64');
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([size ?? 512, size ?? 512]);
  });

  test.each([
    ['text', '12.5', 'ZAR', '12.50'],
    ['a number', 12.5, 'ZAR', '12.50'],
    ['yen', '1200', 'JPY', '1200'],
    ['dinars', 1.125, 'BHD', '1.125'],
  ])('accepts an amount of %s', async (_what, amount, currencyCode, shown) => {
    const link = await create({ amount, currencyCode });
    expect(await status(link)).toMatchObject({ amount: shown, currency: currencyCode });
  });

  test('ignores unknown fields', async () => {
    expect((await send('/consumer/applink', linkBody('coffee', { collectionDay: 99, more: {} }))).status).toBe(200);
  });

  test.each(
    CREATING.slice(0, 5),
  )('is refused at %s with a callbackUrl, which the operator configures', async (path) => {
    expect(await pointersOf(path, { ...linkBody(), callbackUrl: 'https://shop.example/hook' })).toEqual([
      '/callbackUrl',
    ]);
  });

  test('twice with one Idempotency-Key is one, with the same response', async () => {
    const body = linkBody();
    const headers = { 'x-api-key': key, 'idempotency-key': randomUUID() };
    const [first, second] = [
      await send('/consumer/applink', body, headers),
      await send('/consumer/applink', body, headers),
    ];
    expect(second).toMatchObject({ status: 200, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const other = await send('/consumer/applink', { ...body, amount: '11.00' }, headers);
    expect(problemOf(other)).toMatchObject({ status: 422 });
  });
});

describe('a creation that violates its schema is 400, 104, with a pointer to the fault', () => {
  test.each(CREATING.slice(0, -1))('%s', async (path) => {
    const body = (changes: object) => linkBody('coffee', { ...MANDATE, ...changes });
    expect(await pointersOf(path, body({ merchantId: -1 }))).toEqual(['/merchantId']);
    expect(await pointersOf(path, body({ amount: '1.005' }))).toEqual(['/amount']);
    expect(await pointersOf(path, body({ timestamp: '2026-01-01T00:00:00Z' }))).toEqual(['/timestamp']);
  });

  test('a refused creation does not repeat the value', async () => {
    const { body } = await send('/consumer/tt3Applink', linkBody('coffee', { ...MANDATE, idNumber: 'secret' }));
    expect(JSON.stringify(body)).not.toContain('secret');
  });
});

describe('an intent session token', () => {
  test.each([
    [undefined, 60],
    [{}, 60],
    [{ expiryMinutes: 60 }, 60],
    [{ expiryMinutes: 720 }, 720],
  ])('asked for with %j is good for %i minutes', async (body, minutes) => {
    const { status: code, body: response } = await send('/refresh/intentSessionToken', body, {
      'x-api-key': await installation.apiKey({ acquirerId: 1, integratorId: 10, merchantId: '1001' }),
    });
    expect(code).toBe(200);
    const { iat, exp, ...claims } = decodeJwt((response as { token: string }).token);
    expect(claims).toMatchObject({ use: 'intentSession', merchantId: 1001, sub: '1001' });
    expect(Math.abs(exp! - iat! - minutes * 60)).toBeLessThanOrEqual(1);
  });

  test.each([
    ['59 minutes', { expiryMinutes: 59 }, '/expiryMinutes'],
    ['721 minutes', { expiryMinutes: 721 }, '/expiryMinutes'],
    ['text', { expiryMinutes: '60' }, '/expiryMinutes'],
    ['null', { expiryMinutes: null }, '/expiryMinutes'],
    ['no merchant among several', { expiryMinutes: 60, merchantId: undefined }, '/merchantId'],
  ])('an intent session token for %s is 400, never something else', async (_what, body, pointer) => {
    expect(await pointersOf('/refresh/intentSessionToken', { merchantId: '1001', ...body })).toEqual([pointer]);
  });

  test('creates intents, but no links, mandates or further session tokens', async () => {
    const { body } = await send('/refresh/intentSessionToken', { merchantId: '1001' });
    const headers = { authorization: `Bearer ${(body as { token: string }).token}` };
    for (const path of [
      '/consumer/qrCode',
      '/consumer/applink',
      '/consumer/tt3Applink',
      '/consumer/tt3IntentTransaction',
    ]) {
      const refused = await send(path, linkBody('coffee', MANDATE), headers);
      expect(problemOf(refused)).toMatchObject({ status: 403, errorCode: 101 });
    }
    expect((await send('/consumer/intentTransaction', linkBody(), headers)).status).toBe(403);
    expect((await send('/refresh/intentSessionToken', {}, headers)).status).toBe(403);
  });

  test('creates one intent with one Idempotency-Key', async () => {
    const { body } = await send('/refresh/intentSessionToken', { merchantId: '1001' });
    const authorization = `Bearer ${(body as { token: string }).token}`;
    const wanted = { paymentReference: randomUUID(), amount: '10.00', currencyCode: 'ZAR' };
    const headers = { authorization, 'idempotency-key': randomUUID() };
    const path = '/consumer/intentSession/transactions';
    const [first, second] = [await send(path, wanted, headers), await send(path, wanted, headers)];
    expect(second).toMatchObject({ status: 200, body: first.body });
  });
});

describe('permission', () => {
  test.each(
    CREATING,
  )('%s: not without a credential, not for a device, not for a key without the scope', async (path) => {
    const body = linkBody('coffee', MANDATE);
    expect(problemOf(await send(path, 'no JSON', {}))).toMatchObject({ status: 401, errorCode: 100 });
    const link = await create();
    for (const token of [await installation.phone().token(), link.token]) {
      const refused = await send(path, body, { authorization: `Bearer ${token}` });
      expect(problemOf(refused)).toMatchObject({ status: 403, errorCode: 101 });
    }
    const reader = await saveApiKey(installation.database, { acquirerId: 1 }, ['transactions:read']);
    expect(problemOf(await send(path, body, { 'x-api-key': reader }))).toMatchObject({ status: 403, errorCode: 101 });
  });

  test.each(CREATING)("%s: another owner's merchant is 404, exactly like one that does not exist", async (path) => {
    const reported = [];
    for (const merchantId of ['1101', '9999']) {
      const problem = problemOf(await send(path, linkBody('coffee', { ...MANDATE, merchantId })));
      expect(problem).toMatchObject({ status: 404, errorCode: 122 });
      reported.push({ ...problem, requestId: '' });
    }
    expect(reported[0]).toEqual(reported[1]);
  });

  const OWNERS: readonly (readonly [string, Tenant, number])[] = [
    ['its acquirer', { acquirerId: 1 }, 200],
    ['its integrator', { acquirerId: 1, integratorId: 10 }, 200],
    ['its merchant', { acquirerId: 1, integratorId: 10, merchantId: '1001' }, 200],
    ["its integrator's other merchant", { acquirerId: 1, integratorId: 10, merchantId: '1002' }, 404],
    ['another integrator', { acquirerId: 1, integratorId: 11 }, 404],
    ['another acquirer', { acquirerId: 2 }, 404],
  ];
  test.each(OWNERS)('permission to see the status of a link: %s', async (_who, owner, expected) => {
    const [link, tt3] = [await create(), await create(MANDATE, '/consumer/tt3Applink')];
    const headers = { 'x-api-key': await installation.apiKey(owner) };
    expect((await get(`/consumer/QRCode/${link.id}`, headers)).status).toBe(expected);
    expect((await get(`/consumer/tt3QRCode/${tt3.id}`, headers)).status).toBe(expected);
    // Each has its own address.
    expect((await get(`/consumer/QRCode/${tt3.id}`, headers)).status).toBe(404);
    expect((await get(`/consumer/tt3QRCode/${link.id}`, headers)).status).toBe(404);
  });

  test('permission to read a status: only with a key, and only with the id of a link', async () => {
    const link = await create();
    for (const path of ['QRCode', 'tt3QRCode']) {
      expect((await get(`/consumer/${path}/${link.id}`, {})).status).toBe(401);
      const byToken = { authorization: `Bearer ${await installation.phone().token()}` };
      expect((await get(`/consumer/${path}/${link.id}`, byToken)).status).toBe(401);
      expect((await get(`/consumer/${path}/${randomUUID()}`)).status).toBe(404);
      expect(problemOf(await get(`/consumer/${path}/4711`))).toMatchObject({
        status: 400,
        errors: [{ pointer: '/params/reference' }],
      });
    }
  });

  test('permission to read the details of a link: only with its own token', async () => {
    const link = await create();
    const path = `/consumer/qrCodeDetails/${link.id}`;
    expect((await get(path, {})).status).toBe(401);
    expect((await get(path)).status).toBe(401);
    for (const token of [await installation.phone().token(), `${link.token}x`, 'x']) {
      expect((await get(path, { authorization: `Bearer ${token}` })).status).toBe(401);
    }
    expect((await details(link)).headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['no id', { qrCodeId: undefined }, '/qrCodeId'],
    ['an invalid id', { qrCodeId: '1' }, '/qrCodeId'],
    ['no status', { status: undefined }, '/status'],
    ['a status that does not exist', { status: 'QRCodeBurnt' }, '/status'],
    ['a number beyond the last', { status: 5 }, '/status'],
    ['an invalid transactionId', { transactionId: 'x' }, '/transactionId'],
  ])('permission to acknowledge with %s: 400', async (_what, changes, pointer) => {
    const link = await create();
    const response = await ask(installation, link, '/consumer/acknowledge', {
      qrCodeId: link.id,
      status: 1,
      ...changes,
    });
    const problem = problemOf(response);
    expect(problem).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer }] });
  });
});

describe('a tap with its own reference', () => {
  test('can be read by a logged-in user who may make payments by role', async () => {
    const merchantReference = randomUUID();
    outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR', merchantReference }));
    for (const [role, creates] of [
      ['operator', 200],
      ['viewer', 403],
    ] as const) {
      const { username } = await savePortalUser(installation.database, { acquirerId: 1, integratorId: 10 }, role);
      const { body } = await send('/login', { username, password: PASSWORD }, {});
      const headers = { authorization: `Bearer ${(body as { token: string }).token}` };
      expect((await get(`/consumer/taponown/${merchantReference}`, headers)).body).toMatchObject({ errorCode: 0 });
      expect((await send('/consumer/intentTransaction', linkBody(), headers)).status).toBe(creates);
    }
  });

  test("can be read with a session token, for its merchant's taps only", async () => {
    const merchantReference = randomUUID();
    const tap = { amount: '10.51', currency: 'ZAR', merchantReference };
    const { serviceReference: id } = outcomeOf(await installation.phone().tap(tap));
    const statuses = [];
    for (const merchantId of ['1001', '1002']) {
      const { body } = await send('/refresh/intentSessionToken', { merchantId });
      const authorization = `Bearer ${(body as { token: string }).token}`;
      statuses.push(await get(`/consumer/taponown/${merchantReference}`, { authorization }));
    }
    expect(statuses[0]).toMatchObject({
      status: 200,
      body: { id, merchantReference, disposition: 'Declined', errorCode: 209, message: 'Not sufficient funds' },
    });
    expect(problemOf(statuses[1]!)).toMatchObject({ status: 404, errorCode: 122 });
    expect((await get(`/consumer/taponown/${merchantReference}`)).status).toBe(401);
    const merchants = { authorization: `Bearer ${await installation.phone().token()}` };
    expect((await get(`/consumer/taponown/${merchantReference}`, merchants)).status).toBe(401);
  });
});

async function creation(paymentReference: string): Promise<number> {
  return (await send('/consumer/applink', linkBody('coffee', { paymentReference }))).status;
}

describe('a paymentReference', () => {
  test('identifies one live or settled link, and is free after that has expired', async () => {
    const { database } = installation;
    const link = await create();
    expect(await creation(link.paymentReference)).toBe(409);
    await letExpire(database, link.id);
    // A new link need not wait for the job.
    const next = await create({ paymentReference: link.paymentReference });
    outcomeOf(await app(next).pay());
    await letExpire(database, next.id);
    expect(await creation(link.paymentReference)).toBe(409);
    expect(await status(link)).toMatchObject({ expired: true, transactionId: null });
    expect(await status(next)).toMatchObject({ expired: false, disposition: 'Approved' });
  });

  test('may be used by another merchant, too', async () => {
    const { paymentReference } = await create();
    const body = linkBody('bakery', { paymentReference });
    expect(await post(installation, '/consumer/applink', body)).toMatchObject({ status: 200 });
  });

  test('a paymentReference of many simultaneous links creates one', async () => {
    const paymentReference = randomUUID();
    const statuses = await Promise.all(Array.from({ length: 8 }, () => creation(paymentReference)));
    expect(statuses.sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
  });

  test('a paymentReference that a tap of the SDK has used is not available again, unless nothing reached a switch', async () => {
    const [paid, declined] = [randomUUID(), randomUUID()];
    const tap = (merchantReference: string, amount: string) =>
      installation.phone().tap({ amount, currency: 'ZAR', merchantReference });
    await Promise.all([tap(paid, '10.00'), tap(declined, '10.51')]);
    expect(await creation(paid)).toBe(409);
    expect(await creation(declined)).toBe(200);
  });
});

describe('an intent', () => {
  test('is paid like a link, and is found on the same routes', async () => {
    const intent = await create({}, '/consumer/intentTransaction');
    expect(await details(intent)).toMatchObject({ status: 200, body: { merchantReference: intent.paymentReference } });
    const { serviceReference } = outcomeOf(await app(intent).pay());
    expect(await status(intent)).toMatchObject({
      type: 'Tap',
      transactionId: serviceReference,
      disposition: 'Approved',
    });
  });

  test('can be created by an app with a session token, for the merchant of the token', async () => {
    const { body: session } = await post(installation, '/refresh/intentSessionToken', { merchantId: 1001 });
    const authorization = `Bearer ${(session as { token: string }).token}`;
    const paymentReference = randomUUID();
    const wanted = { paymentReference, amount: 10, currencyCode: 'ZAR', merchantId: '1002' };
    const made = await post(installation, '/consumer/intentSession/transactions', wanted, { authorization });
    expect(made.status).toBe(200);
    const intent = { ...(made.body as { id: string; token: string }), paymentReference };
    expect(await details(intent)).toMatchObject({ body: { merchantName: 'Corner Coffee' } });
    const ownStatus = () =>
      request(installation.url, `/consumer/taponown/${paymentReference}`, { headers: { authorization } });
    expect(problemOf(await ownStatus())).toMatchObject({ status: 404, errorCode: 122 });
    const { serviceReference: id } = outcomeOf(await app(intent).pay());
    const paid = { id, merchantReference: paymentReference, disposition: 'Approved', amount: '10.00', currency: 'ZAR' };
    expect(await ownStatus()).toMatchObject({ status: 200, body: paid });
  });
});
