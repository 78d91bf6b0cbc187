import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';
import { openDatabase } from '../../../src/store/postgres/open-database.ts';
import { ROOT } from '../../style/source-files.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
let directory: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-killed-'));
  chmodSync(folder, 0o755); // the cluster's account must be able to pass through
  directory = join(folder, 'postgres');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Starts the database of this folder in another process, and kills that with all that it runs when `isTime`. */
async function killWhen(isTime: () => boolean): Promise<void> {
  const script = `const { startEmbeddedPostgres } = await import('${ROOT}/src/store/postgres/embedded-postgres.ts');
    await startEmbeddedPostgres({ directory: '${directory}' }); setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { detached: true, stdio: 'ignore' });
  const ended = once(child, 'exit');
  try {
    while (!isTime()) await new Promise(setImmediate);
  } finally {
    process.kill(-child.pid!, 'SIGKILL');
  }
  await ended;
}

/** Whether a file exists anywhere below the folder. */
const hasFile = (name: string) =>
  readdirSync(folder, { recursive: true }).some((path) => path.toString().endsWith(`/${name}`));

/** Of the server; 0 while it has not written it. */
function pidOf(cluster: string): number {
  const file = join(cluster, 'postmaster.pid');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || 0 : 0;
}

async function expectToStart(): Promise<void> {
  const { url, stop } = await startEmbeddedPostgres({ directory, durable: false });
  const database = await openDatabase(url);
  expect((await database.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await database.end();
  await stop();
  expect(readdirSync(folder)).toEqual(['postgres']);
}

test('a process that is killed while it creates its database leaves nothing that prevents the next start', async () => {
  await killWhen(() => hasFile('PG_VERSION'));
  await expectToStart();
});

test('a process that is killed while it starts its database leaves no server behind', async () => {
  let pid = 0;
  await killWhen(() => {
    // initdb has such a file, too, and removes it.
    if (existsSync(join(directory, 'server.log'))) pid = pidOf(directory);
    return pid > 0;
  });
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  await expectToStart();
});

test('a process that starts while the server of a killed one still stops waits for its end', async () => {
  // The server writes what is in its memory before it ends.
  const fill = `create table filled as select repeat(md5(g::text), 20) from generate_series(1, 300000) g`;
  const script = `const { startEmbeddedPostgres } = await import('${ROOT}/src/store/postgres/embedded-postgres.ts');
    const { openDatabase } = await import('${ROOT}/src/store/postgres/open-database.ts');
    const { url } = await startEmbeddedPostgres({ directory: '${directory}' });
    await (await openDatabase(url)).query("${fill}");
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  const lock = join(directory, 'postmaster.pid');
  await eventually(() => expect(existsSync(lock) ? readFileSync(lock, 'utf8') : 'stopping').toContain('stopping'));
  await expectToStart();
});
