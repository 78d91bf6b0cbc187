import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createSignInRecorder } from '../../src/console/store/console-sessions.ts';
import { CLIENT, IdentityProvider, type Person } from '../support/identity-provider.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { SignInBrowser } from '../support/sign-in-browser.ts';

/** The console with an OpenID provider: real redirects, cookies and tokens over loopback. */
let provider: IdentityProvider;
let installation: Installation;
let settings: NodeJS.ProcessEnv;
beforeAll(async () => {
  provider = await IdentityProvider.start();
  settings = {
    ...{ OIDC_ISSUER: provider.url, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret },
    OIDC_ROLES: 'admins=admin,operators=operator,of-acquirer=viewer@1,lost=viewer@999',
  };
  installation = await startInstallation({ role: 'api', settings });
  provider.admit(installation.url);
});
afterAll(async () => {
  await installation?.stop();
  await provider?.stop();
});

let browser: SignInBrowser;
beforeEach(() => {
  browser = new SignInBrowser();
});

const at = (path: string) => new URL(path, installation.url).href;
const isCallback = (url: string) => url.startsWith(at('/ops/oidc/callback'));
const personWith = (...groups: string[]): Person => {
  const subject = `person-${randomUUID().slice(0, 8)}`;
  return { subject, name: `${subject}@id.example`, groups };
};

async function signIn(person: Person | undefined, to = '/ops'): Promise<string> {
  provider.person = person;
  return browser.follow(at(`/ops/oidc?${new URLSearchParams({ to })}`));
}

