import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Problem } from '../../schemas/problem.ts';
import type { StoredTerminalProfile, TerminalConfig } from '../../schemas/terminal-profile.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { USER, xTidOf } from '../support/tenants.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
let other: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api', settings: { BASE_URL: 'https://api.example' } });
  const { database } = installation;
  operator = await saveApiKey(database, 'operator', ['profiles:manage']);
  acquirer = await saveApiKey(database, { acquirerId: 1 }, ['profiles:manage']);
  other = await saveApiKey(database, { acquirerId: 2 }, ['profiles:manage']);
});
afterAll(() => installation.stop());

/** With the acquirer's own key, unless another one is named; `path` follows `/acquirers/`. */
function call(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) {
  return request(installation.url, `/acquirers/${path}`, {
    method,
    headers: { 'x-api-key': acquirer, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const ALL = '1/softposconfigs';
const pathOf = (name: string) => `${ALL}/${encodeURIComponent(name)}`;

function expectProblem({ status, body, headers }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

const VISA = { aid: 'A0000000031010', kernelID: '03' };
const PURCHASE = { transactionType: '00', tlvDatabase: [{ tag: '9F1A', value: '0710' }] };

async function create(body: object = {}): Promise<StoredTerminalProfile> {
  const response = await call('POST', ALL, { name: randomUUID(), ...body });
  expect(response.status).toBe(201);
  return response.body as StoredTerminalProfile;
}

describe('a terminal profile (4.17)', () => {
  test('is created, shown, listed, updated and deleted by the acquirer, each change with an admin event', async () => {
    const name = `retail ${randomUUID()}`;
    const overrides = [
      { ...VISA, transactionTypeConfigs: [PURCHASE, { transactionType: '20', remove: true }] },
      { aid: 'A0000000043060', kernelID: '02', remove: true },
    ];
    const response = await call('POST', ALL, {
      name,
      terminalCurrencyCode: '710',
      overrides,
      note: 'unknown fields are ignored',
    });
    const times = { createdAt: expect.stringMatching(/T.*Z$/), updatedAt: expect.stringMatching(/T.*Z$/) };
    expect(response).toMatchObject({ status: 201 });
    expect(response.body).toEqual({ name, terminalCurrencyCode: '710', overrides, ...times });
    expect(response.headers.get('location')).toBe(`/acquirers/${pathOf(name)}`);
    expect((await call('GET', pathOf(name))).body).toEqual(response.body);
    expect((await call('GET', ALL)).body).toContainEqual(response.body);

    const changed = await call('PUT', pathOf(name), { terminalCurrencyCode: 'EUR' });
    expect(changed).toMatchObject({ status: 200, body: { name, terminalCurrencyCode: '978', overrides } });
    const emptied = await call('PUT', pathOf(name), { overrides: [] });
    expect(emptied.body).toMatchObject({ terminalCurrencyCode: '978', overrides: [] });

    expect(await call('DELETE', pathOf(name))).toMatchObject({ status: 204, body: '' });
    for (const method of ['GET', 'DELETE'])
      expectProblem(await call(method, pathOf(name)), { status: 404, errorCode: 122 });
    expectProblem(await call('PUT', pathOf(name), { overrides: [] }), { status: 404, errorCode: 122 });

    const { rows } = await installation.database.query(
      `select action, kind, actor, acquirer_id as "acquirerId" from admin_events where subject_id = $1 order by id`,
      [name],
    );
    const record = { kind: 'terminal profile', actor: expect.stringMatching(/^key [0-9a-f]{16}$/), acquirerId: 1 };
    expect(rows).toEqual(['add', 'change', 'change', 'remove'].map((action) => ({ action, ...record })));
  });

  test('may be in the simple format, and is stored in the advanced one', async () => {
    const config = [{ transactionType: '00', countryCode: 'ZA', currencyCode: '710', floorLimit: '2500' }];
    const { overrides } = await create({ configList: [{ ...VISA, config }] });
    const tlvDatabase = [
      { tag: '9F1A', value: '0710' },
      { tag: '5F2A', value: '0710' },
      { tag: 'DF8123', value: '000000002500' },
    ];
    expect(overrides).toEqual([{ ...VISA, transactionTypeConfigs: [{ transactionType: '00', tlvDatabase }] }]);
  });

  test('requires only a name', async () => {
    const stored = await create({ terminalCurrencyCode: '0710' });
    expect(stored).toMatchObject({ terminalCurrencyCode: '710', overrides: [] });
    expect(await create()).not.toHaveProperty('terminalCurrencyCode');
  });

  test('has a name that is unique within the acquirer', async () => {
    const { name } = await create();
    expectProblem(await call('POST', ALL, { name }), { status: 409, errorCode: 119 });
    expect((await call('POST', '2/softposconfigs', { name }, { 'x-api-key': other })).status).toBe(201);
  });

  test.each([
    ['in any script', 'ü/ß?#% 店'.padEnd(40, '…')],
    ['at its longest', 'ü'.repeat(255)],
  ])('can have a name %s', async (_what, name) => {
    await create({ name });
    expect((await call('GET', pathOf(name))).body).toMatchObject({ name });
    expect((await call('DELETE', pathOf(name))).status).toBe(204);
  });

  test('a terminal profile (4.17) with an Idempotency-Key is created once', async () => {
    const body = { name: randomUUID() };
    const headers = { 'idempotency-key': randomUUID() };
    const [first, again] = [await call('POST', ALL, body, headers), await call('POST', ALL, body, headers)];
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('cannot be deleted while a terminal uses it', async () => {
    const { name } = await create();
    const assign = (to: string | null) =>
      installation.database.query('update terminals set profile_name = $1 where acquirer_id = 1 and x_tid = $2', [
        to,
        xTidOf('bakery'),
      ]);
    await assign(name);
    expectProblem(await call('DELETE', pathOf(name)), { status: 409, errorCode: 134 });
    await assign(null);
    expect((await call('DELETE', pathOf(name))).status).toBe(204);
  });

  test('is listed by name, page by page', async () => {
    const names = ['p 1', 'p 2', 'p 3'].map((name) => `${name} ${randomUUID()}`);
    for (const name of names) await call('POST', '2/softposconfigs', { name }, { 'x-api-key': other });
    const first = await call('GET', `2/softposconfigs?limit=2&after=p`, undefined, { 'x-api-key': other });
    expect(first.body).toMatchObject([{ name: names[0] }, { name: names[1] }]);
    const next = /<(.+)>; rel="next"/.exec(first.headers.get('link')!)![1]!;
    const second = await request(installation.url, next, { headers: { 'x-api-key': other } });
    expect(second.body).toMatchObject([{ name: names[2] }]);
  });
});

describe('a body is refused with a pointer to each fault', () => {
  const kernel = (more: object) => ({ overrides: [{ ...VISA, ...more }] });
  test.each([
    ['no name', { name: undefined }, ['/name']],
    ['an empty name', { name: '' }, ['/name']],
    ['a name that is too long', { name: 'x'.repeat(256) }, ['/name']],
    ['a name that no address can have', { name: '..' }, ['/name']],
    ['a control character in the name', { name: 'a\u0000b' }, ['/name']],
    ['a currency as a number', { terminalCurrencyCode: 710 }, ['/terminalCurrencyCode']],
    ['an invalid currency', { terminalCurrencyCode: '999' }, ['/terminalCurrencyCode']],
    ['both formats', { overrides: [], configList: [] }, ['/configList']],
    ['an object for a list', { overrides: {} }, ['/overrides']],
    ['65 overrides', { overrides: Array(65).fill({ ...VISA, remove: true }) }, ['/overrides']],
    ['an AID of four bytes', { overrides: [{ ...VISA, aid: 'A0000000', remove: true }] }, ['/overrides/0/aid']],
    ['an AID of 17 bytes', { overrides: [{ ...VISA, aid: 'A0'.repeat(17), remove: true }] }, ['/overrides/0/aid']],
    ['an invalid kernel', { overrides: [{ ...VISA, kernelID: 'XY', remove: true }] }, ['/overrides/0/kernelID']],
    ['neither types nor remove', kernel({}), ['/overrides/0']],
    ['both types and remove', kernel({ transactionTypeConfigs: [], remove: true }), ['/overrides/0']],
    ['remove: false', kernel({ remove: false }), ['/overrides/0/remove']],
    [
      'a type of one digit',
      kernel({ transactionTypeConfigs: [{ transactionType: '0', remove: true }] }),
      ['/overrides/0/transactionTypeConfigs/0/transactionType'],
    ],
    [
      'a value that is not hex',
      kernel({ transactionTypeConfigs: [{ transactionType: '00', tlvDatabase: [{ tag: '9F33', value: 'E0F8C' }] }] }),
      ['/overrides/0/transactionTypeConfigs/0/tlvDatabase/0/value'],
    ],
    [
      'a PAN',
      kernel({
        transactionTypeConfigs: [{ transactionType: '00', tlvDatabase: [{ tag: '5A', value: '4111111111111111' }] }],
      }),
      ['/overrides/0/transactionTypeConfigs/0/tlvDatabase/0/tag'],
    ],
    [
      'a floor limit of 13 digits',
      { configList: [{ ...VISA, config: [{ transactionType: '00', floorLimit: '1'.repeat(13) }] }] },
      ['/configList/0/config/0/floorLimit'],
    ],
  ])('%s', async (_what, body, pointers) => {
    const response = await call('POST', ALL, { name: 'refused', ...body });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
    expectProblem(await call('GET', pathOf('refused')), { status: 404 });
  });

  test('an update that names nothing, and one with a fault', async () => {
    const { name } = await create();
    expect(pointersOf(await call('PUT', pathOf(name), {}))).toEqual(['']);
    expect(pointersOf(await call('PUT', pathOf(name), { configList: [] }))).toEqual(['']);
    expect(pointersOf(await call('PUT', pathOf(name), { terminalCurrencyCode: 'ZZZ' }))).toEqual([
      '/terminalCurrencyCode',
    ]);
  });
});

describe('permission to manage profiles', () => {
  const everything = (name: string): [string, string, unknown?][] => [
    ['GET', ALL],
    ['POST', ALL, { name: randomUUID() }],
    ['GET', pathOf(name)],
    ['PUT', pathOf(name), { overrides: [] }],
    ['DELETE', pathOf(name)],
  ];

  test('the operator may manage profiles, for every acquirer', async () => {
    const headers = { 'x-api-key': operator };
    expect((await call('POST', '2/softposconfigs', { name: randomUUID() }, headers)).status).toBe(201);
    expectProblem(await call('GET', '77/softposconfigs', undefined, headers), { status: 404, errorCode: 122 });
  });

  test('an acquirer may not manage the profiles of another one: the response is the same as if it did not exist', async () => {
    const { name } = await create();
    for (const [method, path, body] of everything(name)) {
      const theirs = await call(method, path, body, { 'x-api-key': other });
      const nobodys = await call(method, path.replace(/^1/, '77'), body, { 'x-api-key': other });
      expectProblem(theirs, { status: 404, errorCode: 122 });
      const known = ({ body }: RawResponse) => ({ ...(body as Problem), instance: '', requestId: '' });
      expect(known(theirs)).toEqual(known(nobodys));
    }
  });

  test('a key without the scope, or of an owner below the acquirer, may not manage profiles', async () => {
    for (const [owner, scopes] of [
      [{ acquirerId: 1 }, ['processors:manage']],
      [{ acquirerId: 1, integratorId: 10 }, ['profiles:manage']],
      [{ acquirerId: 1, integratorId: 10, merchantId: '1001' }, ['profiles:manage']],
    ] as const) {
      const key = await saveApiKey(installation.database, owner, scopes);
      for (const [method, path, body] of everything('any')) {
        expectProblem(await call(method, path, body, { 'x-api-key': key }), { status: 403, errorCode: 101 });
      }
    }
  });

  test('a Bearer token may not manage profiles, alone or beside a key', async () => {
    const authorization = `Bearer ${await installation.phone().token()}`;
    for (const [method, path, body] of everything('any')) {
      for (const headers of [{ authorization, 'x-api-key': undefined }, { authorization }]) {
        expectProblem(await call(method, path, body, headers), { status: 403, errorCode: 101 });
      }
      expectProblem(await call(method, path, body, { 'x-api-key': undefined }), { status: 401, errorCode: 100 });
    }
  });
});

/**
 * The configuration that a merchant's reader gets, with a proximity token that names this profile, or with other
 * headers.
 */
async function readerConfig(profile: string | undefined, headers: Record<string, string> = {}): Promise<RawResponse> {
  return request(installation.url, '/terminal/config', {
    headers: { authorization: `Bearer ${await proximityToken({ spCfg: profile })}`, ...headers },
  });
}

async function proximityToken(claims: Record<string, unknown>): Promise<string> {
  const right = { permissions: ['createMobileProximityToken'] };
  const token = await signMerchantToken(installation.profile('coffee'), { ...right, ...claims });
  const headers = { authorization: `Bearer ${token}` };
  const { status, body } = await request(installation.url, '/mobile/proximity-token', { method: 'POST', headers });
  expect(status).toBe(200);
  return (body as { token: string }).token;
}

describe('the configuration of a reader', () => {
  const OPEN = {
    xTid: xTidOf('coffee'),
    canTakePin: true,
    merchantName: 'Corner Coffee',
    merchantCategoryCode: '5814',
    terminalCurrencyCode: '710',
    terminalCurrencyExponent: 2,
    terminalCountryCode: '710',
    cardDataKeysUrl: 'https://api.example/.well-known/card-data-keys.json',
  };

  test('the configuration of a reader without a profile is the merchant’s, and restricts nothing', async () => {
    const { status, body } = await readerConfig(undefined);
    expect(status).toBe(200);
    expect(body).toEqual({ ...OPEN, profile: null, floorLimits: [], overrides: [] });
  });

  test('is that of the profile in the token', async () => {
    const tlvDatabase = [{ tag: 'DF8123', value: '000000005000' }];
    const overrides = [
      { ...VISA, transactionTypeConfigs: [{ transactionType: '00', tlvDatabase }] },
      {
        aid: 'A000000333010101',
        kernelID: '07',
        transactionTypeConfigs: [{ transactionType: '00', tlvDatabase: [{ tag: '9F1B', value: '000003E8' }] }],
      },
    ];
    const { name } = await create({ terminalCurrencyCode: 'JPY', overrides });
    const { body } = await readerConfig(name);
    expect(body).toEqual({
      ...OPEN,
      profile: name,
      terminalCurrencyCode: '392',
      terminalCurrencyExponent: 0,
      overrides,
      floorLimits: [
        { ...VISA, transactionType: '00', floorLimit: 5000 },
        { aid: 'A000000333010101', kernelID: '07', transactionType: '00', floorLimit: 1000 },
      ],
    });
  });

  test('is 304 until it changes', async () => {
    const { name } = await create();
    const first = await readerConfig(name);
    const tag = first.headers.get('etag')!;
    expect(tag).toMatch(/^"[\w-]{43}"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
      const again = await readerConfig(name, { 'if-none-match': known });
      expect(again).toMatchObject({ status: 304, body: '' });
      expect(again.headers.get('etag')).toBe(tag);
    }
    await call('PUT', pathOf(name), { terminalCurrencyCode: 'EUR' });
    const changed = await readerConfig(name, { 'if-none-match': tag });
    expect(changed.status).toBe(200);
    expect((changed.body as TerminalConfig).terminalCurrencyCode).toBe('978');
  });

  test('the configuration of a reader of an unknown profile is 500, 208', async () => {
    const { name } = await create();
    const authorization = `Bearer ${await proximityToken({ spCfg: name })}`;
    await call('DELETE', pathOf(name));
    const response = await request(installation.url, '/terminal/config', { headers: { authorization } });
    expectProblem(response, { status: 500, errorCode: 208 });
  });

  test('is only for proximity tokens', async () => {
    const get = (headers: Record<string, string>) => request(installation.url, '/terminal/config', { headers });
    expectProblem(await get({}), { status: 401, errorCode: 100 });
    expectProblem(await get({ 'x-api-key': acquirer }), { status: 401, errorCode: 100 });
    const merchantToken = await installation.phone().token();
    expectProblem(await get({ authorization: `Bearer ${merchantToken}` }), { status: 401, errorCode: 117 });
  });

  test('is not available to blocked devices and users', async () => {
    const authorization = `Bearer ${await proximityToken({})}`;
    const get = (device: string) =>
      request(installation.url, '/terminal/config', { headers: { authorization, 'x-device-installation-id': device } });
    await installation.database.query(
      `insert into blocked_devices (acquirer_id, device_installation_id) values (1, 'lost phone')`,
    );
    await installation.database.query('update users set is_blocked = true where id = $1', [USER.id]);
    await eventually(async () => {
      expectProblem(await get('lost phone'), { status: 403, errorCode: 139 });
      expectProblem(await get('this phone'), { status: 403, errorCode: 105 });
    });
  });
});
