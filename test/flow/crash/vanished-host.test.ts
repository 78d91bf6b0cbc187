import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import { FarHost } from './far-host.ts';

const host = FarHost.open();
let folder: string;
let postgres: EmbeddedPostgres;
let database: Database;
let holder: ChildProcess;
beforeAll(async () => {
  if (!host) return;
  folder = mkdtempSync(join(tmpdir(), 'tapwire-vanished-'));
  chmodSync(folder, 0o755); // the cluster's account must be able to pass through
  const directory = join(folder, 'postgres');
  postgres = await startEmbeddedPostgres({ directory, durable: false, listenOn: host.ourAddress });
  database = await openDatabase(postgres.url);
  appendFileSync(join(directory, 'pg_hba.conf'), `host all all ${host.address}/32 trust\n`);
  await database.query('select pg_reload_conf()');
  await database.query('create table held as select 1 as row');
});
afterAll(async () => {
  if (!host) return;
  holder?.kill('SIGKILL');
  await database?.end();
  await postgres?.stop();
  host.close();
  rmSync(folder, { recursive: true, force: true });
});

async function sessions(): Promise<{ state: string }[]> {
  const { rows } = await database.query('select state from pg_stat_activity where client_addr = $1 order by state', [
    host!.address,
  ]);
  return rows;
}

test('the server ends the sessions of a gateway whose host has lost power, and frees their locks', async (context) => {
  if (!host) return context.skip('a network namespace cannot be made here: that needs root and iproute2');
  const url = `postgres://tapwire@${host.ourAddress}/tapwire`;
  const script = fileURLToPath(new URL('./hold-sessions.ts', import.meta.url));
  const [program, args] = host.command(process.execPath, [script, url]);
  holder = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout!, 'data');
  expect(await sessions()).toMatchObject([{ state: 'idle' }, { state: 'idle' }, { state: 'idle in transaction' }]);

  host.losePower();
  await database.query('notify held'); // bytes for a session that does not acknowledge them
  // Nothing is sent to them and they wait for nothing: only keep-alives show that their client has ended. By TCP's
  // default that takes two hours.
  await eventually(async () => expect(await sessions()).toEqual([]));
  await database.query('update held set row = 2');
});