async function session(headers: Record<string, string> = {}, url = installation.url) {
  const response = await fetch(new URL('/ops/session', url), {
    headers: { cookie: browser.cookiesOf(installation.url), ...headers },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function eventsOf({ subject }: Person) {
  const text = 'select acquirer_id, actor, kind, after from admin_events where subject_id = $1 order by id';
  return (await installation.database.query(text, [subject])).rows;
}

describe('a person whom the provider knows', () => {
  test('signs in with the role of the claim, returns to the page, and is in the audit trail by issuer and subject', async () => {
    const person = personWith('others', 'operators');
    expect(await signIn(person, '/ops/transactions?outcome=declined')).toBe(at('/ops/transactions?outcome=declined'));
    expect(await session()).toMatchObject({
      status: 200,
      body: { username: person.name, role: 'operator', acquirerId: null, mayAct: true },
    });
    const actor = `oidc ${provider.url} ${person.subject}`;
    const after = { did: 'signIn', role: 'operator', name: person.name };
    expect(await eventsOf(person)).toEqual([{ acquirer_id: 0, actor, kind: 'session', after }]);
  });

  test('is limited to the acquirer that the mapping names', async () => {
    await signIn(personWith('of-acquirer'));
    expect((await session()).body).toMatchObject({ role: 'viewer', acquirerId: 1, mayAct: false });
  });

  test('keeps the session of another browser when the role is the same', async () => {
    const person = personWith('operators');
    await signIn(person);
    const before = browser;
    browser = new SignInBrowser();
    await signIn(person);
    expect((await session()).status).toBe(200);
    browser = before;
    expect((await session()).status).toBe(200);
  });

  test('replaces the session of the same browser by a second sign-in, also if the first one had a password', async () => {
    const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'admin');
    const loggedIn = await fetch(at('/ops/session'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: PASSWORD }),
    });
    expect(loggedIn.status).toBe(200);
    const secretOf = (cookies: string) => /tapwire-console=([\w-]+)/.exec(cookies)![1]!;
    const statusOf = async (secret: string) => (await session({ cookie: `tapwire-console=${secret}` })).status;
    let current = secretOf(loggedIn.headers.get('set-cookie')!);
    browser.setCookie(installation.url, 'tapwire-console', current);
    const person = personWith('operators');
    for (let signIns = 0; signIns < 2; signIns++) {
      // A sign-in that is not finished ends no session.
      provider.person = undefined;
      await browser.follow(at('/ops/oidc'));
      expect(await statusOf(current)).toBe(200);
      await signIn(person);
      const next = secretOf(browser.cookiesOf(installation.url));
      expect([await statusOf(current), await statusOf(next)]).toEqual([401, 200]);
      current = next;
    }
  });

  test('loses an earlier session when the role changes', async () => {
    const person = personWith('admins');
    await signIn(person);
    const before = browser;
    browser = new SignInBrowser();
    await signIn({ ...person, groups: ['of-acquirer'] });
    expect((await session()).body).toMatchObject({ role: 'viewer' });
    browser = before;
    expect((await session()).status).toBe(401);
  });

  test('loses the session with the provider or the role in the settings, and while the acquirer is blocked', async () => {
    const others = [
      { ...settings, OIDC_ROLES: 'of-acquirer=viewer@2,admins=viewer' },
      { ...settings, OIDC_ISSUER: 'https://other.example' },
      { OIDC_ISSUER: undefined, OIDC_CLIENT_ID: undefined, OIDC_CLIENT_SECRET: undefined, OIDC_ROLES: undefined },
    ];
    await signIn(personWith('of-acquirer'));
    for (const changed of others) {
      const other = await installation.startGateway({ ...changed, CONSOLE_URL: installation.url });
      expect((await session({}, other.url)).status).toBe(401);
      await other.stop();
    }
    expect((await session()).status).toBe(200);
    const block = 'update acquirers set is_blocked = $1 where id = 1';
    await installation.database.query(block, [true]);
    expect((await session()).status).toBe(401);
    await installation.database.query(block, [false]);
    expect((await session()).status).toBe(200);
  });

  test('is refused without a role, and for an acquirer that does not exist, with a reason and without a session', async () => {
    for (const person of [personWith(), personWith('Admins', 'strangers'), personWith('lost')]) {
      browser = new SignInBrowser();
      expect(await signIn(person)).toBe(at('/ops?sign-in=NO_ROLE'));
      expect((await session()).status).toBe(401);
      expect(await eventsOf(person)).toEqual([]);
    }
  });

  test('may turn back at the provider', async () => {
    expect(await signIn(undefined)).toBe(at('/ops?sign-in=CANCELLED'));
  });

  test('gets nothing of a password user with the same name', async () => {
    const { username, id } = await savePortalUser(installation.database, { acquirerId: 1 }, 'admin');
    const person = { ...personWith('of-acquirer'), name: username };
    await signIn(person);
    expect((await session()).body).toMatchObject({ username, role: 'viewer' });
    const { rows } = await installation.database.query('select user_id from console_sessions where subject = $1', [
      person.subject,
    ]);
    expect(rows[0].user_id).not.toBe(id);
    const { rows: users } = await installation.database.query('select last_login_at from users where id = $1', [id]);
    expect(users).toEqual([{ last_login_at: null }]);
  });

  test('signs out here, and is led to the sign-out of the provider', async () => {
    await signIn(personWith('operators'));
    const cookie = browser.cookiesOf(installation.url);
    const response = await fetch(at('/ops/session'), { method: 'DELETE', headers: { cookie } });
    const { providerUrl } = (await response.json()) as { providerUrl: string };
    const { origin, searchParams } = new URL(providerUrl);
    expect([origin, searchParams.get('post_logout_redirect_uri')]).toEqual([provider.url, at('/ops')]);
    expect((await session()).status).toBe(401);
  });
});

