import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
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
