import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Administration } from '../../src/console/describe-operations.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';

const INSTALLATION = { acquirerId: 0 };
const MERCHANT = {
  ...{ integratorId: 10, name: 'Corner Books', mcc: '5942', country: 'ZA', currency: 'ZAR' },
  timeZone: 'Africa/Johannesburg',
};

let installation: Installation;
let operator: ConsoleSession;
let coffee: ConsoleSession;
let other: ConsoleSession;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  operator = await logIn(INSTALLATION, 'admin');
  coffee = await logIn({ acquirerId: 1 }, 'admin');
  other = await logIn({ acquirerId: 2 }, 'admin');
});
afterAll(() => installation.stop());

const { call, logIn } = consoleClient(() => installation);

/** As the page sends it. */
async function ask({ cookie, csrf }: ConsoleSession, method: string, path: string, body?: object, more: object = {}) {
  const response = await call(path, {
    method,
    headers: { cookie, 'x-csrf-token': csrf, ...(body && { 'content-type': 'application/json' }), ...more },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

async function operationsOf(session: ConsoleSession): Promise<Administration> {
  const { status, body } = await ask(session, 'GET', '/ops/data/operations');
  expect(status).toBe(200);
  return body;
}

const namesOf = ({ operations }: Administration) => operations.map(({ method, path }) => `${method} ${path}`);

describe('an administrator at the console', () => {
  test('adds, changes, blocks, finds and removes a merchant of the own acquirer, and the audit names the person', async () => {
    const id = randomUUID();
    const added = await ask(coffee, 'POST', '/acquirers/1/merchants', { id, ...MERCHANT });
    expect([added.status, added.headers.get('location')]).toEqual([201, `/acquirers/1/merchants/${id}`]);
    expect((await ask(coffee, 'PATCH', `/acquirers/1/merchants/${id}`, { blocked: true })).body.blocked).toBe(true);
    for (const [search, count] of [
      ['corner BOOKS', 1],
      [id.slice(3, 20), 1],
      ['%', 0],
      ['no such shop', 0],
    ] as const) {
      const { body } = await ask(coffee, 'GET', `/acquirers/1/merchants?${new URLSearchParams({ search })}`);
      expect(body.length, search).toBe(count);
    }
    expect((await ask(coffee, 'DELETE', `/acquirers/1/merchants/${id}`)).status).toBe(204);
    const { body: events } = await ask(coffee, 'GET', `/acquirers/1/audit?kind=merchant&id=${id}`);
    const actor = `user ${coffee.username}`;
    expect(events.map((event: { action: string; actor: string }) => [event.action, event.actor])).toEqual([
      ['remove', actor],
      ['change', actor],
      ['add', actor],
    ]);
  });

  test('sees and changes nothing of another acquirer or of the installation', async () => {
    const reads = namesOf(await operationsOf(operator)).filter((name) => name.startsWith('GET'));
    for (const name of reads) {
      const path = name.slice(4).replace('{acquirerId}', '1').replace('{id}', '1').replace('{profile}', 'none');
      const isOfAll = !path.startsWith('/acquirers/');
      expect([path, (await ask(other, 'GET', path)).status]).toEqual([path, isOfAll ? 403 : 404]);
    }
    const id = randomUUID();
    expect((await ask(other, 'POST', '/acquirers/1/merchants', { id, ...MERCHANT })).status).toBe(404);
    expect((await ask(other, 'PATCH', '/acquirers/1', { blocked: true })).status).toBe(404);
    expect((await ask(other, 'PATCH', '/acquirers/2', { name: 'Mine' })).status).toBe(403);
    expect((await ask(other, 'GET', '/acquirers/2')).body.name).toBe('Acquirer 2');
    expect((await ask(operator, 'PATCH', '/acquirers/2', { name: 'Renamed' })).body.name).toBe('Renamed');
  });

  test('gets an API key once, and with no scope that the person lacks', async () => {
    const body = { name: 'till', scopes: ['transactions:read'] };
    const formId = { 'idempotency-key': randomUUID() };
    const made = await ask(coffee, 'POST', '/acquirers/1/keys', body, formId);
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const again = await ask(coffee, 'POST', '/acquirers/1/keys', body, formId);
    expect([again.body.id, again.headers.get('idempotency-replayed')]).toEqual([made.body.id, 'true']);
    expect((await ask(coffee, 'GET', `/acquirers/1/keys/${made.body.id}`)).body).not.toHaveProperty('key');
    // Another session has not sent this form.
    const foreign = await ask(await logIn({ acquirerId: 1 }, 'admin'), 'POST', '/acquirers/1/keys', body, formId);
    expect(foreign.body.id).not.toBe(made.body.id);
  });

  test('needs the token of the session and the page of the console, also to read', async () => {
    const path = '/acquirers/1/merchants';
    const { cookie, csrf } = coffee;
    expect((await call(path, { headers: { cookie } })).status).toBe(401);
    for (const headers of [
      { cookie, 'x-csrf-token': other.csrf },
      { cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' },
    ])
      expect((await call(path, { headers })).status).toBe(403);
    expect((await call(path, { headers: { 'x-csrf-token': csrf } })).status).toBe(401);
    // A key decides alone, whichever cookie a request has.
    const key = await installation.apiKey();
    expect((await call(path, { headers: { cookie, 'x-csrf-token': csrf, 'x-api-key': key } })).status).toBe(403);
  });
});

test('the chain of the audit is verified for the own acquirer, and an entry that was changed is named', async () => {
  const verdict = (session: ConsoleSession, acquirer?: number) =>
    ask(session, 'GET', `/ops/data/audit-verdict${acquirer === undefined ? '' : `?acquirer=${acquirer}`}`);
  await ask(coffee, 'POST', '/acquirers/1/integrators', { name: 'Verified' });
  const { body } = await verdict(coffee, 1);
  expect(body).toMatchObject({ isComplete: true, faults: [] });
  expect(body.entries).toBeGreaterThan(0);
  expect([(await verdict(coffee)).status, (await verdict(coffee, 2)).status]).toEqual([403, 404]);
  expect((await verdict(await logIn({ acquirerId: 1 }, 'operator'), 1)).status).toBe(403);
  const { database } = installation;
  await database.query('alter table admin_events disable trigger all');
  await database.query(`update admin_events set actor = 'nobody' where acquirer_id = 1 and chain_number = 1`);
  expect((await verdict(operator)).body.faults).toContainEqual({ acquirerId: 1, number: 1, kind: 'changed' });
  expect((await verdict(operator, 2)).body.faults).toEqual([]);
  await database.query('alter table admin_events enable trigger all');
});

test('a session that was idle, and one of a blocked acquirer or user, administer nothing', async () => {
  const read = (session: ConsoleSession) => ask(session, 'GET', '/acquirers/2/merchants');
  const idle = await logIn({ acquirerId: 2 }, 'admin');
  expect((await read(idle)).status).toBe(200);
  const { database } = installation;
  const ofUser = 'user_id = (select id from users where username = $1)';
  await database.query(`update console_sessions set acted_at = now() - interval '16 minutes' where ${ofUser}`, [
    idle.username,
  ]);
  expect((await read(idle)).status).toBe(401);
  const blocked = await logIn({ acquirerId: 2 }, 'admin');
  await database.query('update users set is_blocked = true where username = $1', [blocked.username]);
  expect((await read(blocked)).status).toBe(401);
  const last = await logIn({ acquirerId: 2 }, 'admin');
  expect((await ask(operator, 'PATCH', '/acquirers/2', { blocked: true })).status).toBe(200);
  expect((await read(last)).status).toBe(401);
  expect((await ask(operator, 'PATCH', '/acquirers/2', { blocked: false })).status).toBe(200);
});

test('where one-time codes are required, an administrator without them administers nothing', async () => {
  const gateway = await installation.startGateway({ CONSOLE_NEEDS_TOTP: 'true' });
  const path = new URL('/acquirers/1/merchants', gateway.url);
  const { cookie, csrf } = coffee;
  expect((await fetch(path, { headers: { cookie, 'x-csrf-token': csrf } })).status).toBe(403);
  await gateway.stop();
});

test('only administrators of the installation add, change and remove its users, who can log in', async () => {
  const password = 'correct horse battery staple';
  const username = `night-${randomUUID()}`;
  const added = await ask(operator, 'POST', '/users', { username, role: 'viewer', password });
  expect([added.status, added.headers.get('cache-control')]).toEqual([201, 'no-store']);
  const path = `/users/${added.body.id}`;
  expect(added.headers.get('location')).toBe(path);
  const logsIn = async (by: string) =>
    (
      await call('/ops/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username, password: by }),
      })
    ).json();
  expect(await logsIn(password)).toMatchObject({ username, acquirerId: null, mayAct: false });
  expect((await ask(operator, 'PATCH', path, { role: 'operator' })).body.role).toBe('operator');
  const made = await ask(operator, 'POST', `${path}/password`, {});
  expect(await logsIn(made.body.password)).toMatchObject({ username, mayAct: true });
  for (const [method, at, body] of [
    ['GET', '/users', undefined],
    ['POST', '/users', { username: `x-${randomUUID()}`, role: 'admin' }],
    ['GET', path, undefined],
    ['PATCH', path, { role: 'admin' }],
    ['POST', `${path}/password`, {}],
    ['DELETE', path, undefined],
  ] as const)
    expect([method, at, (await ask(coffee, method, at, body)).status]).toEqual([method, at, 403]);
  // Under an acquirer they are unknown, and so is a user of an acquirer under the installation.
  expect((await ask(operator, 'GET', `/acquirers/1${path}`)).status).toBe(404);
  const ofAcquirer = await ask(operator, 'POST', '/acquirers/1/users', {
    username: `day-${randomUUID()}`,
    role: 'viewer',
  });
  expect((await ask(operator, 'GET', `/users/${ofAcquirer.body.id}`)).status).toBe(404);
  const { body: listed } = await ask(operator, 'GET', `/users?${new URLSearchParams({ search: username })}`);
  expect(listed.map(({ id }: { id: string }) => id)).toEqual([added.body.id]);
  expect((await ask(operator, 'DELETE', path)).status).toBe(204);
  const { body: events } = await ask(operator, 'GET', `/audit?kind=user&id=${added.body.id}`);
  expect(events.map((event: { action: string; acquirerId: number }) => [event.action, event.acquirerId])).toEqual([
    ['remove', 0],
    ['change', 0],
    ['change', 0],
    ['add', 0],
  ]);
});

describe('operators and viewers', () => {
  test('administer nothing', async () => {
    for (const role of ['operator', 'viewer'] as const) {
      const session = await logIn({ acquirerId: 1 }, role);
      expect(namesOf(await operationsOf(session))).toEqual([]);
      for (const path of ['merchants', 'keys', 'users', 'processors', 'audit', 'softposconfigs'])
        expect([path, (await ask(session, 'GET', `/acquirers/1/${path}`)).status]).toEqual([path, 403]);
    }
  });

  test('have what their permissions add', async () => {
    const { username } = await ask(coffee, 'POST', '/acquirers/1/users', {
      ...{ username: `clerk-${randomUUID()}`, role: 'viewer', permissions: ['tenants:manage'] },
      password: 'correct horse battery staple',
    }).then(({ body }) => body);
    const response = await call('/ops/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'correct horse battery staple' }),
    });
    const cookie = response.headers.get('set-cookie')!.split(';')[0]!;
    const { csrfToken: csrf } = (await response.json()) as { csrfToken: string };
    const clerk = { cookie, csrf, username };
    const names = namesOf(await operationsOf(clerk));
    expect(names).toContain('POST /acquirers/{acquirerId}/merchants');
    expect(names.filter((name) => /keys|users|audit|processors/.test(name))).toEqual([]);
    expect((await ask(clerk, 'GET', '/acquirers/1/terminals')).status).toBe(200);
    const promotion = { username: `boss-${randomUUID()}`, role: 'admin' };
    expect((await ask(clerk, 'POST', '/acquirers/1/users', promotion)).status).toBe(403);
  });
});

test('the page is given each operation with the schema of its form, and processors with those of their types', async () => {
  const { operations, dependent } = await operationsOf(operator);
  const adding = operations.find(({ method, path }) => method === 'POST' && path.endsWith('/merchants'))!;
  expect(Object.keys(adding.body!.properties as object)).toContain('mcc');
  expect(adding.isIdempotent).toBe(true);
  const types = dependent.find(({ by }) => by === 'type')!;
  expect(Object.keys((types.schemas['type-1'] as { properties: object }).properties)).toContain('addresses');
  const without = namesOf(await operationsOf(coffee));
  expect(without).not.toContain('POST /acquirers');
  expect(without).toContain('GET /acquirers/{acquirerId}');
});
