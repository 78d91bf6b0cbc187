import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StoredProcessor, StoredRoute } from '../../schemas/admin-routing.ts';
import type { Problem } from '../../schemas/problem.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { ROUTE_ID, xTidOf } from '../support/tenants.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  operator = await saveApiKey(installation.database, 'operator', ['processors:manage']);
  acquirer = await saveApiKey(installation.database, { acquirerId: 1 }, ['processors:manage']);
});
afterAll(() => installation.stop());

/** With the acquirer's own key, unless another one is named. */
function call(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) {
  return request(installation.url, `/acquirers/${path}`, {
    method,
    headers: { 'x-api-key': acquirer, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

const CONFIG = { addresses: [{ host: 'switch.example', port: 9101 }], acquirerId: '50001' };
const PROCESSOR = { type: 'type-1', name: 'Main switch', config: CONFIG };

async function addProcessor(config: object = CONFIG): Promise<StoredProcessor> {
  const { status, body } = await call('POST', '1/processors', { type: 'type-1', config });
  expect(status).toBe(201);
  return body as StoredProcessor;
}

async function addRoute(settings: Partial<StoredRoute>): Promise<StoredRoute> {
  const { status, body } = await call('POST', '1/routes', { priority: 1, ...settings });
  expect(status).toBe(201);
  return body as StoredRoute;
}

function expectProblem({ status, body, headers }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

/** The newest admin event. */
async function lastChange() {
  const { rows } = await installation.database.query(
    `select acquirer_id as "acquirerId", actor, action, kind, subject_id as "subjectId", before, after
     from admin_events order by id desc limit 1`,
  );
  return rows[0];
}

describe('a processor', () => {
  test('is added, shown, listed, changed and removed by the acquirer, each change with an admin event', async () => {
    const actor = expect.stringMatching(/^key [0-9a-f]{16}$/);
    const response = await call('POST', '1/processors', PROCESSOR);
    const added = response.body as StoredProcessor;
    expect(response.status).toBe(201);
    expect(added).toMatchObject({ ...PROCESSOR, id: expect.any(Number), createdAt: expect.stringMatching(/T.*Z$/) });
    expect(response.headers.get('location')).toBe(`/acquirers/1/processors/${added.id}`);
    const record = { acquirerId: 1, actor, kind: 'processor', subjectId: String(added.id) };
    expect(await lastChange()).toEqual({ ...record, action: 'add', before: null, after: added });

    const path = `1/processors/${added.id}`;
    expect((await call('GET', path)).body).toEqual(added);
    expect((await call('GET', '1/processors')).body).toContainEqual(added);

    const config = { ...CONFIG, iccForm: 'xml' };
    const changed = await call('PUT', path, { type: 'type-1', config });
    // A client that does not know the name keeps it.
    expect(changed).toMatchObject({ status: 200, body: { id: added.id, config, name: 'Main switch' } });
    expect(await lastChange()).toEqual({ ...record, action: 'change', before: added, after: changed.body });

    const removed = await call('DELETE', path);
    expect(removed).toMatchObject({ status: 204, body: '' });
    expect(await lastChange()).toEqual({ ...record, action: 'remove', before: changed.body, after: null });
    for (const method of ['GET', 'DELETE']) expectProblem(await call(method, path), { status: 404, errorCode: 122 });
    expectProblem(await call('PUT', path, PROCESSOR), { status: 404, errorCode: 122 });
  });

  test('a processor never gets the id of a removed one', async () => {
    const { id } = await addProcessor();
    await call('DELETE', `1/processors/${id}`);
    expect((await addProcessor()).id).toBeGreaterThan(id);
  });

  test('keeps its type', async () => {
    const { id } = await addProcessor();
    const config = { ...CONFIG, networkId: '001', appId: 'A', macKeys: [{ number: 1, keyId: 'k' }] };
    expectProblem(await call('PUT', `1/processors/${id}`, { type: 'type-2', config }), { status: 409, errorCode: 134 });
  });

  test.each([
    ['a type that is not there', { type: 'type-9', config: CONFIG }, ['/type']],
    ['no type', { config: CONFIG }, ['/type']],
    ['no configuration', { type: 'type-1' }, ['/config']],
    ['a list for a configuration', { type: 'type-1', config: [] }, ['/config']],
    ['text for addresses', { type: 'type-1', config: { ...CONFIG, addresses: 'here' } }, ['/config/addresses']],
    [
      'two faults of the type’s own',
      { type: 'type-1', config: { ...CONFIG, acquirerId: 'x', iccForm: 'yaml' } },
      ['/config/acquirerId', '/config/iccForm'],
    ],
    [
      'a port out of range',
      {
        type: 'type-1',
        config: {
          ...CONFIG,
          addresses: [
            { host: 'a', port: 1 },
            { host: 'b', port: 0 },
          ],
        },
      },
      ['/config/addresses/1/port'],
    ],
    [
      'neither an address nor a port to listen on',
      { type: 'type-1', config: { acquirerId: '1' } },
      ['/config/addresses'],
    ],
    [
      'half of a client certificate, and a header that the type has not',
      { type: 'type-1', config: { ...CONFIG, tls: { certFile: 'a.pem' }, transportHeader: '6000000000' } },
      ['/config/tls', '/config/transportHeader'],
    ],
    [
      'a MAC algorithm without MACs',
      { type: 'type-1', config: { ...CONFIG, macAlgorithm: 'x9.19' } },
      ['/config/macAlgorithm'],
    ],
    ['a control character', { type: 'type-1', config: { ...CONFIG, note: 'a\u0000b' } }, ['/config']],
    ['half of a surrogate pair', { type: 'type-1', config: { ...CONFIG, note: '\ud800' } }, ['/config']],
    [
      'nesting beyond what a configuration needs',
      { type: 'type-1', config: { ...CONFIG, a: [[[[[[[[[]]]]]]]]] } },
      ['/config'],
    ],
    ['a list without end', { type: 'type-1', config: { ...CONFIG, a: Array(5_000).fill(0) } }, ['/config']],
  ])('a processor with %s is refused, with a pointer to each fault', async (_what, body, pointers) => {
    const before = (await call('GET', '1/processors')).body;
    for (const response of [await call('POST', '1/processors', body), await call('PUT', '1/processors/1', body)]) {
      expectProblem(response, { status: 400, errorCode: 104 });
      expect(pointersOf(response)).toEqual(pointers);
    }
    expect((await call('GET', '1/processors')).body).toEqual(before);
  });

  test('a processor with unlimited nesting is refused, in any setting', async () => {
    const body = `{"type":"type-1","config":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`;
    expectProblem(await call('POST', '1/processors', body), { status: 400, errorCode: 104 });
  });

  test('a processor with a misspelt setting is refused: otherwise it would run without the intended setting', async () => {
    const config = { ...CONFIG, macKey: [], profile: { deadline: 1 } };
    const response = await call('POST', '1/processors', { type: 'type-1', config });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)?.sort()).toEqual(['/config/macKey', '/config/profile/deadline']);
  });
});

describe('a route', () => {
  test('is added for some taps or for all, changed and removed, each change with an admin event', async () => {
    const { id: processorId } = await addProcessor();
    const wide = await addRoute({ processorId, priority: 7 });
    expect(wide).toMatchObject({ processorId, priority: 7, currency: null, scheme: null, xTid: null });
    const narrow = await addRoute({ processorId, currency: 'ZAR', scheme: 'Mastercard', xTid: xTidOf('coffee') });
    expect(narrow).toMatchObject({ currency: 'ZAR', scheme: 'Mastercard', xTid: xTidOf('coffee') });
    expect((await call('GET', '1/routes')).body).toEqual(expect.arrayContaining([wide, narrow]));

    const changed = await call('PUT', `1/routes/${narrow.id}`, { processorId, priority: 3, currency: 'EUR' });
    expect(changed).toMatchObject({ status: 200, body: { priority: 3, currency: 'EUR', scheme: null, xTid: null } });
    expect(await lastChange()).toMatchObject({ action: 'change', kind: 'route', before: narrow, after: changed.body });

    expect((await call('DELETE', `1/routes/${narrow.id}`)).status).toBe(204);
    expect(await lastChange()).toMatchObject({ action: 'remove', subjectId: String(narrow.id), after: null });
    expectProblem(await call('GET', `1/routes/${narrow.id}`), { status: 404, errorCode: 122 });
  });

  test.each([
    ['a processor that is not there', { processorId: 2_000 }, ['/processorId']],
    ['no processor', { processorId: undefined }, ['/processorId']],
    ['a priority below zero', { priority: -1 }, ['/priority']],
    ['a priority that is not a number', { priority: '1' }, ['/priority']],
    ['an invalid currency', { currency: 'XYZ' }, ['/currency']],
    ['a currency in small letters', { currency: 'zar' }, ['/currency']],
    ['a scheme that no card has', { scheme: 'MasterCard' }, ['/scheme']],
    ['a terminal that is not there', { xTid: 'NOWHERE' }, ['/xTid']],
    ['a terminal of another acquirer', { xTid: xTidOf('tailor') }, ['/xTid']],
    ['several faults', { currency: 'XYZ', scheme: 'X' }, ['/currency', '/scheme']],
  ])('a route with %s is refused, with a pointer to each fault', async (_what, fault, pointers) => {
    const response = await call('POST', '1/routes', { processorId: 1, priority: 1, ...fault });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });

  test('keeps its processor, through which transactions find their switch', async () => {
    const [one, other] = [await addProcessor(), await addProcessor()];
    const { id } = await addRoute({ processorId: one.id });
    expectProblem(await call('PUT', `1/routes/${id}`, { processorId: other.id, priority: 1 }), { status: 409 });
  });

  test('may not lead to a removed processor, or to another acquirer’s', async () => {
    const { id } = await addProcessor();
    await call('DELETE', `1/processors/${id}`);
    expect(pointersOf(await call('POST', '1/routes', { processorId: id, priority: 1 }))).toEqual(['/processorId']);
  });
});

describe('a processor in use is not removed', () => {
  let processorId: number;
  beforeEach(async () => {
    processorId = (await addProcessor()).id;
  });

  const remove = () => call('DELETE', `1/processors/${processorId}`);
  const letSecondsPass = (seconds: number) =>
    installation.database.query(
      `update routes set removed_at = removed_at - $2 * interval '1 s' where acquirer_id = 1 and processor_id = $1`,
      [processorId, seconds],
    );

  test('a processor in use is not removed while a route leads to it, nor in the seconds after: a tap may be in transit', async () => {
    const { id } = await addRoute({ processorId });
    expectProblem(await remove(), { status: 409, errorCode: 134, detail: expect.stringContaining('Routes refer to') });
    await call('DELETE', `1/routes/${id}`);
    expectProblem(await remove(), { status: 409, errorCode: 134, detail: expect.stringContaining('just removed') });
    await letSecondsPass(11);
    expect((await remove()).status).toBe(204);
  });

  test.each([
    ['owed', 1],
    ['sent', 2],
    ['out of attempts', 4],
  ])('a processor in use is not removed while a reversal is %s', async (_what, reversalState) => {
    const { id: routeId } = await addRoute({ processorId });
    await call('DELETE', `1/routes/${routeId}`);
    await letSecondsPass(11);
    const { rows } = await installation.database.query<{ id: string }>(
      `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, type,
         device_installation_id, route_id, reversal_state, respond_by, created_at, updated_at)
       values (1, gen_random_uuid(), '1001', 10, gen_random_uuid(), 1, 8, 1, 'd', $1, $2, now(), now(), now()) returning id`,
      [routeId, reversalState],
    );
    expectProblem(await remove(), {
      status: 409,
      errorCode: 134,
      detail: expect.stringContaining('has open transactions'),
    });
    await installation.database.query('update transactions set reversal_state = 3 where id = $1', [rows[0]!.id]);
    expect((await remove()).status).toBe(204);
  });
});

describe('permission', () => {
  const FORBIDDEN = { status: 403, errorCode: 101 };

  test('the operator has permission for every acquirer', async () => {
    const response = await call('POST', '2/processors', PROCESSOR, { 'x-api-key': operator });
    expect(response.status).toBe(201);
    expectProblem(await call('GET', '77/processors', undefined, { 'x-api-key': operator }), { status: 404 });
    expectProblem(await call('POST', '77/processors', PROCESSOR, { 'x-api-key': operator }), { status: 404 });
  });

  test('an acquirer has permission for itself: another one receives the same response as an unknown one', async () => {
    for (const [method, path, body] of [
      ['GET', 'processors'],
      ['POST', 'processors', PROCESSOR],
      ['GET', 'processors/1'],
      ['PUT', 'processors/1', PROCESSOR],
      ['DELETE', 'processors/1'],
      ['GET', `routes/${ROUTE_ID}`],
      ['PUT', `routes/${ROUTE_ID}`, { processorId: 1, priority: 1 }],
      ['DELETE', `routes/${ROUTE_ID}`],
    ] as const) {
      const [theirs, nobodys] = [await call(method, `2/${path}`, body), await call(method, `77/${path}`, body)];
      expectProblem(theirs, { status: 404, errorCode: 122 });
      const known = ({ body }: RawResponse) => ({ ...(body as Problem), instance: '', requestId: '' });
      expect(known(theirs)).toEqual(known(nobodys));
    }
    const { rows } = await installation.database.query(
      'select from routes where acquirer_id = 2 and removed_at is null',
    );
    expect(rows).toHaveLength(1);
  });

  test('keys of integrators and merchants have no permission: 403', async () => {
    for (const owner of [
      { acquirerId: 1, integratorId: 10 },
      { acquirerId: 1, integratorId: 10, merchantId: '1001' },
    ]) {
      const key = await saveApiKey(installation.database, owner, ['processors:manage']);
      expectProblem(await call('GET', '1/processors', undefined, { 'x-api-key': key }), FORBIDDEN);
    }
  });

  test('a key without the scope has no permission', async () => {
    for (const owner of ['operator', { acquirerId: 1 }] as const) {
      const key = await saveApiKey(installation.database, owner, ['transactions:read']);
      expectProblem(await call('DELETE', '1/processors/1', undefined, { 'x-api-key': key }), FORBIDDEN);
    }
  });

  test('a token has no permission, alone or beside a key: devices hold tokens', async () => {
    const authorization = `Bearer ${await installation.phone().token()}`;
    expectProblem(await call('GET', '1/processors', undefined, { authorization, 'x-api-key': undefined }), FORBIDDEN);
    expectProblem(await call('GET', '1/processors', undefined, { authorization }), FORBIDDEN);
    const forged = { authorization: 'Bearer a.b.c', 'x-api-key': undefined };
    expectProblem(await call('GET', '1/processors', undefined, forged), { status: 401, errorCode: 117 });
  });

  test('a credential is required before the body is read', async () => {
    const response = await call('POST', '1/processors', '{', { 'x-api-key': undefined });
    expectProblem(response, { status: 401, errorCode: 100 });
    const wrong = `${acquirer.slice(0, -1)}${acquirer.endsWith('0') ? '1' : '0'}`;
    expectProblem(await call('POST', '1/processors', '{', { 'x-api-key': wrong }), { status: 401, errorCode: 102 });
    expectProblem(await call('POST', '1/processors', '{'), { status: 400, errorCode: 103 });
  });

  test('a page in a browser has no permission: no header allows another origin', async () => {
    const origin = { origin: 'https://shop.example' };
    for (const response of [
      await call('GET', '1/processors', undefined, origin),
      await call('OPTIONS', '1/processors', undefined, { ...origin, 'access-control-request-method': 'POST' }),
    ]) {
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

test.each(['0', '-1', '1.5', 'one', '99999999999', '2147483648'])('%s is not an id', async (id) => {
  expectProblem(await call('GET', `1/processors/${id}`), { status: 400, errorCode: 104 });
  expectProblem(await call('GET', `${id}/processors`, undefined, { 'x-api-key': operator }), {
    status: 400,
    errorCode: 104,
  });
});

test('an unsupported method is 405 and lists the supported ones', async () => {
  const response = await call('PATCH', '1/processors', {});
  expectProblem(response, { status: 405 });
  expect(response.headers.get('allow')).toBe('GET, HEAD, POST');
});

describe('the admin events', () => {
  const audit = (path: string, key: string) => request(installation.url, path, { headers: { 'x-api-key': key } });

  test('are read by the acquirer page by page, newest first, and completely only by the operator', async () => {
    const own = await saveApiKey(installation.database, { acquirerId: 1 }, ['audit:read']);
    const everyones = await saveApiKey(installation.database, 'operator', ['audit:read']);
    const first = await addProcessor();
    const second = await addProcessor();
    const page = await audit('/acquirers/1/audit?limit=1', own);
    expect(page).toMatchObject({
      status: 200,
      body: [{ acquirerId: 1, action: 'add', kind: 'processor', id: String(second.id), before: null, after: second }],
    });
    const next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')![1]!;
    expect((await audit(next, own)).body).toMatchObject([{ id: String(first.id), after: first }]);
    await installation.database.query(
      `insert into admin_events (acquirer_id, actor, action, kind, subject_id, after)
       values (0, 'user ops', 'act', 'process', 'p', '{"did":"drain"}')`,
    );
    expect((await audit('/audit?limit=2', everyones)).body).toMatchObject([
      { acquirerId: 0, action: 'act', after: { did: 'drain' } },
      { acquirerId: 1, id: String(second.id) },
    ]);
    expect((await audit('/acquirers/1/audit?limit=1', everyones)).body).toMatchObject([{ id: String(second.id) }]);
    expectProblem(await audit('/audit', own), { status: 403 });
    expectProblem(await audit('/acquirers/1/audit', acquirer), { status: 403 });
    expectProblem(await audit('/acquirers/1/audit?before=3', own), { status: 400, errorCode: 104 });
  });

  test('can neither be changed nor emptied', async () => {
    await addProcessor();
    for (const statement of [
      `update admin_events set actor = 'unknown'`,
      'delete from admin_events',
      'truncate admin_events',
    ])
      await expect(installation.database.query(statement)).rejects.toThrow('append-only');
  });
});
