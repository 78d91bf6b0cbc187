import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';
import { inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { type Database, openAlike, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import { makeMemoryFolder } from '../../support/memory-folder.ts';

/** A server whose synchronous standby has failed: COMMIT waits for it, for ever unless the wait is cancelled. */
let folder: string;
let server: EmbeddedPostgres;
let database: Database;
/** Writes nothing, so it needs no standby. */
let operator: Database;
beforeAll(async () => {
  folder = makeMemoryFolder('tapwire-standby-');
  const start = () => startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false });
  server = await start();
  const before = await openDatabase(server.url);
  await before.query('create table written (n integer)');
  await before.query(`alter system set synchronous_standby_names = 'failed'`);
  await before.end();
  await server.stop();
  // After a reload, commits wait only from the moment at which the checkpointer has read the setting.
  server = await start();
  operator = await openDatabase(server.url);
  database = await openDatabase(server.url);
});
afterAll(async () => {
  await database.end();
  await operator.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The process of the commit that waits for the standby. */
async function waitingProcess(): Promise<number> {
  return eventually(async () => {
    const { rows } = await operator.query<{ pid: number }>(
      `select pid from pg_stat_activity where wait_event = 'SyncRep'`,
    );
    expect(rows.length).toBe(1);
    return rows[0]!.pid;
  });
}

function write(n: number, isSealed: boolean): Promise<void> {
  return inTransaction(database, async (client, seal) => {
    const written = client.query('insert into written values ($1)', [n]);
    if (isSealed) seal();
    await written;
  });
}

test.each([
  { how: 'sent with its statements', isSealed: true },
  { how: 'sent after them', isSealed: false },
])('a commit $how that no standby has may be stored, and is not reported as done', async ({ isSealed }) => {
  const outcome = write(Number(isSealed), isSealed).catch((error: unknown) => error);
  await operator.query('select pg_cancel_backend($1)', [await waitingProcess()]);
  const fault = await outcome;
  expect(fault).toBeInstanceOf(StoreUnavailable);
  expect(fault).toMatchObject({ mayBeStored: true });
  const { rows } = await operator.query('select from written where n = $1', [Number(isSealed)]);
  expect(rows.length).toBe(1);
});

test('such a commit does not affect the next transaction on the connection', async () => {
  const works = await inTransaction(database, async (client) => {
    await client.query('set local synchronous_commit = local');
    await client.query('insert into written values (3)');
    return 'stored';
  });
  expect(works).toBe('stored');
});

test('a connection to a server that has become read-only is not used again', async () => {
  const one = openAlike(operator, { maxConnections: 1 });
  const insert = () => inTransaction(one, (client) => client.query('insert into written values (4)'));
  try {
    await one.query('set default_transaction_read_only = on');
    await expect(insert()).rejects.toMatchObject({ mayBeStored: false });
    await one.query('set synchronous_commit = local');
    await insert();
  } finally {
    await one.end();
  }
});
