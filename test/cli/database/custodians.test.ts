import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newUser } from '#schemas/admin-credentials';
import { createSecondFactors, createTotpSecret, totpCode } from '../../../src/auth/totp/second-factor.ts';
import { type CheckCustodian, createCustodianCheck } from '../../../src/cli/hsm/ceremony/type-component.ts';
import { readConfig } from '../../../src/start/config.ts';
import { type OpenedKeyRing, openKeyRing } from '../../../src/start/open-key-ring.ts';
import { UserTotp } from '../../../src/store/credentials/user-totp.ts';
import { UserSettings } from '../../../src/store/settings/credential-settings.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const PASSWORD = 'correct horse battery staple';
const STEP_MS = 30_000;

let testDatabase: TestDatabase;
let folder: string;
let ring: OpenedKeyRing;
const secret = createTotpSecret();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  for (const id of [1, 2]) await saveAcquirer(database, id, `Acquirer ${id}`);
  folder = mkdtempSync(join(tmpdir(), 'tapwire-custodians-'));
  ring = await openKeyRing(readConfig({ TAPWIRE_DATA: folder }));
  const users = new UserSettings(database);
  const add = async (username: string, acquirerId: number, role: 'viewer' | 'operator') => {
    const given = newUser.parse({ username, role, password: PASSWORD });
    const { stored } = await users.add({ acquirerId, actor: 'test' }, given);
    return stored.id;
  };
  await add('installation', 0, 'operator');
  await add('first', 1, 'operator');
  await add('second', 2, 'operator');
  await add('viewer', 1, 'viewer');
  const id = await add('coded', 1, 'operator');
  const totp = new UserTotp(database);
  const pending = createSecondFactors(ring, () => Date.now()).seal(id, Buffer.from(secret)); // which it wipes
  await totp.begin({ acquirerId: 1, userId: id }, pending);
  await totp.confirm({ acquirerId: 1, userId: id }, { pending, step: 0, recoveryHashes: [] }, 'test');
});
afterAll(async () => {
  ring.close();
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

/** The check for a key of acquirer 1. */
function checkWith(settings: NodeJS.ProcessEnv = {}): CheckCustodian {
  const config = readConfig({ TAPWIRE_DATA: folder, LOGIN_TRIES_PER_ADDRESS: '100', ...settings });
  return createCustodianCheck(config, testDatabase.database, ring, 1);
}

const resultOf = (username: string, { password = PASSWORD, code = '', check = checkWith() } = {}) =>
  check({ username, password, code }).then(
    (user) => user.username,
    ({ message }: Error) => message,
  );

test('operators of the owner of the key and of the installation are custodians', async () => {
  expect(await resultOf('first')).toBe('first');
  expect(await resultOf('installation')).toBe('installation');
});

test.each([
  ['another acquirer', 'second', {}, /A custodian is an operator/],
  ['a viewer', 'viewer', {}, /A custodian is an operator/],
  ['a wrong password', 'first', { password: 'wrong' }, /The login is not accepted/],
  ['an unknown name', 'unknown', {}, /The login is not accepted/],
  ['a missing one-time code', 'coded', {}, /The login is not accepted/],
])('%s is refused', async (_what, username, login, reason) => {
  expect(await resultOf(username, login)).toMatch(reason);
});

test('a one-time code is required of a user who has them, and counts once', async () => {
  const code = totpCode(secret, Math.floor(Date.now() / STEP_MS));
  expect(await resultOf('coded', { code })).toBe('coded');
  expect(await resultOf('coded', { code })).toMatch(/The login is not accepted/);
});

test('a custodian needs a one-time code if the console requires them', async () => {
  const check = checkWith({ CONSOLE_NEEDS_TOTP: 'true' });
  expect(await resultOf('first', { check })).toMatch(/Set up one-time codes/);
});
