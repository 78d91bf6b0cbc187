import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPE_NAMES } from '../../../schemas/scopes.ts';
import { apiKey as apiKeyCommands } from '../../../src/cli/credentials.ts';
import { run } from '../../../src/cli/init.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const apiKey = runnerOf(apiKeyCommands);

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-init-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const init = (...words: string[]) =>
  runHere(run, words, { DATABASE_URL: testDatabase.url, TAPWIRE_DATA: join(folder, 'data') });
const keyRing = () => join(folder, 'data', 'keys.json');

test('makes the keys of the installation and prints only the operator’s key, once', async () => {
  const { exitCode, stdout, stderr } = await init();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^tw_test_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
  expect(stderr).toContain(keyRing());
  expect(statSync(keyRing()).mode & 0o777).toBe(0o600);
  const { rows } = await testDatabase.database.query('select * from api_keys');
  expect(rows).toMatchObject([{ id: stdout.split('_')[2], acquirer_id: null, scopes: SCOPE_NAMES }]);
  expect(JSON.stringify(rows)).not.toContain(stdout.trim().split('_')[3]);
});

test('makes a second key only if requested, and then leaves the installation’s keys unchanged', async () => {
  const before = readFileSync(keyRing(), 'utf8');
  const refused = await init();
  expect(refused).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('--another-key') });
  rmSync(keyRing());
  const another = await init('--another-key');
  expect(another).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^tw_test_/) });
  expect(existsSync(keyRing()), 'fresh keys beside a database in use').toBe(false);
  expect(before).toContain('panSealing');
  expect((await testDatabase.database.query('select from api_keys')).rowCount).toBe(2);
});

test('the operator’s keys are listed and revoked, with admin events', async () => {
  const environment = { DATABASE_URL: testDatabase.url };
  const listed = await runHere(apiKey, ['list', '--operator', '--json'], environment);
  const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }];
  expect(await runHere(apiKey, ['revoke', '--operator', id], environment)).toMatchObject({ exitCode: 0 });
  expect(await runHere(apiKey, ['revoke', '--operator', id], environment)).toMatchObject({ exitCode: 1 });
  const { stdout } = await runHere(apiKey, ['list', '--operator'], environment);
  expect(stdout).toMatch(new RegExp(`^${id} .* revoked$`, 'm'));
  const { rows } = await testDatabase.database.query(
    'select acquirer_id, action, kind from admin_events where subject_id = $1 order by id',
    [id],
  );
  const event = { acquirer_id: 0, kind: 'api key' };
  expect(rows).toEqual([
    { ...event, action: 'add' },
    { ...event, action: 'remove' },
  ]);
});
