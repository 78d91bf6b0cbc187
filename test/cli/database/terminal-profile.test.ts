import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commands as runCommands } from '../../../src/cli/terminal-profile.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const run = runnerOf(runCommands);

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await saveAcquirer(testDatabase.database, 1, 'Acquirer 1');
  folder = mkdtempSync(join(tmpdir(), 'tapwire-cli-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

function profile(action: string, ...words: string[]) {
  return runHere(run, [action, '--acquirer', '1', ...words], { DATABASE_URL: testDatabase.url });
}

function file(content: object): string {
  const path = join(folder, 'profile.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const VISA = { aid: 'A0000000031010', kernelID: '03' };

test('a terminal profile is added, shown, listed, changed and removed from the command line', async () => {
  const simple = { name: 'retail', configList: [{ ...VISA, config: [{ transactionType: '00', countryCode: 'ZA' }] }] };
  const added = await profile('add', '--file', file(simple));
  expect(added).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^retail +any +A0000000031010 +\S+Z$/m) });
  expect((await profile('list')).stdout).toBe(added.stdout);

  const changed = await profile('change', '--file', file({ terminalCurrencyCode: 'ZAR' }), 'retail');
  expect(changed.stdout).toMatch(/^retail +710 +A0000000031010 +/m);
  const shown = JSON.parse((await profile('show', 'retail')).stdout);
  const tlvDatabase = [{ tag: '9F1A', value: '0710' }];
  const overrides = [{ ...VISA, transactionTypeConfigs: [{ transactionType: '00', tlvDatabase }] }];
  expect(shown).toMatchObject({ name: 'retail', terminalCurrencyCode: '710', overrides });
  expect(JSON.parse((await profile('list', '--json')).stdout)).toEqual([shown]);

  expect(await profile('remove', 'retail')).toMatchObject({ exitCode: 0 });
  expect(await profile('show', 'retail')).toMatchObject({ exitCode: 1 });
  const { rows } = await testDatabase.database.query(
    `select action from admin_events where actor like 'cli %' order by id`,
  );
  expect(rows.map(({ action }) => action)).toEqual(['add', 'change', 'remove']);
});

test.each([
  ['no file', ['add'], '--file'],
  ['a file that is not there', ['add', '--file', '/nowhere.json'], 'There is no such file'],
  ['no profile', ['change', '--file', '-'], 'PROFILE'],
])('%s is reported in one line', async (_what, [action, ...words], message) => {
  const { exitCode, stderr } = await profile(action!, ...words);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
});

test('an invalid body is reported with the position of the fault', async () => {
  const { exitCode, stderr } = await profile('add', '--file', file({ name: 'bad', terminalCurrencyCode: 'ZZZ' }));
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('/terminalCurrencyCode') });
});
