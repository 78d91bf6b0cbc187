import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import { userSubject } from '../../src/auth/portal/log-in.ts';
import { postgresLoginTries } from '../../src/store/credentials/users.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser, type TestUser } from '../support/portal-users.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';
import { everythingStored, secretsIn } from '../support/secrets.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ settings: { LOGIN_TRIES_PER_USER: '3' } });
});
afterAll(() => installation.stop());

const INTEGRATOR = { acquirerId: 1, integratorId: 10 };

function logIn(username: string, password = PASSWORD, headers: Record<string, string> = {}): Promise<RawResponse> {
  const body = JSON.stringify({ username, password });
  return request(installation.url, '/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

async function bearerOf({ username }: TestUser): Promise<{ readonly authorization: string }> {
  const { body } = await logIn(username);
  return { authorization: `Bearer ${(body as { token: string }).token}` };
}

async function count(username: string, times: number): Promise<void> {
  const tries = postgresLoginTries(installation.database);
  for (let made = 0; made < times; made++) await tries.count(userSubject(username), 1_800);
}

const list = (headers: Record<string, string>) => request(installation.url, '/transactions', { headers });

describe.concurrent('a login', () => {
  test('gives a token with the rights of the user’s owner, is not cached, and is recorded', async () => {
    const user = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const { status, headers, body } = await logIn(user.username.toUpperCase());
    expect({ status, cache: headers.get('cache-control') }).toEqual({ status: 200, cache: 'no-store' });
    expect(body).toEqual({ token: expect.any(String), tokenType: 'Bearer', expiresIn: 3_600 });
    const { token } = body as { token: string };
    expect(decodeJwt(token)).toMatchObject({
      iss: 'tapwire',
      aud: 'tapwire',
      sub: user.id,
      use: 'login',
      acquirerId: 1,
    });
    expect((await list({ authorization: `Bearer ${token}` })).status).toBe(200);
    const { rows } = await installation.database.query('select last_login_at from users where id = $1', [user.id]);
    expect(rows[0]!.last_login_at).toBeInstanceOf(Date);
  });

  test('is refused in the same way for an unknown user, a wrong password and a blocked user', async () => {
    const user = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const blocked = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    await installation.database.query('update users set is_blocked = true where id = $1', [blocked.id]);
    const responses = await Promise.all([
      logIn(user.username, 'another password'),
      logIn('unknown@portal.example'),
      logIn(blocked.username),
    ]);
    const problems = responses.map((response) => ({ ...problemOf(response), requestId: '' }));
    expect(problems[0]).toMatchObject({ status: 401, errorCode: 100 });
    expect(new Set(problems.map((problem) => JSON.stringify(problem))).size).toBe(1);
    expect(responses[0]!.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('is 429 with errorCode 132 after three failures, whether the user exists or not', async () => {
    const { username } = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const tries = await Promise.all(Array.from({ length: 4 }, () => logIn(username, 'another password')));
    expect(tries.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429]);
    // A fourth attempt of an unknown user gets the same; three attempts take time.
    await count('no-one@portal.example', 3);
    for (const name of [username, 'no-one@portal.example']) {
      const response = await logIn(name);
      expect(problemOf(response)).toMatchObject({ status: 429, errorCode: 132 });
      const seconds = Number(response.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(1_700);
      expect(seconds).toBeLessThanOrEqual(1_800);
      expect(response.headers.get('ratelimit-policy')).toBe('"logins-by-user";q=3;w=1800');
      expect(response.headers.get('ratelimit')).toBe(`"logins-by-user";r=0;t=${seconds}`);
    }
    const over = `update login_tries set window_ends_at = now() - interval '1 s' where subject = $1`;
    await installation.database.query(over, [userSubject(username)]);
    expect((await logIn(username)).status).toBe(200);
  });

  test('is possible again after an administrator has unblocked the user, or has set a password', async () => {
    const { id, username } = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const key = await saveApiKey(installation.database, { acquirerId: 1 }, SCOPE_NAMES);
    const change = (method: string, path: string, body: object) =>
      request(installation.url, `/acquirers/1/users/${id}${path}`, {
        method,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await count(username, 3);
    expect((await logIn(username)).status).toBe(429);
    expect((await change('PATCH', '', { role: 'viewer' })).status).toBe(200);
    expect((await logIn(username)).status).toBe(429);
    expect((await change('PATCH', '', { blocked: false })).status).toBe(200);
    expect((await logIn(username)).status).toBe(200);
    await count(username, 3);
    expect((await change('POST', '/password', { password: 'a quiet morning by the sea' })).status).toBe(200);
    expect((await logIn(username, 'a quiet morning by the sea')).status).toBe(200);
  });

  test('is counted in the database, without the typed name', async () => {
    const { username } = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    await logIn(username, 'another password');
    const { rows } = await installation.database.query<{ subject: string }>('select subject from login_tries');
    const subjects = rows.map(({ subject }) => subject);
    expect(subjects).toEqual(expect.arrayContaining([userSubject(username), 'address 127.0.0.1']));
    expect(subjects.every((subject) => /^(user [\w-]{43}|address [\d.]+)$/.test(subject))).toBe(true);
  });

  test('leaves neither the password nor the token in a log line or a column', async () => {
    const { username } = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const { body } = await logIn(username);
    const { token } = body as { token: string };
    await logIn(username, 'marked password');
    await logIn('marked password', PASSWORD);
    const marks = ['marked password', PASSWORD, token.split('.')[2]!].map((text) => ({ name: text, text }));
    expect(secretsIn(JSON.stringify(installation.logLines), marks)).toEqual([]);
    expect(secretsIn(await everythingStored(installation.database), marks)).toEqual([]);
  });

  test('deletes the counters of closed windows', async () => {
    const { database } = installation;
    const old = `insert into login_tries select 'user old ' || n, 5, now() - interval '1 h' from generate_series(1, 12) n`;
    await database.query(old);
    await count('one more', 1);
    await count('one more', 1);
    const left = `select from login_tries where subject like 'user old %'`;
    expect((await database.query(left)).rowCount).toBe(0);
  });

  test('accepts no device tokens, and is not affected by ended sessions', async () => {
    const user = await savePortalUser(installation.database, INTEGRATOR, 'viewer');
    const authorization = `Bearer ${await installation.phone().token()}`;
    expect(problemOf(await logIn(user.username, PASSWORD, { authorization }))).toMatchObject({
      status: 403,
      errorCode: 101,
    });
    expect((await logIn(user.username, PASSWORD, { authorization: 'Bearer a.b.c' })).status).toBe(200);
  });

  test.each([
    [{}, ['/username', '/password']],
    [{ username: '', password: '' }, ['/username', '/password']],
    [{ username: 'a\u0000', password: 1 }, ['/username', '/password']],
    [{ username: 'a'.repeat(256), password: 'a'.repeat(257) }, ['/username', '/password']],
  ])('a login of %j is 400 with a pointer to each fault', async (body, pointers) => {
    const headers = { 'content-type': 'application/json' };
    const response = await request(installation.url, '/login', { method: 'POST', headers, body: JSON.stringify(body) });
    const problem = problemOf(response);
    expect(problem).toMatchObject({ status: 400, errorCode: 104 });
    expect(problem.errors!.map(({ pointer }) => pointer)).toEqual(pointers);
  });
});

describe.concurrent('a session', () => {
  test('sees what belongs to its owner and nothing else', async () => {
    const coffee = await savePortalUser(installation.database, { ...INTEGRATOR, merchantId: '1001' }, 'operator');
    const session = await bearerOf(coffee);
    expect((await list(session)).status).toBe(200);
    for (const query of ['merchant=1002', 'integrator=11']) {
      const { status } = await request(installation.url, `/transactions?${query}`, { headers: session });
      expect(status).toBe(403);
    }
    const foreign = '6f1f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11';
    const detail = await request(installation.url, `/transactions/${foreign}`, { headers: session });
    expect(problemOf(detail)).toMatchObject({ status: 404, errorCode: 122 });
  });

  test('submits no taps and configures nothing', async () => {
    const admin = await bearerOf(await savePortalUser(installation.database, { acquirerId: 1 }, 'admin'));
    const tap = await request(installation.url, '/transactions/mobile', { method: 'POST', headers: admin });
    expect(problemOf(tap)).toMatchObject({ status: 401, errorCode: 117 });
    const processors = await request(installation.url, '/acquirers/1/processors', { headers: admin });
    expect(problemOf(processors)).toMatchObject({ status: 403, errorCode: 101 });
  });

  test('ends when the user is blocked, removed, or gets another password', async () => {
    const users = await Promise.all([0, 1, 2].map(() => savePortalUser(installation.database, INTEGRATOR, 'viewer')));
    const sessions = await Promise.all(users.map(bearerOf));
    expect(await Promise.all(sessions.map(async (session) => (await list(session)).status))).toEqual([200, 200, 200]);
    const { database } = installation;
    await database.query('update users set is_blocked = true where id = $1', [users[0]!.id]);
    await database.query('delete from users where id = $1', [users[1]!.id]);
    await database.query(`update users set password_hash = 'x' where id = $1`, [users[2]!.id]);
    // Sessions of the same second as a password change may belong to the new password.
    await database.query(`update users set password_changed_at = now() + interval '2 s' where id = $1`, [users[2]!.id]);
    await eventually(async () => {
      const [blocked, removed, changed] = await Promise.all(sessions.map(list));
      expect(problemOf(blocked!)).toMatchObject({ status: 403, errorCode: 105 });
      expect(problemOf(removed!)).toMatchObject({ status: 401, errorCode: 117 });
      expect(problemOf(changed!)).toMatchObject({ status: 401, errorCode: 117 });
    });
  });
});