describe('a sign-in', () => {
  test('keeps its cookies from scripts and other sites', async () => {
    provider.person = personWith('operators');
    const started = await browser.get(at('/ops/oidc'));
    expect(started.headers.get('set-cookie')).toMatch(
      /^tapwire-sign-in=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
    const url = new URL(started.headers.get('location')!);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', max_age: '900' },
      ...{ redirect_uri: at('/ops/oidc/callback'), scope: 'openid profile email' },
    });
    const callback = await browser.follow(url.href, isCallback);
    const finished = await browser.get(callback);
    expect(finished.headers.get('cache-control')).toBe('no-store');
    expect(finished.headers.getSetCookie().find((cookie) => cookie.startsWith('tapwire-console='))).toMatch(
      /; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
  });

  test('succeeds once: its code and state are refused when they are played again, with the cookie too', async () => {
    provider.person = personWith('operators');
    const callback = await browser.follow(at('/ops/oidc'), isCallback);
    const cookies = browser.cookiesOf(installation.url);
    const play = (cookie: string) => fetch(callback, { redirect: 'manual', headers: { cookie } });
    expect((await play(cookies)).headers.get('location')).toBe('/ops');
    for (const [cookie, reason] of [
      [cookies, 'INVALID'],
      ['', 'NOT_BEGUN'],
    ] as const) {
      const again = await play(cookie);
      expect(again.headers.get('location')).toBe(`/ops?sign-in=${reason}`);
      expect(again.headers.getSetCookie().filter((each) => each.startsWith('tapwire-console='))).toEqual([]);
    }
  });

  test('is recorded once for each state, also if the provider accepts a code twice at the same time', async () => {
    const record = createSignInRecorder(installation.database);
    const state = randomUUID();
    const identity = { issuer: provider.url, subject: randomUUID(), name: 'x', role: 'viewer', acquirerId: 1 } as const;
    const results = await Promise.all([1, 2, 3].map(() => record(state, identity)));
    expect(results.sort()).toEqual([false, false, true]);
  });

  test('cannot be finished by another browser, nor with another state', async () => {
    provider.person = personWith('operators');
    const callback = await browser.follow(at('/ops/oidc'), isCallback);
    const stranger = new SignInBrowser();
    expect((await stranger.get(callback)).headers.get('location')).toBe('/ops?sign-in=NOT_BEGUN');
    await stranger.get(at('/ops/oidc'));
    expect((await stranger.get(callback)).headers.get('location')).toBe('/ops?sign-in=INVALID');
    const changed = new URL(callback);
    changed.searchParams.set('state', 'x'.repeat(43));
    expect((await browser.get(changed.href)).headers.get('location')).toBe('/ops?sign-in=INVALID');
  });

  test('is refused with a code of another sign-in, a repeated parameter, and another issuer in the response', async () => {
    provider.person = personWith('operators');
    const code = async (own: SignInBrowser) => new URL(await own.follow(at('/ops/oidc'), isCallback));
    const stolen = (await code(new SignInBrowser())).searchParams.get('code')!;
    for (const change of [
      (url: URL) => url.searchParams.set('code', stolen),
      (url: URL) => url.searchParams.append('code', stolen),
      (url: URL) => url.searchParams.append('state', 'x'),
      (url: URL) => url.searchParams.set('iss', 'https://elsewhere.example'),
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.delete('code'),
    ]) {
      const own = new SignInBrowser();
      const callback = await code(own);
      change(callback);
      const response = await own.get(callback.href);
      expect(response.headers.get('location'), callback.search).toBe('/ops?sign-in=INVALID');
      expect(own.cookiesOf(installation.url)).toBe('');
    }
  });

  test('leads only to pages of the console', async () => {
    const places = [
      'https://evil.example',
      '//evil.example',
      '/ops/../..//evil.example',
      '/ops\\@evil.example',
      '/login',
    ];
    for (const to of [
      ...places,
      '/ops//evil.example',
      '/ops?a=\r\nset-cookie:x',
      '/opsx',
      '/ops/oidc',
      '/ops/session',
      'javascript:alert(1)',
    ]) {
      browser = new SignInBrowser();
      expect(await signIn(personWith('operators'), to), to).toBe(at('/ops'));
    }
    provider.person = personWith('operators');
    browser = new SignInBrowser();
    expect(await browser.follow(at('/ops/oidc?to=/ops&to=//evil.example'))).toBe(at('/ops'));
  });

  test('is not started by another site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const response = await fetch(at('/ops/oidc'), { redirect: 'manual', headers });
    expect(response.status).toBe(403);
  });

  test('a failed sign-in stores nothing', async () => {
    const count = async () => (await installation.database.query('select from console_sign_ins')).rowCount;
    const before = await count();
    await browser.get(at('/ops/oidc'));
    await browser.get(at('/ops/oidc/callback?code=x&state=y'));
    expect(await count()).toBe(before);
  });
});

describe('without the provider', () => {
  test('passwords still work, and the page says what is wrong', async () => {
    const { url, stop } = await installation.startGateway({ OIDC_ISSUER: 'http://127.0.0.1:1', TAPWIRE_ROLE: 'api' });
    onTestFinished(stop);
    const response = await fetch(new URL('/ops/oidc', url), { redirect: 'manual' });
    expect(response.headers.get('location')).toBe('/ops?sign-in=PROVIDER_UNAVAILABLE');
    expect(await (await fetch(new URL('/ops/sign-in', url))).json()).toEqual({ provider: '127.0.0.1:1' });
    const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'viewer');
    const login = await fetch(new URL('/ops/session', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'correct horse battery staple' }),
    });
    expect(login.status).toBe(200);
    const codes = installation.logLines.map(({ error }) => (error as { code?: string } | undefined)?.code);
    expect(codes).toContain('PROVIDER_UNAVAILABLE');
  });
});
