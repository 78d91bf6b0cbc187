import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Device, PushResponse } from '../../schemas/device.ts';
import type { Problem } from '../../schemas/problem.ts';
import { FakeFcm } from '../push/fake-fcm.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { letExpire } from '../support/links.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { type RawResponse, request } from '../support/requests.ts';
import type { MerchantName } from '../support/tenants.ts';

let installation: Installation;
let fcm: FakeFcm;
/** Of the integrator of coffee and bakery. */
let key: string;
/** Of coffee, the neighbour of bakery. */
let coffeeKey: string;
let stranger: string;
const SCOPES = ['devices:manage', 'payments:create'];
beforeAll(async () => {
  fcm = await FakeFcm.start();
  const settings = {
    FCM_SERVICE_ACCOUNT_FILE: fcm.accountFile,
    FCM_URL: fcm.url,
    APP_URL: 'https://pay.example',
    LOG_LEVEL: 'debug',
  };
  installation = await startInstallation({ settings, role: 'none' });
  const { database } = installation;
  key = await saveApiKey(database, { acquirerId: 1, integratorId: 10 }, SCOPES);
  coffeeKey = await saveApiKey(database, { acquirerId: 1, integratorId: 10, merchantId: '1001' }, SCOPES);
  stranger = await saveApiKey(database, { acquirerId: 2, integratorId: 20 }, SCOPES);
  await database.query(`insert into blocked_devices (acquirer_id, device_installation_id) values (1, 'stolen phone')`);
  await installation.startGateway();
});
afterEach(() => fcm.reset());
afterAll(async () => {
  await installation.stop();
  await fcm.close();
});

const { logIn, data } = consoleClient(() => installation);

type Headers = Record<string, string | undefined>;

