import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { socketDirectoryOf, startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';
import { openDatabase } from '../../../src/store/postgres/open-database.ts';

let folder: string;
let socketFolder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-embedded-'));
  socketFolder = socketDirectoryOf(resolve(join(folder, 'postgres')));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(socketFolder, { recursive: true, force: true });
});

const start = () => startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false });

test('the embedded Postgres refuses a folder for its socket that other users may enter', async () => {
  mkdirSync(socketFolder);
  chmodSync(socketFolder, 0o777);
  await expect(start()).rejects.toMatchObject({
    code: 'NO_DATABASE',
    message: expect.stringMatching(/with mode 777, so other users could read the database.* Remove it/),
  });
});

test('the embedded Postgres refuses a link instead of a folder for its socket', async () => {
  const elsewhere = join(folder, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, socketFolder);
  await expect(start()).rejects.toMatchObject({ code: 'NO_DATABASE' });
});

test('the embedded Postgres wants the random password of a private file on each connection', async () => {
  chmodSync(folder, 0o755); // the cluster's account must be able to pass through
  const { url, stop } = await start();
  try {
    const file = join(folder, 'postgres', 'tapwire.password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(new URL(url).password).toBe(readFileSync(file, 'utf8'));
    const database = await openDatabase(url);
    const { rows } = await database.query('select auth_method as method from pg_hba_file_rules group by 1');
    await database.end();
    expect(rows).toEqual([{ method: 'scram-sha-256' }]);
    const guessed = new URL(url);
    for (const password of ['', 'tapwire']) {
      guessed.password = password;
      await expect(openDatabase(guessed.href)).rejects.toThrow();
    }
  } finally {
    await stop();
  }
});

/** As an older version left it: its rules trust each connection, and its user has no password. */
async function makeTrustingCluster(): Promise<void> {
  chmodSync(folder, 0o755);
  const { url, stop } = await start();
  const database = await openDatabase(url);
  await database.query('create table kept (value text)');
  await database.query('alter role tapwire password null');
  await database.end();
  await stop();
  writeRules((rules) => rules.replaceAll('scram-sha-256', 'trust'));
  rmSync(join(folder, 'postgres', 'tapwire.password'));
}

function writeRules(change: (rules: string) => string): void {
  const file = join(folder, 'postgres', 'pg_hba.conf');
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}

async function expectPassword(url: string): Promise<void> {
  const file = join(folder, 'postgres', 'tapwire.password');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(new URL(url).password).toBe(readFileSync(file, 'utf8'));
  const database = await openDatabase(url);
  const { rows } = await database.query('select auth_method as method from pg_hba_file_rules group by 1');
  const kept = await database.query('select from kept');
  await database.end();
  expect(rows).toEqual([{ method: 'scram-sha-256' }]);
  expect(kept.rowCount).toBe(0);
  const guessed = new URL(url);
  guessed.password = '';
  await expect(openDatabase(guessed.href)).rejects.toThrow();
}

test('a cluster of an older version that trusts each connection wants a password from its next start', async () => {
  await makeTrustingCluster();
  for (let starts = 0; starts < 2; starts++) {
    const { url, stop } = await start();
    try {
      await expectPassword(url);
    } finally {
      await stop();
    }
  }
});

test('a start that was killed between the password and the rules is completed', async () => {
  await makeTrustingCluster();
  await (await start()).stop();
  writeRules(
    (rules) => `${rules.replaceAll('scram-sha-256', 'trust')}\n# local all all trust\nlocal all all trust # own\n`,
  );
  const { url, stop } = await start();
  try {
    await expectPassword(url);
    expect(readFileSync(join(folder, 'postgres', 'pg_hba.conf'), 'utf8')).toMatch(
      /# local all all trust\nlocal all all scram-sha-256 # own\n$/,
    );
  } finally {
    await stop();
  }
});
