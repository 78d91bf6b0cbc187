import { beforeEach, describe, expect, test } from 'vitest';
import {
  addressSubject,
  createLogIn,
  type LogIn,
  type LoginFactors,
  type LoginTries,
  type UserWithPassword,
  userSubject,
} from '../../../src/auth/portal/log-in.ts';
import { LoginTokens } from '../../../src/auth/tokens/login-tokens.ts';
import { Overloaded, Throttled } from '../../../src/basics/errors.ts';
import { createTokenKey, ownTokensOf } from '../../support/own-tokens.ts';
import { cheapHash, PASSWORD } from '../../support/portal-users.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const LIMITS = { perUser: 3, perAddress: 5, windowSeconds: 1_800 };
const USER: UserWithPassword = {
  id: '0b6f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11',
  username: 'thandi@shop.example',
  owner: { acquirerId: 1, integratorId: 11 },
  role: 'operator',
  permissions: [],
  isBlocked: false,
  passwordChangedAtMs: 0,
  hasSecondFactor: false,
  passwordHash: cheapHash(PASSWORD),
  secondFactor: undefined,
};

let user: UserWithPassword | undefined;
let counted: Map<string, number>;
let recorded: string[];
let factors: LoginFactors;
let mustEnrol = false;
let nowMs = 0;
let logIn: LogIn;
const ownTokens = ownTokensOf([createTokenKey('own')], 'tapwire', () => NOW_MS);
const tokens = new LoginTokens({
  tokens: ownTokens,
  users: { find: async () => user },
  lifetimeSeconds: 3_600,
  nowMs: () => NOW_MS,
});

beforeEach(() => {
  user = USER;
  counted = new Map();
  recorded = [];
  const tries: LoginTries = {
    count: async (subject) => {
      counted.set(subject, (counted.get(subject) ?? 0) + 1);
      return { tries: counted.get(subject)!, secondsLeft: 1_234 };
    },
    forgive: async (who, address) => {
      counted.delete(who);
      counted.set(address, counted.get(address)! - 1);
    },
  };
  const logins = {
    findByUsername: async (name: string) => (name === USER.username ? user : undefined),
    recordLogin: async ({ id }: { id: string }) => void recorded.push(id),
  };
  factors = { check: () => undefined, use: async () => true };
  mustEnrol = false;
  const ownFactors: LoginFactors = { check: (...of) => factors.check(...of), use: (...of) => factors.use(...of) };
  logIn = createLogIn({
    logins,
    factors: ownFactors,
    mustEnrol: () => mustEnrol,
    tries,
    tokens,
    limits: LIMITS,
    monotonicMs: () => nowMs,
  });
});

const attempt = (password = PASSWORD, username: string = USER.username, ip = '192.0.2.1', code?: string) =>
  logIn({ username, password, code, ip });

describe('a login with a second factor', () => {
  const withFactor = (uses: string[] = []) => {
    user = { ...USER, hasSecondFactor: true, secondFactor: { secret: Buffer.of(1), recoveryHashes: [] } };
    factors = {
      check: (_id, _factor, code) => (code === '123456' ? { kind: 'step', step: 7 } : undefined),
      use: async ({ id }) => uses.push(id) === 1,
    };
    return uses;
  };
  const refused = { code: 'UNAUTHORISED' };

  test('needs the right code, which is used up only with the right password', async () => {
    const uses = withFactor();
    await expect(attempt()).rejects.toMatchObject(refused);
    await expect(attempt(PASSWORD, USER.username, '192.0.2.1', '654321')).rejects.toMatchObject(refused);
    await expect(attempt('wrong password', USER.username, '192.0.2.2', '123456')).rejects.toMatchObject(refused);
    expect(uses).toEqual([]);
  });

  test('succeeds once with a code', async () => {
    const uses = withFactor();
    expect(await attempt(PASSWORD, USER.username, '192.0.2.1', '123456')).toMatchObject({ expiresIn: 3_600 });
    await expect(attempt(PASSWORD, USER.username, '192.0.2.1', '123456')).rejects.toMatchObject(refused);
    expect(uses).toHaveLength(2);
  });

  test('counts wrong codes like wrong passwords, also with the right password', async () => {
    withFactor();
    for (let guess = 0; guess < LIMITS.perUser; guess++)
      await expect(attempt(PASSWORD, USER.username, '192.0.2.1', `00000${guess}`)).rejects.toMatchObject(refused);
    await expect(attempt(PASSWORD, USER.username, '192.0.2.1', '123456')).rejects.toBeInstanceOf(Throttled);
  });

  test('gives no token to a user who must set one up first', async () => {
    mustEnrol = true;
    await expect(attempt()).rejects.toMatchObject(refused);
  });
});

