import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { socketDirectoryOf, startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';

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