/** With the integrator's key, unless other headers are given. */
function call(method: string, path: string, body?: unknown, headers: Headers = { 'x-api-key': key }) {
  return request(installation.url, path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function expectProblem({ status, body }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);
const bearer = async (merchant: MerchantName = 'coffee'): Promise<Headers> => ({
  authorization: `Bearer ${await installation.phone(merchant).token()}`,
});
const PUSH_TOKEN = 'push-token:of_a-device';
const deviceBody = (changes: object = {}) => ({
  deviceInstallationId: randomUUID(),
  pushToken: PUSH_TOKEN,
  friendlyName: 'Till 3',
  ...changes,
});

async function register(changes: object = {}, headers: Headers = { 'x-api-key': coffeeKey }): Promise<Device> {
  const { status, body } = await call('POST', '/devices', deviceBody(changes), headers);
  expect(status).toBe(201);
  return body as Device;
}

describe('a device', () => {
  test('is registered, listed, renamed and removed by the SDK with its merchant’s token', async () => {
    const headers = await bearer('bakery');
    const body = deviceBody();
    const first = await call('POST', '/devices', body, headers);
    const { deviceInstallationId } = body;
    const { id } = first.body as Device;
    expect(first).toMatchObject({ status: 201 });
    expect(first.body).toEqual({ id: expect.any(String), deviceInstallationId, friendlyName: 'Till 3' });
    const again = await call('POST', '/devices', { ...body, friendlyName: 'Counter' }, headers);
    expect(again).toMatchObject({ status: 200, body: { id, friendlyName: 'Counter' } });

    const shown = { id, deviceInstallationId, merchantId: '1002', hasPushToken: true, createdAt: expect.any(String) };
    expect((await call('GET', '/devices', undefined, headers)).body).toEqual([{ ...shown, friendlyName: 'Counter' }]);
    const renamed = await call('PUT', `/devices/${id}`, { friendlyName: 'Door' }, headers);
    expect(renamed).toMatchObject({ status: 200, body: { id, deviceInstallationId, friendlyName: 'Door' } });
    expect((await call('GET', '/devices')).body).toContainEqual({ ...shown, friendlyName: 'Door' });

    expect(await call('DELETE', `/devices/${id}`, undefined, headers)).toMatchObject({ status: 200, body: { id } });
    expectProblem(await call('DELETE', `/devices/${id}`, undefined, headers), { status: 404, errorCode: 136 });
    expectProblem(await call('PUT', `/devices/${id}`, { friendlyName: 'x' }), { status: 404, errorCode: 136 });
  });

  test('belongs to the named merchant if a credential has several', async () => {
    expect(pointersOf(await call('POST', '/devices', deviceBody()))).toEqual(['/merchantId']);
    const { id } = await register({ merchantId: 1002 }, { 'x-api-key': key });
    expect((await call('GET', '/devices')).body).toContainEqual(expect.objectContaining({ id, merchantId: '1002' }));
    const only = await register({}, { 'x-api-key': stranger });
    expect((await call('GET', '/devices', undefined, { 'x-api-key': stranger })).body).toMatchObject([{ id: only.id }]);
  });

  test('cannot be seen, renamed, removed or pushed to by others', async () => {
    const { id } = await register();
    const body = deviceBody();
    for (const headers of [{ 'x-api-key': stranger }, await bearer('bakery')]) {
      expect((await call('GET', '/devices', undefined, headers)).body).not.toContainEqual(
        expect.objectContaining({ id }),
      );
      for (const unknown of [id, randomUUID()]) {
        const theirs = { status: 404, errorCode: 136 };
        expectProblem(await call('PUT', `/devices/${unknown}`, { friendlyName: 'mine' }, headers), theirs);
        expectProblem(await call('DELETE', `/devices/${unknown}`, undefined, headers), theirs);
      }
    }
    expectProblem(await push(id, {}, { 'x-api-key': stranger }), { status: 404, errorCode: 136 });
    for (const merchantId of ['1101', 'unknown']) {
      expectProblem(await call('POST', '/devices', { ...body, merchantId }), { status: 404, errorCode: 122 });
    }
  });

  test('a device of two merchants is two devices', async () => {
    const deviceInstallationId = randomUUID();
    await register({ deviceInstallationId });
    const { id } = await register({ deviceInstallationId }, await bearer('bakery'));
    expectProblem(await push(deviceInstallationId, {}, { 'x-api-key': key }), { status: 409, errorCode: 134 });
    expect((await push(id, {}, { 'x-api-key': key })).body).toMatchObject({ status: 'sent' });
  });

  test('a device that is blocked is 403, 139', async () => {
    const body = deviceBody({ deviceInstallationId: 'stolen phone' });
    expectProblem(await call('POST', '/devices', body, await bearer()), { status: 403, errorCode: 139 });
  });

  test('keeps its push token sealed', async () => {
    await register({ pushToken: 'a-token-that-is-searched-for' });
    const { rows } = await installation.database.query('select devices.*::text as whole from devices');
    const sealed = await installation.database.query<{ text: string }>(
      `select encode(sealed_push_token, 'escape') as text from devices`,
    );
    expect(JSON.stringify([rows, sealed.rows])).not.toContain('searched-for');
  });

  test('is listed page by page, newest first', async () => {
    const headers = await bearer('flowers');
    const ids: string[] = [];
    for (const friendlyName of ['1', '2', '3']) ids.unshift((await register({ friendlyName }, headers)).id);
    const first = await call('GET', '/devices?limit=2', undefined, headers);
    expect((first.body as Device[]).map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const next = /<(.+)>; rel="next"/.exec(first.headers.get('link')!)![1]!;
    const second = await call('GET', next, undefined, headers);
    expect((second.body as Device[]).map(({ id }) => id)).toEqual(ids.slice(2));
    expect(second.headers.get('link')).toBeNull();
    expectProblem(await call('GET', '/devices?limit=0', undefined, headers), { status: 400, errorCode: 104 });
    expectProblem(await call('GET', '/devices?merchant=1', undefined, headers), { status: 400, errorCode: 104 });
  });

  test('is one of at most a thousand', async () => {
    await installation.database.query(
      `insert into devices (acquirer_id, merchant_id, device_installation_id, friendly_name, registered_by)
       select 1, '1101', 'crowd ' || n, 'crowd', $1 from generate_series(1, 997) n`,
      [installation.profile('flowers').merchant.user],
    );
    const headers = await bearer('flowers');
    expectProblem(await call('POST', '/devices', deviceBody(), headers), { status: 409, errorCode: 134 });
    const known = deviceBody({ deviceInstallationId: 'crowd 7' });
    expect((await call('POST', '/devices', known, headers)).status).toBe(200);
  });

  test.each([
    ['no device id', { deviceInstallationId: undefined }, ['/deviceInstallationId']],
    ['no push token', { pushToken: undefined }, ['/pushToken']],
    ['an empty push token', { pushToken: '' }, ['/pushToken']],
    ['a push token with a line break', { pushToken: 'a\nb' }, ['/pushToken']],
    ['a push token without end', { pushToken: 'x'.repeat(4_097) }, ['/pushToken']],
    ['no name', { friendlyName: undefined }, ['/friendlyName']],
    ['an empty name', { friendlyName: '' }, ['/friendlyName']],
    ['a name of 33 characters', { friendlyName: 'x'.repeat(33) }, ['/friendlyName']],
    ['a control character', { friendlyName: 'a\u0000' }, ['/friendlyName']],
  ])('a device with %s is refused', async (_what, changes, pointers) => {
    const response = await call('POST', '/devices', deviceBody(changes), { 'x-api-key': coffeeKey });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });

  test('is for keys with the scope, and for authorized users', async () => {
    const without = await saveApiKey(installation.database, { acquirerId: 1, integratorId: 10 }, ['payments:create']);
    expectProblem(await call('GET', '/devices', undefined, { 'x-api-key': without }), { status: 403, errorCode: 101 });
    expectProblem(await call('GET', '/devices', undefined, {}), { status: 401, errorCode: 100 });
    expectProblem(await call('GET', '/devices', undefined, { authorization: 'Bearer a.b.c' }), { status: 401 });
    expect((await call('GET', '/devices', undefined, await portalUser())).status).toBe(200);
  });
});

async function portalUser(): Promise<Headers> {
  const tenant = { acquirerId: 1, integratorId: 10, merchantId: '1001' };
  const { username } = await savePortalUser(installation.database, tenant, 'admin');
  const { body } = await call('POST', '/login', { username, password: PASSWORD }, {});
  return { authorization: `Bearer ${(body as { token: string }).token}` };
}

function push(deviceId: string, changes: object = {}, headers: Headers = { 'x-api-key': coffeeKey }) {
  const payment = { deviceId, amount: '10.5', currency: 'ZAR', merchantReference: randomUUID(), ...changes };
  return call('POST', '/consumer/push', payment, headers);
}

describe('a payment is pushed', () => {
  test('a payment is pushed to a device with either of its ids: both the link and the fields, all of it text', async () => {
    const { id, deviceInstallationId } = await register();
    for (const deviceId of [id, deviceInstallationId]) {
      const merchantReference = randomUUID();
      const response = await push(deviceId, { merchantReference });
      expect(response.status).toBe(201);
      const { reference, url, ...rest } = response.body as PushResponse;
      expect(rest).toEqual({ status: 'sent', expiresAt: expect.stringMatching(/Z$/) });
      expect(url).toMatch(new RegExp(`^https://pay\\.example/pay/${reference}#[\\w.-]+$`));
      const { token, data } = fcm.messages.at(-1)!;
      expect(token).toBe(PUSH_TOKEN);
      const configJwt = url.split('#')[1]!;
      expect(data).toEqual({ link: url, reference, amount: '10.50', currency: 'ZAR', merchantReference, configJwt });
      expect(decodeJwt(configJwt)).toMatchObject({ use: 'intent', txn: reference });

      const details = await call('GET', `/consumer/qrCodeDetails/${reference}`, undefined, {
        authorization: `Bearer ${configJwt}`,
      });
      expect(details).toMatchObject({ status: 200, body: { amount: '10.50', currency: 'ZAR', merchantReference } });
    }
  });

  test('people at the console see the outcome of a pushed payment, with the name of the device while it is registered', async () => {
    const { id, friendlyName } = await register();
    const merchantReference = randomUUID();
    const before = Date.now();
    const { body } = await push(id, { merchantReference });
    const shown = async (acquirerId: number) => {
      const session = await logIn({ acquirerId }, 'viewer');
      const response = await data(session, 'work', { list: 'links', filter: { reference: merchantReference } });
      return ((await response.json()) as { rows: Record<string, string>[] }).rows;
    };
    const [link] = await shown(1);
    expect(link).toMatchObject({ id: (body as PushResponse).reference, pushOutcome: 'sent', device: friendlyName });
    expect(Math.abs(Date.parse(link!.pushedAt!) - before)).toBeLessThan(60_000);
    expect(await shown(2)).toEqual([]);
    await call('DELETE', `/devices/${id}`);
    expect(await shown(1)).toMatchObject([{ device: id }]);
  });

  test('a payment is pushed with a QR code if requested', async () => {
    const { id } = await register();
    const { body } = await push(id, { image: { required: true, size: 200 } });
    expect((body as PushResponse).qrCode).toMatch(/^data:image\/png;base64,/);
  });

  test('a payment is pushed once with an Idempotency-Key', async () => {
    const { id } = await register();
    const headers = { 'x-api-key': coffeeKey, 'idempotency-key': randomUUID() };
    const merchantReference = randomUUID();
    const first = await push(id, { merchantReference }, headers);
    const again = await push(id, { merchantReference }, headers);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(fcm.messages).toHaveLength(1);
  });

  test('a payment is pushed once for a reference of a live payment', async () => {
    const { id } = await register();
    const merchantReference = randomUUID();
    await push(id, { merchantReference });
    expectProblem(await push(id, { merchantReference }), { status: 409, errorCode: 124 });
    expect(fcm.messages).toHaveLength(1);
  });

  test('a payment is pushed by servers and people, never by devices', async () => {
    const { id } = await register();
    expectProblem(await push(id, {}, await bearer()), { status: 403, errorCode: 101 });
    expectProblem(await push(id, {}, {}), { status: 401, errorCode: 100 });
    expect((await push(id, {}, await portalUser())).body).toMatchObject({ status: 'sent' });
  });

  test.each([
    ['no device', { deviceId: undefined }, ['/deviceId']],
    ['an amount of zero', { amount: '0' }, ['/amount']],
    ['more decimals than the currency has', { amount: '1.005' }, ['/amount']],
    ['a negative amount', { amount: -1 }, ['/amount']],
    ['an invalid currency', { currency: 'ZZZ' }, ['/currency']],
    ['a currency in small letters', { currency: 'zar' }, ['/currency']],
    ['no reference', { merchantReference: undefined }, ['/merchantReference']],
    ['a QR code that is too large', { image: { required: true, size: 2_000 } }, ['/image/size']],
  ])('a payment is never pushed with %s', async (_what, changes, pointers) => {
    const { id } = await register();
    const response = await push(id, changes);
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
    expect(fcm.messages).toEqual([]);
  });

  test('a payment is never pushed to an unregistered device', async () => {
    expectProblem(await push('unknown phone'), { status: 404, errorCode: 136 });
  });

  test('a payment is never pushed to a device that was blocked afterwards', async () => {
    const { id } = await register();
    await installation.database.query(`update devices set device_installation_id = 'stolen phone' where id = $1`, [id]);
    expectProblem(await push(id), { status: 403, errorCode: 139 });
    await call('DELETE', `/devices/${id}`);
  });
});

/** Makes the job of a push due now. */
async function letRetry(reference: string): Promise<void> {
  const { rowCount } = await installation.database.query(
    `update pgboss.job set start_after = now() where name = 'push' and state < 'active' and data ->> 'reference' = $1`,
    [reference],
  );
  expect(rowCount).toBe(1);
}

async function jobsOf(reference: string): Promise<Record<string, unknown>[]> {
  const { rows } = await installation.database.query(
    `select data from pgboss.job where name = 'push' and data ->> 'reference' = $1 and state < 'completed'`,
    [reference],
  );
  return rows.map(({ data }) => data);
}

describe('a push that does not arrive still returns the link', () => {
  test('is queued while the push service is unavailable, and sent by the job', async () => {
    const { id } = await register();
    fcm.response = { status: 503 };
    const { body } = await push(id);
    const { reference, status, url } = body as PushResponse;
    expect({ status, url }).toEqual({ status: 'queued', url: expect.stringContaining('/pay/') });
    expect(await jobsOf(reference)).toEqual([{ acquirerId: 1, reference, deviceId: id, attempt: 2 }]);
    fcm.response = { status: 429 };
    await letRetry(reference);
    await eventually(async () => expect(await jobsOf(reference)).toMatchObject([{ attempt: 3 }]));
    fcm.reset();
    await letRetry(reference);
    await eventually(async () => expect(await jobsOf(reference)).toEqual([]));
    expect(fcm.messages).toMatchObject([{ data: { reference, amount: '10.50' } }]);
    expect(decodeJwt(fcm.messages[0]!.data.configJwt!)).toMatchObject({ use: 'intent', txn: reference });
  });

  test('is no longer sent after its link has expired', async () => {
    const { id } = await register();
    fcm.response = { status: 500 };
    const { reference } = (await push(id)).body as PushResponse;
    fcm.reset();
    await letExpire(installation.database, reference);
    await letRetry(reference);
    await eventually(async () => expect(await jobsOf(reference)).toEqual([]));
    expect(fcm.messages).toEqual([]);
  });

  test('fails if the app was removed: its token is deleted until it registers again', async () => {
    const device = await register();
    fcm.response = { status: 404, errorCode: 'UNREGISTERED' };
    expect((await push(device.id)).body).toMatchObject({ status: 'failed', failureReason: 'UNREGISTERED' });
    fcm.reset();
    expect((await push(device.id)).body).toMatchObject({ status: 'failed', failureReason: 'NO_PUSH_TOKEN' });
    expect(fcm.messages).toEqual([]);
    const listed = (await call('GET', '/devices')).body as Device[];
    expect(listed.find(({ id }) => id === device.id)).toMatchObject({ hasPushToken: false });
    const { deviceInstallationId } = device;
    await call('POST', '/devices', deviceBody({ deviceInstallationId }), { 'x-api-key': coffeeKey });
    expect((await push(device.id)).body).toMatchObject({ status: 'sent' });
  });

  test('fails if the push service refuses it', async () => {
    const { id } = await register();
    fcm.response = { status: 400, errorCode: 'INVALID_ARGUMENT' };
    const { body } = await push(id);
    expect(body).toMatchObject({ status: 'failed', failureReason: 'REFUSED', url: expect.stringContaining('/pay/') });
  });
});

test('no log line contains a push token, a link or its token', async () => {
  const { id } = await register({ pushToken: 'log-marker-token' });
  const { url } = (await push(id)).body as PushResponse;
  fcm.response = { status: 400 };
  await push(id);
  const lines = JSON.stringify(installation.logLines);
  for (const secret of ['log-marker-token', url, url.split('#')[1]!]) expect(lines).not.toContain(secret);
});