describe('a login', () => {
  test('begins a session of its user, which is recorded', async () => {
    const { token, expiresIn } = await attempt();
    expect(expiresIn).toBe(3_600);
    const read = await ownTokens.verifyAny(token);
    expect(read).toMatchObject({ use: 'login', claims: { sub: USER.id, acquirerId: 1, exp: NOW_MS / 1_000 + 3_600 } });
    expect(await tokens.userOf(read)).toBe(USER);
    expect(recorded).toEqual([USER.id]);
  });

  test('accepts a name in any case and in any Unicode form', async () => {
    await attempt(PASSWORD, 'THANDI@Shop.Example');
    await attempt(PASSWORD.normalize('NFD'), 'ｔhandi@shop.example');
    expect(recorded).toHaveLength(2);
  });

  test.each([
    ['reset', { passwordChangedAtMs: 1 }],
    ['blocked', { isBlocked: true }],
    ['removed', undefined],
  ])('is refused if the user is %s while the password is checked', async (_what, change) => {
    const login = attempt();
    await new Promise(setImmediate); // the user has been read
    user = change && { ...USER, ...change };
    await expect(login).rejects.toMatchObject({ code: 'UNAUTHORISED', check: 'user has changed' });
    expect(recorded).toEqual([]);
  });

  test('is refused in the same way for a wrong password, a blocked user and one without a usable hash', async () => {
    const refused = { code: 'UNAUTHORISED', check: 'login' };
    await expect(attempt('wrong')).rejects.toMatchObject(refused);
    user = { ...USER, isBlocked: true };
    await expect(attempt()).rejects.toMatchObject(refused);
    user = { ...USER, passwordHash: 'no login possible' };
    await expect(attempt()).rejects.toMatchObject(refused);
    expect(recorded).toEqual([]);
  });

  test('is refused after too many failures, even with the right password, whether the user exists or not', async () => {
    for (let made = 0; made < LIMITS.perUser; made++) await expect(attempt('wrong')).rejects.toThrow('UNAUTHORISED');
    const throttled = {
      quota: { name: 'logins-by-user', most: 3, windowSeconds: 1_800 },
      retryAfterSeconds: 1_234,
      code: 'TOO_MANY_LOGINS',
    };
    await expect(attempt()).rejects.toMatchObject(throttled);
    await expect(attempt()).rejects.toBeInstanceOf(Throttled);
    counted = new Map([[userSubject('unknown@shop.example'), LIMITS.perUser]]);
    await expect(attempt('wrong', 'unknown@shop.example')).rejects.toMatchObject(throttled);
  });

  test('a login that succeeds does not count as an attempt', async () => {
    for (let made = 0; made < 3 * LIMITS.perAddress; made++) await attempt();
    expect(recorded).toHaveLength(15);
    expect([...counted]).toEqual([['address 192.0.2.1', 0]]);
  });

  test('is refused after too many attempts from one address, for all users', async () => {
    counted.set('address 192.0.2.1', LIMITS.perAddress);
    await expect(attempt()).rejects.toMatchObject({ quota: { name: 'logins-by-address' }, code: 'TOO_MANY_LOGINS' });
    expect(counted.has(userSubject(USER.username))).toBe(false);
    await attempt(PASSWORD, USER.username, '192.0.2.2');
  });

  test('does not delay others after its address has used up its attempts: it is refused before the queue', async () => {
    counted.set('address 192.0.2.1', LIMITS.perAddress);
    await expect(attempt()).rejects.toBeInstanceOf(Throttled);
    const flood = Array.from({ length: 100 }, (_, made) => attempt('wrong', `user-${made}@shop.example`));
    const refused = flood.map((each) => expect(each).rejects.toMatchObject({ quota: { name: 'logins-by-address' } }));
    await attempt(PASSWORD, USER.username, '192.0.2.2');
    await Promise.all(refused);
    expect(counted.get('address 192.0.2.1')).toBe(LIMITS.perAddress + 1);
    nowMs += 5_000;
    counted.clear();
    await attempt();
  });

  test('is refused, uncounted, if too many wait for their turn', async () => {
    const crowd = Array.from({ length: 40 }, (_, at) => attempt(PASSWORD, USER.username, `192.0.2.${at}`));
    const outcomes = await Promise.allSettled(crowd);
    const away = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(away).toHaveLength(40 - 17);
    expect(away.every((reason) => reason instanceof Overloaded)).toBe(true);
    expect(recorded).toHaveLength(17);
    expect(counted.size).toBe(17);
  });
});

describe('the counter of attempts', () => {
  test.each([
    ['192.0.2.1', 'address 192.0.2.1'],
    ['::ffff:192.0.2.1', 'address 192.0.2.1'],
    ['2001:db8::1', 'address 2001:db8:0:0::/64'],
    ['2001:DB8:0:0:1:2:3:4', 'address 2001:db8:0:0::/64'],
    ['2001:db8:0:1::', 'address 2001:db8:0:1::/64'],
    ['::1', 'address 0:0:0:0::/64'],
    ['fe80::1%eth0', 'address fe80:0:0:0::/64'],
  ])('the counter of attempts of %s is that of %s', (ip, subject) => {
    expect(addressSubject(ip)).toBe(subject);
  });

  test('does not contain the typed user name', () => {
    expect(userSubject('my password, by mistake')).toMatch(/^user [\w-]{43}$/);
  });
});
