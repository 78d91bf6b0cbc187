import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { TapwireProcess } from '../../support/tapwire-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-demo-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const environment = (settings: NodeJS.ProcessEnv = {}) => ({
  DATABASE_URL: testDatabase.url,
  TAPWIRE_DATA: folder,
  PORT: '0',
  ...settings,
});
const demo = (settings: NodeJS.ProcessEnv) => TapwireProcess.run(['demo'], { environment: environment(settings) });

/** A folder with programs that open a browser: they write the address to a file. */
function browserIn(path: string): { readonly PATH: string; readonly opened: string } {
  const opened = join(path, 'opened');
  mkdirSync(join(path, 'bin'));
  for (const name of ['open', 'xdg-open'])
    writeFileSync(
      join(path, 'bin', name),
      `#!/bin/sh\nprintf %s "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`,
      { mode: 0o755 },
    );
  return { PATH: `${join(path, 'bin')}:${process.env.PATH}`, opened };
}

test('npm start takes taps through each type of switch, prints their paths on thirty lines, and opens a link', async () => {
  const { PATH, opened } = browserIn(folder);
  const staying = new TapwireProcess(['demo', '--open'], { environment: environment({ PATH }) });
  const link = /^(http:\S+)\/pay\/([0-9a-f-]{36})#(\S+)$/m;
  await eventually(() => expect(staying.output).toMatch(link));
  const [, base, reference, token] = link.exec(staying.output)!;
  expect((await fetch(`${base}/pay/${reference}`)).status).toBe(200);
  await eventually(() => expect(existsSync(opened)).toBe(true));
  expect(readFileSync(opened, 'utf8')).toBe(`${base}/pay/${reference}#${token}`);
  const state = await fetch(`${base}/pay/${reference}/state`, { headers: { authorization: `Bearer ${token}` } });
  expect(await state.json()).toMatchObject({ merchantName: 'Corner Coffee', amount: '50.05', expired: false });
  await staying.printed(/^ +npm run -s tapwire -- load$/m);
  const doctor = await TapwireProcess.run(['doctor'], { environment: environment() });
  expect(doctor.stdout).not.toContain('FAULT');
  expect(doctor.stdout).toMatch(
    /processor 3 of acquirer 1: 127\.0\.0\.1:\d+ accepts connections, the gateway is signed on/,
  );
  expect(doctor.exitCode).toBe(0);
  await expectSecondToBeRefused(staying);
  const { exitCode, stdout, stderr } = await staying.kill('SIGINT');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const rows = stdout.split('\n').filter((line) => line.startsWith('tap '));
  expect(rows.every((row) => row.endsWith('ok'))).toBe(true);
  expect(rows.some((row) => /Visa +Approved 00 +type-1/.test(row))).toBe(true);
  expect(rows.some((row) => /Mastercard +Approved 00 +type-2/.test(row))).toBe(true);
  expect(rows.some((row) => /Amex +Declined 51 +type-1993/.test(row))).toBe(true);
  expect(stdout.split('\n').length).toBeLessThan(32);
  expect(stdout).not.toMatch(/PRIVATE KEY|tw_test_/);
});

/** A second demo would point the processors of the database at its own switches. */
async function expectSecondToBeRefused(running: TapwireProcess): Promise<void> {
  const [, url] = /gateway +(http:\S+)/.exec(running.output)!;
  const stateOf = async () => ({
    profile: readFileSync(join(folder, 'demo.json'), 'utf8'),
    processors: (await testDatabase.database.query('select * from processors order by id')).rows,
  });
  const before = await stateOf();
  const second = await demo({});
  expect(second).toMatchObject({ exitCode: 1, stdout: '' });
  expect(second.stderr).toBe(
    `tapwire: Tapwire is already running at ${url}, pid ${running.pid}. Stop it with Ctrl-C or kill ${running.pid}, ` +
      'or set DATABASE_URL to another database to run a second installation.\n',
  );
  expect(await stateOf()).toEqual(before);
}

test('it ends with 1, and states what it expected, if a tap takes another path', async () => {
  const { keys } = JSON.parse(readFileSync(join(folder, 'hsm-keys.json'), 'utf8')) as { keys: { keyId: string }[] };
  const strange = keys.map((each) =>
    each.keyId === 'type-2-mac' ? { ...each, key: '0123456789ABCDEFFEDCBA9876543210' } : each,
  );
  const HSM_KEYS_FILE = join(folder, 'strange-keys.json');
  writeFileSync(HSM_KEYS_FILE, JSON.stringify({ keys: strange }));
  const { exitCode, stdout, stderr } = await demo({ HSM_KEYS_FILE }); // the connection of type 2 does not become ready
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
  expect(stdout).toMatch(/Mastercard +Approved 00 +type-1 .*EXPECTED Approved 00 type-2/);
});
