import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Problem } from '../../schemas/problem.ts';
import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
beforeAll(async () => {
  installation = await startInstallation();
  operator = await saveApiKey(installation.database, 'operator', SCOPE_NAMES);
  acquirer = await saveApiKey(installation.database, { acquirerId: 1 }, SCOPE_NAMES);
});
afterAll(() => installation.stop());

/** With the key of acquirer 1, unless another one is named. */
function call(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) {
  return request(installation.url, `/acquirers${path}`, {
    method,
    headers: { 'x-api-key': acquirer, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const asOperator = (method: string, path: string, body?: unknown) =>
  call(method, path, body, { 'x-api-key': operator });

function expectProblem({ status, body, headers }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

async function changesOf(kind: string, id: string | number) {
  const { rows } = await installation.database.query(
    `select actor, action, before, after from admin_events where kind = $1 and subject_id = $2 order by id`,
    [kind, String(id)],
  );
  return rows;
}

const MERCHANT = {
  id: 'M-1',
  integratorId: 10,
  name: 'Green Grocer',
  mcc: '5411',
  country: 'ZA',
  currency: 'ZAR',
  timeZone: 'Africa/Johannesburg',
};

describe('an acquirer', () => {
  test('is added, listed and changed by the operator, with admin events', async () => {
    const added = await asOperator('POST', '', { name: 'Third Bank' });
    expect(added).toMatchObject({ status: 201, body: { id: 3, name: 'Third Bank', blocked: false } });
    expect(added.headers.get('location')).toBe('/acquirers/3');
    const changed = await asOperator('PATCH', '/3', { blocked: true });
    expect(changed).toMatchObject({ status: 200, body: { name: 'Third Bank', blocked: true } });
    expect((await asOperator('GET', '/3')).body).toEqual(changed.body);
    const listed = await asOperator('GET', '?limit=2');
    expect(listed.body).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(listed.headers.get('link')).toBe('</acquirers?limit=2&after=2>; rel="next"');
    expect((await asOperator('GET', '?after=2')).body).toEqual([changed.body]);
    const actor = expect.stringMatching(/^key [0-9a-f]{16}$/);
    expect(await changesOf('acquirer', 3)).toEqual([
      { actor, action: 'add', before: null, after: added.body },
      { actor, action: 'change', before: added.body, after: changed.body },
    ]);
  });

  test('sees itself and no other, and changes nothing of itself', async () => {
    expect(await call('GET', '/1')).toMatchObject({ status: 200, body: { id: 1 } });
    for (const method of ['GET', 'PATCH'])
      for (const id of [2, 77])
        expectProblem(await call(method, `/${id}`, method === 'PATCH' ? { name: 'x' } : undefined), { status: 404 });
    for (const response of [
      await call('PATCH', '/1', { name: 'x' }),
      await call('POST', '', { name: 'x' }),
      await call('GET', ''),
    ])
      expectProblem(response, { status: 403, errorCode: 101 });
  });
});

describe('integrators, merchants, terminals and blocked devices', () => {
  test('are added, shown, listed, changed and removed by the acquirer, each change with an admin event', async () => {
    const integrator = await call('POST', '/1/integrators', { name: 'Shop Soft' });
    expect(integrator).toMatchObject({ status: 201, body: { id: 12, name: 'Shop Soft', blocked: false } });
    const merchant = await call('POST', '/1/merchants', { ...MERCHANT, integratorId: 12, fee: 0.25 });
    const defaults = { street: '', city: '', feesConfigId: null, settings: {}, blocked: false };
    expect(merchant).toMatchObject({ status: 201, body: { ...MERCHANT, integratorId: 12, fee: 0.25, ...defaults } });
    expect(merchant.headers.get('location')).toBe('/acquirers/1/merchants/M-1');
    const terminal = await call('POST', '/1/terminals', { xTid: 'T/1', tid: 'TW000100', mid: 'M1' });
    expect(terminal).toMatchObject({
      status: 201,
      body: { xTid: 'T/1', tid: 'TW000100', mid: 'M1', canTakePin: true },
    });
    expect(terminal.headers.get('location')).toBe('/acquirers/1/terminals/T%2F1');
    const device = await call('POST', '/1/blocked-devices', { deviceInstallationId: 'lost phone' });
    expect(device).toMatchObject({ status: 201, body: { deviceInstallationId: 'lost phone' } });

    for (const [path, added, change] of [
      ['/1/integrators/12', integrator, { name: 'Shop Software' }],
      ['/1/merchants/M-1', merchant, { city: 'Durban', settings: { note: ['a'] }, fee: null }],
      ['/1/terminals/T%2F1', terminal, { canTakePin: false }],
    ] as const) {
      expect((await call('GET', path)).body).toEqual(added.body);
      const changed = await call('PATCH', path, change);
      expect(changed).toMatchObject({
        status: 200,
        body: { ...(added.body as object), ...change, updatedAt: expect.any(String) },
      });
      expect((await call('GET', path.replace(/\/[^/]+$/, ''))).body).toContainEqual(changed.body);
    }
    expectProblem(await call('DELETE', '/1/integrators/12'), { status: 409, errorCode: 134 });
    const paths = ['/1/blocked-devices/lost%20phone', '/1/terminals/T%2F1', '/1/merchants/M-1', '/1/integrators/12'];
    for (const path of paths) {
      expect((await call('DELETE', path)).status).toBe(204);
      for (const method of ['GET', 'DELETE']) expectProblem(await call(method, path), { status: 404, errorCode: 122 });
    }
    expect(await changesOf('terminal', 'T/1')).toMatchObject([
      { action: 'add', before: null, after: terminal.body },
      { action: 'change', before: terminal.body, after: { canTakePin: false } },
      { action: 'remove', before: { canTakePin: false }, after: null },
    ]);
    expect(await changesOf('blocked device', 'lost phone')).toHaveLength(2);
  });

  test.each([
    ['/1/merchants', { ...MERCHANT, id: 'a/b' }, ['/id']],
    ['/1/merchants', { ...MERCHANT, integratorId: 20 }, ['/integratorId']],
    ['/1/merchants', { ...MERCHANT, mcc: '581' }, ['/mcc']],
    ['/1/merchants', { ...MERCHANT, country: 'XX' }, ['/country']],
    ['/1/merchants', { ...MERCHANT, fee: 1e-10 }, ['/fee']],
    ['/1/merchants', { ...MERCHANT, fee: 0.001 }, ['/fee']],
    ['/1/merchants', { ...MERCHANT, currency: 'JPY', fee: 0.5 }, ['/fee']],
    ['/1/merchants', { ...MERCHANT, name: '   ' }, ['/name']],
    ['/1/merchants', { ...MERCHANT, name: '\u00a0\u200b\u3000' }, ['/name']],
    ['/1/integrators', { name: ' ' }, ['/name']],
    ['/1/terminals', { xTid: ' ', tid: '1', mid: '1' }, ['/xTid']],
    ['/1/merchants', { ...MERCHANT, currency: 'XYZ', timeZone: 'Mars/Olympus' }, ['/currency', '/timeZone']],
    ['/1/merchants', { ...MERCHANT, timeZone: '+02:00' }, ['/timeZone']],
    ['/1/merchants', { ...MERCHANT, fee: -1 }, ['/fee']],
    ['/1/merchants', { ...MERCHANT, street: 'a\u0000' }, ['/street']],
    ['/1/terminals', { xTid: 'T', tid: '123456789', mid: 'M' }, ['/tid']],
    ['/1/terminals', { xTid: 'T', tid: 'Ü', mid: '1234567890123456' }, ['/tid', '/mid']],
    ['/1/blocked-devices', { deviceInstallationId: '' }, ['/deviceInstallationId']],
    ['/1/integrators', {}, ['/name']],
  ])('a request to %s with %o is refused, with a pointer to each fault', async (path, body, pointers) => {
    const response = await call('POST', path, body);
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });

  test('keep their names: an existing one is 409, and no merchant changes its owner', async () => {
    expectProblem(await call('POST', '/1/merchants', { ...MERCHANT, id: 1001 }), { status: 409, errorCode: 119 });
    expectProblem(await call('POST', '/1/terminals', { xTid: 'TERM-coffee', tid: '1', mid: '1' }), { status: 409 });
    expect(await call('PATCH', '/1/merchants/1001', { integratorId: 11, id: 'x' })).toMatchObject({
      body: { id: '1001', integratorId: 10 },
    });
  });

  test('cannot be removed while something needs them', async () => {
    outcomeOf(await installation.phone('bakery').tap({ amount: '10.00', currency: 'ZAR' }));
    expectProblem(await call('DELETE', '/1/merchants/1002'), { status: 409, errorCode: 134 });
    expectProblem(await call('DELETE', '/1/merchants/1001'), { status: 409, errorCode: 134 }); // has a user
    await call('POST', '/1/routes', { processorId: 1, priority: 9, xTid: 'TERM-flowers' });
    expectProblem(await call('DELETE', '/1/terminals/TERM-flowers'), { status: 409, errorCode: 134 });
  });

  test('integrators, merchants, terminals and blocked devices of another acquirer receive the same response as unknown ones', async () => {
    for (const path of ['integrators/20', 'merchants/1001', 'terminals/TERM-tailor', 'blocked-devices/x']) {
      for (const method of ['GET', 'DELETE'])
        expectProblem(await call(method, `/2/${path}`), { status: 404, errorCode: 122 });
    }
    expectProblem(await call('GET', '/1/integrators/20'), { status: 404, errorCode: 122 });
    expectProblem(await call('POST', '/2/merchants', MERCHANT), { status: 404, errorCode: 122 });
    expect(await asOperator('GET', '/2/merchants')).toMatchObject({ status: 200, body: [{ id: '1001' }] });
  });

  test('are not available to integrators and merchants, nor to keys without the scope', async () => {
    for (const [owner, scopes] of [
      [{ acquirerId: 1, integratorId: 10 }, SCOPE_NAMES],
      [{ acquirerId: 1, integratorId: 10, merchantId: '1001' }, SCOPE_NAMES],
      [{ acquirerId: 1 }, ['processors:manage']],
    ] as const) {
      const key = await saveApiKey(installation.database, owner, scopes);
      expectProblem(await call('GET', '/1/merchants', undefined, { 'x-api-key': key }), {
        status: 403,
        errorCode: 101,
      });
    }
  });

  test('an integrator with a key is not removed, because the next integrator may get its id', async () => {
    const add = async (name: string) => (await call('POST', '/1/integrators', { name })).body as { id: number };
    for (const kind of ['keys', 'issuer-keys']) {
      const { id } = await add(`leaves with ${kind}`);
      const key =
        kind === 'keys'
          ? { name: 'left', integratorId: id, scopes: ['transactions:read'] }
          : { issuer: `https://left-${id}.example`, integratorId: id, jwksUrl: 'https://left.example/jwks.json' };
      const added = await call('POST', `/1/${kind}`, key);
      expect(added.status).toBe(201);
      expectProblem(await call('DELETE', `/1/integrators/${id}`), { status: 409, errorCode: 134 });
      await call('DELETE', `/1/${kind}/${(added.body as { id: string }).id}`);
      expectProblem(await call('DELETE', `/1/integrators/${id}`), { status: 409, errorCode: 134 });
      expect((await add('comes')).id).toBe(id + 1);
    }
  });

  test('are listed page by page', async () => {
    const first = await call('GET', '/1/merchants?limit=2');
    expect(first.body).toMatchObject([{ id: '1001' }, { id: '1002' }]);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link')!)![1]!;
    expect((await call('GET', next.replace('/acquirers', ''))).body).toMatchObject([{ id: '1101' }]);
    for (const search of [
      'limit=0',
      'limit=501',
      'limit=x',
      'limit=1e2',
      'limit=0x10',
      'limit=',
      'limit=+5',
      'offset=1',
    ])
      expectProblem(await call('GET', `/1/merchants?${search}`), { status: 400, errorCode: 104 });
  });
});

test('a blocked tenant and all below it are refused within seconds, and served again after unblocking', async () => {
  const key = await installation.apiKey({ acquirerId: 1, integratorId: 11 });
  const list = async () => (await request(installation.url, '/transactions', { headers: { 'x-api-key': key } })).status;
  const blockedBy = { tailor: '/2', flowers: '/1/integrators/11', bakery: '/1/merchants/1002' } as const;
  const taps = () =>
    Promise.all(
      (['tailor', 'flowers', 'bakery'] as const).map(async (merchant) => {
        const { status, body } = await installation.phone(merchant).tap({ amount: '10.00', currency: 'ZAR' });
        return { status, errorCode: (body as Partial<Problem>).errorCode };
      }),
    );
  for (const [blocked, expected] of [
    [true, { status: 403, errorCode: 101 }],
    [false, { status: 200, errorCode: undefined }],
  ] as const) {
    for (const path of Object.values(blockedBy))
      expect((await asOperator('PATCH', path, { blocked })).status).toBe(200);
    await eventually(async () => expect(await taps()).toEqual([expected, expected, expected]));
    expect(await list()).toBe(expected.status);
  }
});
