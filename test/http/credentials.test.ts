import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredApiKey, StoredUser } from '../../schemas/admin-credentials.ts';
import type { Problem } from '../../schemas/problem.ts';
import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import type { ApiKeyOwner } from '../../src/auth/api-key.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
let integrator: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  const key = (owner: ApiKeyOwner) => saveApiKey(installation.database, owner, SCOPE_NAMES);
  operator = await key('operator');
  acquirer = await key({ acquirerId: 1 });
  integrator = await key({ acquirerId: 1, integratorId: 10 });
});
afterAll(() => installation.stop());

/** With the key of acquirer 1, unless another one is named. */
function call(method: string, path: string, body?: unknown, key = acquirer) {
  return request(installation.url, path, {
    method,
    headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function expectProblem({ status, body }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

async function changesOf(id: string) {
  const { rows } = await installation.database.query(
    'select action, kind, before, after from admin_events where subject_id = $1 order by id',
    [id],
  );
  return rows as { action: string; kind: string; before: object | null; after: object | null }[];
}

const HOUR_MS = 3_600_000;
const READ = { name: 'reader', scopes: ['transactions:read'] };
type Created = StoredApiKey & { readonly key: string };

async function makeKey(wanted: object, by = acquirer): Promise<Created> {
  const { status, body } = await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, by);
  expect(status).toBe(201);
  return body as Created;
}

const reads = async (key: string) => (await call('GET', '/transactions', undefined, key)).status;

describe.concurrent('an API key', () => {
  test('is shown once, works for its owner, and is listed without its secret', async () => {
    const made = await makeKey({ merchantId: '1001', expiresAt: '2100-01-01T00:00:00Z' });
    const { key, ...stored } = made;
    expect(stored).toMatchObject({ ...READ, integratorId: 10, merchantId: '1001', mode: 'test', revokedAt: null });
    expect(await reads(key)).toBe(200);
    expect((await call('GET', '/transactions?merchant=1002', undefined, key)).status).toBe(403);
    const shown = await call('GET', `/acquirers/1/keys/${made.id}`);
    expect(shown.body).toEqual({ ...stored, lastUsedAt: expect.any(String) });
    const listed = await call('GET', '/acquirers/1/keys?limit=500');
    expect(listed.body).toContainEqual(shown.body);
    const events = await changesOf(made.id);
    expect(events).toEqual([{ action: 'add', kind: 'api key', before: null, after: stored }]);
    for (const text of [JSON.stringify(listed.body), JSON.stringify(events)])
      expect(text).not.toContain(key.split('_')[3]);
  });

  test('is rotated: both work for a while, and then only the new one', async () => {
    const old = await makeKey({ expiresAt: '2100-01-01T00:00:00Z' });
    const earliestEndMs = Date.now() + 2 * HOUR_MS;
    const response = await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 2 });
    const latestEndMs = Date.now() + 2 * HOUR_MS;
    const made = response.body as Created;
    expect(response.status).toBe(201);
    expect(response.headers.get('location')).toBe(`/acquirers/1/keys/${made.id}`);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(made).toMatchObject({ ...READ, integratorId: null, merchantId: null });
    expect([await reads(old.key), await reads(made.key)]).toEqual([200, 200]);
    const { expiresAt } = (await call('GET', `/acquirers/1/keys/${old.id}`)).body as StoredApiKey;
    expect(Date.parse(expiresAt!)).toBeGreaterThanOrEqual(earliestEndMs);
    expect(Date.parse(expiresAt!)).toBeLessThanOrEqual(latestEndMs);
    const now = await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 0 });
    expect(now.status).toBe(201);
    expectProblem(await call('POST', `/acquirers/1/keys/${old.id}/rotate`, {}), { status: 409, errorCode: 134 });
    expectProblem(await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 0.0001 }), { status: 400 });
    await eventually(async () => expect(await reads(old.key)).toBe(401));
    expect(await reads(made.key)).toBe(200);
  });

  test('an API key that is revoked stops working within seconds, and remains listed', async () => {
    const made = await makeKey({ integratorId: 10 });
    expect(await reads(made.key)).toBe(200);
    expect((await call('DELETE', `/acquirers/1/keys/${made.id}`)).status).toBe(204);
    await eventually(async () =>
      expectProblem(await call('GET', '/transactions', undefined, made.key), { status: 401, errorCode: 102 }),
    );
    expect((await call('GET', `/acquirers/1/keys/${made.id}`)).body).toMatchObject({ revokedAt: expect.any(String) });
    expectProblem(await call('DELETE', `/acquirers/1/keys/${made.id}`), { status: 404 });
    expect(await changesOf(made.id)).toMatchObject([
      { action: 'add' },
      { action: 'remove', before: { revokedAt: null } },
    ]);
  });

  test('is never issued with a scope that its issuer does not have', async () => {
    const narrow = await saveApiKey(installation.database, { acquirerId: 1 }, [
      'credentials:manage',
      'webhooks:manage',
    ]);
    expectProblem(await call('POST', '/acquirers/1/keys', READ, narrow), { status: 403, errorCode: 101 });
    const wide = await makeKey({});
    expectProblem(await call('POST', `/acquirers/1/keys/${wide.id}/rotate`, {}, narrow), { status: 403 });
    const given = await makeKey({ scopes: ['webhooks:manage'] }, narrow);
    expect(given.scopes).toEqual(['webhooks:manage']);
  });

  test('is issued by an integrator only to its own merchants, who issue none', async () => {
    const made = await makeKey({ merchantId: '1002' }, integrator);
    expect(made).toMatchObject({ integratorId: 10, merchantId: '1002' });
    for (const wanted of [{ merchantId: '1101' }, { merchantId: '9999' }, { merchantId: '1001', integratorId: 11 }]) {
      const response = await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, integrator);
      expectProblem(response, { status: 400, errorCode: 104 });
      expect(pointersOf(response)).toEqual(['/merchantId']);
    }
    for (const wanted of [{}, { integratorId: 10 }])
      expectProblem(await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, integrator), { status: 403 });
    const seen = (await call('GET', '/acquirers/1/keys?limit=500', undefined, integrator)).body as StoredApiKey[];
    expect(new Set(seen.map(({ integratorId }) => integratorId))).toEqual(new Set([10]));
    const others = await makeKey({ integratorId: 11 });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const) {
      const body = method === 'POST' ? {} : undefined;
      expectProblem(await call(method, `/acquirers/1/keys/${others.id}${path}`, body, integrator), { status: 404 });
    }
    expectProblem(await call('GET', '/acquirers/2/keys', undefined, integrator), { status: 404 });
    const merchant = await saveApiKey(
      installation.database,
      { acquirerId: 1, integratorId: 10, merchantId: '1001' },
      SCOPE_NAMES,
    );
    expectProblem(await call('GET', '/acquirers/1/keys', undefined, merchant), { status: 403 });
  });

  test.each([
    [{ scopes: [] }, ['/scopes']],
    [{ scopes: ['everything'] }, ['/scopes/0']],
    [{ name: '' }, ['/name']],
    [{ expiresAt: 'tomorrow' }, ['/expiresAt']],
    [{ integratorId: 20 }, ['/integratorId']],
  ])('an API key with %o is refused', async (fault, pointers) => {
    const response = await call('POST', '/acquirers/1/keys', { ...READ, ...fault });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });
});

