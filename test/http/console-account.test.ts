import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import { totpCode } from '../../src/auth/totp/second-factor.ts';
import type { ShownAccount, ShownSession } from '../../src/console/account.ts';
import { UserSettings } from '../../src/store/settings/credential-settings.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser, type TestUser } from '../support/portal-users.ts';

const OWNER = { acquirerId: 1 };
const EVERYWHERE = { acquirerId: 0 };
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

let installation: Installation;
let strict: StartedGateway;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  strict = await installation.startGateway({ TAPWIRE_ROLE: 'api', CONSOLE_NEEDS_TOTP: 'true' });
  // The gateways run in this process and read this clock. A slow machine must not let a code expire.
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterAll(async () => {
  vi.useRealTimers();
  await installation?.stop();
});

const { logIn } = consoleClient(() => installation);

function send(
  path: string,
  init: { readonly session?: ConsoleSession; readonly body?: object; readonly url?: string } = {},
) {
  const { session, body, url = installation.url } = init;
  const headers = {
    ...(session && { cookie: session.cookie, 'x-csrf-token': session.csrf }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return fetch(new URL(path, url), { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
}

async function enter({ username }: TestUser, more: object = {}, url = installation.url) {
  const response = await send('/ops/session', { url, body: { username, password: PASSWORD, ...more } });
  const { csrfToken = '' } = (await response.json()) as { csrfToken?: string };
  return { status: response.status, session: sessionIn(response, csrfToken, username) };
}

function sessionIn(response: Response, csrf: string, username: string): ConsoleSession {
  return { cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '', csrf, username };
}

const change = (session: ConsoleSession, body: object) => send('/ops/account/acts', { session, body });
const accountOf = async (session: ConsoleSession) =>
  (await (await send('/ops/data/account', { session })).json()) as ShownAccount;
const allSessions = async (session: ConsoleSession) =>
  ((await (await send('/ops/data/sessions', { session })).json()) as { sessions: ShownSession[] }).sessions;
const isIn = async (session: ConsoleSession) => (await send('/ops/session', { session })).status === 200;

function decodeBase32(text: string): Buffer {
  const bits = [...text].map((char) => BASE32.indexOf(char).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** An authenticator app. @returns a function that gives the code of the present step, or of one beside it */
function appWith(secret: string) {
  return (ahead = 0) => totpCode(decodeBase32(secret), Math.floor(Date.now() / 30_000) + ahead);
}

/** A user with one-time codes; no code of a login was used yet. */
async function enrolled(owner: { acquirerId: number }, role: Role) {
  const user = await savePortalUser(installation.database, owner, role);
  const { session } = await enter(user);
  const begun = (await (await change(session, { act: 'beginTotp', password: PASSWORD })).json()) as { secret: string };
  const app = appWith(begun.secret);
  const confirmed = await change(session, { act: 'confirmTotp', code: app() });
  expect(confirmed.status).toBe(200);
  const { recoveryCodes } = (await confirmed.json()) as { recoveryCodes: string[] };
  await installation.database.query('update user_totp set last_step = 0 where user_id = $1', [user.id]);
  return { user, app, recoveryCodes, before: session, after: sessionIn(confirmed, '', user.username) };
}

async function eventsOf(subject: string) {
  const text = 'select actor, kind, after from admin_events where subject_id = $1 order by id';
  return (await installation.database.query(text, [subject])).rows;
}

describe('one-time codes', () => {
  test('count after a code has confirmed them; all earlier sessions end, and tokens of the API too', async () => {
    const user = await savePortalUser(installation.database, OWNER, 'operator');
    const [{ session }, { session: other }] = [await enter(user), await enter(user)];
    const login = await send('/login', { body: { username: user.username, password: PASSWORD } });
    expect(login.status).toBe(200);
    const begun = await change(session, { act: 'beginTotp', password: PASSWORD });
    const { secret, path } = (await begun.json()) as { secret: string; path: string };
    expect(path).toMatch(/^M/);
    const app = appWith(secret);
    // Not confirmed yet: the password is enough.
    expect((await enter(user)).status).toBe(200);
    expect((await change(session, { act: 'confirmTotp', code: '000 00' })).status).toBe(400);
    const confirmed = await change(session, { act: 'confirmTotp', code: app() });
    expect(((await confirmed.json()) as { recoveryCodes: string[] }).recoveryCodes).toHaveLength(10);
    const fresh = sessionIn(confirmed, '', user.username);
    expect([await isIn(session), await isIn(other), await isIn(fresh)]).toEqual([false, false, true]);
    expect(await accountOf(fresh)).toMatchObject({ hasSecondFactor: true, sessions: [{ isThis: true }] });
    const { rows } = await installation.database.query('select * from user_totp where user_id = $1', [user.id]);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(rows[0].secret.includes(decodeBase32(secret))).toBe(false);
    expect(await eventsOf(user.id)).toEqual([
      { actor: `user ${user.username}`, kind: 'totp', after: { did: 'enrolTotp' } },
    ]);
  });

  test('are needed at every login, and each works once, also at the same time', async () => {
    const { user, app } = await enrolled(OWNER, 'operator');
    expect((await enter(user)).status).toBe(401);
    expect((await enter(user, { code: '123' })).status).toBe(401);
    expect((await send('/login', { body: { username: user.username, password: PASSWORD } })).status).toBe(401);
    const code = app();
    expect((await enter(user, { code, password: 'not this one, no' })).status).toBe(401);
    const all = await Promise.all([enter(user, { code }), enter(user, { code }), enter(user, { code })]);
    expect(all.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    const body = { username: user.username, password: PASSWORD, code };
    expect((await send('/login', { body })).status).toBe(401);
    expect((await send('/login', { body: { ...body, code: app(1) } })).status).toBe(200);
    // An earlier step than the last one that was used.
    expect((await enter(user, { code: app(-1) })).status).toBe(401);
  });

  test('can be replaced once each by recovery codes, which is recorded', async () => {
    const { user, recoveryCodes } = await enrolled(OWNER, 'operator');
    const [code, next] = recoveryCodes as [string, string];
    expect((await enter(user, { code: code.toLowerCase() })).status).toBe(200);
    expect((await enter(user, { code })).status).toBe(401);
    expect((await enter(user, { code: next })).status).toBe(200);
    expect((await eventsOf(user.id)).map(({ after }) => after.did)).toEqual([
      ...['enrolTotp', 'useRecoveryCode', 'useRecoveryCode'],
    ]);
  });

  test('are changed and removed only with the password and a present code', async () => {
    const { user, app, recoveryCodes } = await enrolled(OWNER, 'operator');
    const { session } = await enter(user, { code: app() });
    for (const given of [
      { password: 'not this one, no' },
      { password: PASSWORD },
      { password: PASSWORD, code: app() },
    ]) {
      expect((await change(session, { act: 'beginTotp', ...given })).status).toBe(400);
      expect((await change(session, { act: 'removeTotp', ...given })).status).toBe(400);
    }
    const removed = await change(session, { act: 'removeTotp', password: PASSWORD, code: recoveryCodes[0] });
    expect(removed.status).toBe(200);
    expect(await isIn(session)).toBe(false);
    expect(await isIn(sessionIn(removed, '', user.username))).toBe(true);
    const changed = 'select password_changed_at > $2 as "isNewer" from users where id = $1';
    const { rows } = await installation.database.query(changed, [user.id, new Date(Date.now() - 3_600_000)]);
    expect(rows).toEqual([{ isNewer: true }]); // tokens from before are over
    expect((await enter(user)).status).toBe(200);
  });

  test('are not guessed by confirming', async () => {
    const { session } = await enter(await savePortalUser(installation.database, OWNER, 'viewer'));
    expect((await change(session, { act: 'confirmTotp', code: '123456' })).status).toBe(409);
    await change(session, { act: 'beginTotp', password: PASSWORD });
    const statuses: number[] = [];
    for (let guess = 0; guess < 11; guess++)
      statuses.push((await change(session, { act: 'confirmTotp', code: 'abcdef' })).status);
    expect(statuses.slice(0, 9)).toEqual(Array(9).fill(400));
    expect(statuses.at(-1)).toBe(429);
  });

  test('are reset by an administrator, which ends the sessions and is recorded', async () => {
    const { user, after } = await enrolled(OWNER, 'admin');
    const settings = new UserSettings(installation.database);
    const by = { acquirerId: 1, actor: 'cli test@here' };
    await expect(settings.resetTotp({ ...by, acquirerId: 2 }, user.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await settings.resetTotp(by, user.id)).toBe(true);
    expect(await settings.resetTotp(by, user.id)).toBe(false);
    expect(await isIn(after)).toBe(false);
    expect((await enter(user)).status).toBe(200);
    expect((await eventsOf(user.id)).at(-1)).toEqual({ actor: by.actor, kind: 'totp', after: { did: 'resetTotp' } });
  });
});

describe('where one-time codes are required', () => {
  test('an operator can only set them up, and gets no token from the API', async () => {
    const { url } = strict;
    const user = await savePortalUser(installation.database, OWNER, 'operator');
    const { session } = await enter(user, {}, url);
    expect(await (await send('/ops/session', { url, session })).json()).toMatchObject({ mustEnrol: true });
    for (const path of ['/ops/stream', '/ops/data/names', '/ops/data/sessions', '/ops/data/cells'])
      expect((await send(path, { url, session })).status, path).toBe(403);
    for (const [path, body] of [
      ['/ops/data/transactions', { filter: {} }],
      ['/ops/data/work', { list: 'webhooks', filter: {} }],
      ['/ops/acts', { act: 'drain', processId: user.id }],
    ] as const)
      expect((await send(path, { url, session, body })).status, path).toBe(403);
    expect((await send('/ops/data/account', { url, session })).status).toBe(200);
    const refunder = await savePortalUser(installation.database, OWNER, 'viewer', ['transactions:refund']);
    expect((await send('/login', { url, body: { username: refunder.username, password: PASSWORD } })).status).toBe(401);
    expect((await send('/login', { url, body: { username: user.username, password: PASSWORD } })).status).toBe(401);
  });

  test('viewers, and users who have set them up, are free', async () => {
    const { url } = strict;
    const viewer = await savePortalUser(installation.database, OWNER, 'viewer');
    const { user, app } = await enrolled(OWNER, 'operator');
    for (const { session } of [await enter(viewer, {}, url), await enter(user, { code: app() }, url)])
      expect((await send('/ops/data/names', { url, session })).status).toBe(200);
    const merchant = await savePortalUser(installation.database, { ...OWNER, merchantId: '1001' }, 'operator');
    expect((await send('/login', { url, body: { username: merchant.username, password: PASSWORD } })).status).toBe(200);
  });
});

describe('sessions', () => {
  test('sessions of a person are listed with their origin, without secrets, and ended one by one or all others', async () => {
    const user = await savePortalUser(installation.database, OWNER, 'viewer');
    const [first, second, third] = [await enter(user), await enter(user), await enter(user)];
    const { sessions } = await accountOf(first.session);
    expect(sessions.map(({ isThis }) => isThis)).toEqual([false, false, true]);
    expect(sessions[0]).toMatchObject({ username: user.username, issuer: null, address: '127.0.0.1', agent: 'node' });
    for (const { session } of [first, second, third])
      expect(JSON.stringify(sessions)).not.toContain(session.cookie.split('=')[1]);
    const ended = await change(first.session, { act: 'endSession', id: sessions[0]!.id });
    expect(await ended.json()).toEqual({ ended: 1 });
    expect([await isIn(first.session), await isIn(second.session), await isIn(third.session)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await (await change(first.session, { act: 'endOtherSessions' })).json()).toEqual({ ended: 1 });
    expect([await isIn(first.session), await isIn(second.session)]).toEqual([true, false]);
    expect((await change(first.session, { act: 'endSession', id: sessions[0]!.id })).status).toBe(404);
    const actor = `user ${user.username}`;
    expect(await eventsOf(user.id)).toEqual([
      { actor, kind: 'session', after: { did: 'endSession' } },
      { actor, kind: 'session', after: { did: 'endOtherSessions' } },
    ]);
  });

  test('sessions of users are seen and ended only by administrators who are responsible for them', async () => {
    const user = await savePortalUser(installation.database, OWNER, 'operator');
    const { session } = await enter(user);
    const id = (await accountOf(session)).sessions[0]!.id;
    for (const [owner, role] of [
      [OWNER, 'operator'],
      [OWNER, 'viewer'],
      [{ acquirerId: 2 }, 'admin'],
    ] as const) {
      const other = await logIn(owner, role);
      expect((await change(other, { act: 'endSession', id })).status).toBe(404);
      if (role === 'admin') expect((await allSessions(other)).every(({ acquirerId }) => acquirerId === 2)).toBe(true);
      else expect((await send('/ops/data/sessions', { session: other })).status).toBe(403);
    }
    expect(await isIn(session)).toBe(true);
    const operatorOfAll = await logIn(EVERYWHERE, 'operator');
    const idOfAll = (await accountOf(operatorOfAll)).sessions[0]!.id;
    const admin = await logIn(OWNER, 'admin');
    expect((await allSessions(admin)).map((each) => each.id)).toContain(id);
    expect((await allSessions(admin)).map((each) => each.id)).not.toContain(idOfAll);
    expect((await change(admin, { act: 'endSession', id: idOfAll })).status).toBe(404);
    expect((await change(admin, { act: 'endSession', id })).status).toBe(200);
    expect(await isIn(session)).toBe(false);
    expect((await eventsOf(user.id)).at(-1)).toMatchObject({ actor: `user ${admin.username}` });
    const adminOfAll = await logIn(EVERYWHERE, 'admin');
    expect((await change(adminOfAll, { act: 'endSession', id: idOfAll })).status).toBe(200);
  });

  test('end with a new password', async () => {
    const user = await savePortalUser(installation.database, OWNER, 'viewer');
    const { session } = await enter(user);
    await new UserSettings(installation.database).resetPassword({ acquirerId: 1, actor: 'cli x@y' }, user.id, null);
    expect(await isIn(session)).toBe(false);
  });

  test('are changed only from the page', async () => {
    const session = await logIn(OWNER, 'viewer');
    const elsewhere = { ...session, csrf: 'x' };
    expect((await change(elsewhere, { act: 'endOtherSessions' })).status).toBe(403);
  });
});