describe.concurrent('a portal user', () => {
  const logIn = async (username: string, password: string) =>
    (await request(installation.url, '/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    })) as RawResponse & { body: { token: string } };

  test('gets a password that is shown once, logs in, gets another one, and is blocked', async () => {
    const username = 'Thandi@coffee.example';
    const wanted = { username, role: 'viewer', merchantId: '1001' };
    const added = await call('POST', '/acquirers/1/users', wanted);
    const { password, ...user } = added.body as StoredUser & { password: string };
    expect(added.status).toBe(201);
    expect(user).toMatchObject({ ...wanted, permissions: [], blocked: false, lastLoginAt: null });
    expect(password).toMatch(/^\S{20}$/);

    const path = `/acquirers/1/users/${user.id}`;
    const given = 'a quiet morning by the sea';
    expect((await call('POST', `${path}/password`, { password: given })).body).toEqual({ password: null });
    expect((await logIn(username, password)).status).toBe(401);
    expect((await logIn(username.toLowerCase(), given)).status).toBe(200);
    const changed = await call('PATCH', path, { blocked: true, role: 'operator' });
    expect(changed).toMatchObject({
      status: 200,
      body: { blocked: true, role: 'operator', lastLoginAt: expect.any(String) },
    });
    expect((await call('DELETE', path)).status).toBe(204);
    expectProblem(await call('GET', path), { status: 404 });
    const events = JSON.stringify(await changesOf(user.id));
    expect(JSON.parse(events)).toMatchObject(
      ['add', 'change', 'change', 'remove'].map((action) => ({ action, kind: 'user' })),
    );
    for (const secret of [password, given, 'scrypt']) expect(events).not.toContain(secret);
  });

  test.each([
    [{ username: 'till@COFFEE.example' }, { status: 409, errorCode: 119 }],
    [{ password: 'short' }, { status: 400, errors: [{ pointer: '/password', detail: expect.any(String) }] }],
    [{ password: 'user@new.example' }, { status: 400, errors: [{ pointer: '/password', detail: expect.any(String) }] }],
    [{ role: 'emperor' }, { status: 400, errors: [{ pointer: '/role', detail: expect.any(String) }] }],
    [{ permissions: ['all'] }, { status: 400, errors: [{ pointer: '/permissions/0', detail: expect.any(String) }] }],
    [{ merchantId: '9999' }, { status: 400, errors: [{ pointer: '/merchantId', detail: expect.any(String) }] }],
  ])('a portal user with %o is refused', async (fault, problem) => {
    const wanted = { username: 'user@new.example', role: 'viewer', merchantId: '1001', ...fault };
    expectProblem(await call('POST', '/acquirers/1/users', wanted), problem as Partial<Problem>);
  });

  test('is never created, promoted or changed by a user with fewer rights', async () => {
    const narrow = await saveApiKey(installation.database, { acquirerId: 1 }, [
      'credentials:manage',
      'transactions:read',
    ]);
    const users = '/acquirers/1/users';
    const viewer = { username: 'viewer@new.example', role: 'viewer', password: 'correct horse battery' };
    const made = await call('POST', users, viewer, narrow);
    expect(made).toMatchObject({ status: 201, body: { password: null } });
    const { id } = made.body as StoredUser;
    for (const more of [{ role: 'admin' }, { permissions: ['payments:create'] }]) {
      expectProblem(await call('POST', users, { ...viewer, username: 'x', ...more }, narrow), { status: 403 });
      expectProblem(await call('PATCH', `${users}/${id}`, more, narrow), { status: 403 });
    }
    expect((await call('PATCH', `${users}/${id}`, { role: 'admin' })).status).toBe(200);
    expectProblem(await call('POST', `${users}/${id}/password`, {}, narrow), { status: 403 });
    expect((await call('PATCH', `${users}/${id}`, { blocked: true }, narrow)).status).toBe(200);
    expectProblem(await call('GET', users, undefined, integrator), { status: 403 });
    expectProblem(await call('GET', `/acquirers/2/users/${id}`, undefined, operator), { status: 404 });
  });
});

test('only the operator and the acquirer set the endpoint for links', async () => {
  const path = '/acquirers/1/integrators/11/callbacks/links';
  expect((await call('GET', path)).body).toEqual({ callbackUrl: null });
  expectProblem(await call('POST', `${path}/secret`, {}), { status: 404 });
  const callbackUrl = 'http://127.0.0.1:3000/links';
  expect(await call('PUT', path, { callbackUrl })).toMatchObject({ status: 200, body: {} });
  expect((await call('GET', path)).body).toEqual({ callbackUrl });
  const secret = await call('POST', `${path}/secret`, {}, operator);
  expect(secret.body).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
  expectProblem(await call('PUT', path, { callbackUrl: 'http://10.0.0.1/' }), { status: 400, errorCode: 104 });
  expectProblem(await call('PUT', path.replace('11', '20'), { callbackUrl }), { status: 404 });
  expectProblem(await call('PUT', path, { callbackUrl }, integrator), { status: 403 });
  expect((await call('DELETE', path)).status).toBe(204);
  expectProblem(await call('DELETE', path), { status: 404 });
  const { rows } = await installation.database.query(
    `select action from admin_events where kind = 'callback' order by id`,
  );
  expect(rows.map(({ action }) => action)).toEqual(['add', 'change', 'change']);
});

test('no response reveals a user name of another acquirer if acquirers have login domains', async () => {
  const { url } = await installation.startGateway({ LOGIN_DOMAINS: '1=bank.example,2=pay.example,2=other.example' });
  const keyOf = (acquirerId: number) => saveApiKey(installation.database, { acquirerId }, SCOPE_NAMES);
  const add = async (acquirerId: number, username: string) =>
    request(url, `/acquirers/${acquirerId}/users`, {
      method: 'POST',
      headers: { 'x-api-key': await keyOf(acquirerId), 'content-type': 'application/json' },
      body: JSON.stringify({ username, role: 'viewer', password: 'correct horse battery' }),
    });
  for (const username of ['ops@pay.example', 'ops@till.OTHER.example'])
    expect((await add(2, username)).status).toBe(201);
  const responses = await Promise.all(
    [
      'ops@pay.example',
      'free@pay.example',
      'ops@till.other.example',
      'x@ｐａｙ.example',
      'ops',
      'x@y@pay.example',
      'x@notbank.example',
    ].map((name) => add(1, name)),
  );
  const shown = ({ status, body }: RawResponse) => [status, (body as Problem).title, (body as Problem).errors];
  for (const response of responses) {
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(['/username']);
    expect(shown(response)).toEqual(shown(responses[0]!));
  }
  for (const expected of [201, 409]) expect((await add(1, 'ops@Bank.example')).status).toBe(expected);
}, 30_000);
