import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import { GroupCommit, inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { type Database, HeldClients, inLongSession, openPool } from '../../../src/store/postgres/open-database.ts';
import {
  SESSION_LIMITS,
  type SessionLimits,
  serverSettings,
  TCP_SETTINGS,
} from '../../../src/store/postgres/session-limits.ts';
import { DatabaseRelay } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Long enough for a very busy machine, short enough for a test to wait. */
const LIMITS: SessionLimits = { ...SESSION_LIMITS.tap, heldMs: 1_500 };

let testDatabase: TestDatabase;
let relay: DatabaseRelay;
const opened: Database[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await testDatabase.database.query('create table kept (key text primary key)');
  relay = await DatabaseRelay.open(testDatabase.url);
});
afterEach(async () => {
  for (const pool of opened.splice(0)) await pool.end();
});
afterAll(async () => {
  await relay.close();
  await testDatabase.drop();
});

function poolBehindRelay(limits = LIMITS, maxConnections = 4): Database {
  const pool = openPool(relay.url, { limits, maxConnections });
  opened.push(pool);
  return pool;
}

async function keys(): Promise<string[]> {
  const { rows } = await testDatabase.database.query<{ key: string }>('select key from kept order by key');
  return rows.map(({ key }) => key);
}

describe('a connection that goes silent', () => {
  test('fails its statement after the limit, and the next statement has a fresh one', async () => {
    const pool = poolBehindRelay();
    await pool.query('select 1');
    expect(relay.silence()).toBe(1);
    await expect(pool.query('select 2')).rejects.toThrow('Connection terminated');
    expect((await pool.query('select 3 as three')).rows).toEqual([{ three: 3 }]);
  });

  test('a connection that goes silent also removes the idle connections that have received nothing since', async () => {
    const pool = poolBehindRelay();
    const clients = await Promise.all([1, 2, 3, 4].map(() => pool.connect()));
    for (const client of clients) client.release();
    expect(relay.silence()).toBe(4);
    await expect(pool.query('select 1')).rejects.toThrow('Connection terminated');
    await eventually(() => expect(pool.totalCount).toBe(0));
    await pool.query('select 2');
  });

  test('a connection that goes silent in a pool that has no other delays its successor by no more than the limit', async () => {
    const pool = poolBehindRelay(LIMITS, 1);
    await pool.query('select 1');
    relay.silence();
    const stuck = pool.query('select 2');
    const next = pool.query('select 3 as three');
    await expect(stuck).rejects.toThrow('Connection terminated');
    expect((await next).rows).toEqual([{ three: 3 }]);
  });

  test('a connection that goes silent before COMMIT has stored nothing, and the caller learns that', async () => {
    const pool = poolBehindRelay();
    const write = inTransaction(pool, async (client) => {
      await client.query(`insert into kept values ('before')`);
      relay.silence();
      await client.query('select 1');
    });
    const error = await write.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error).toMatchObject({ mayBeStored: false });
    expect(await keys()).not.toContain('before');
  });

  test('a connection that goes silent at COMMIT may have stored everything, and the caller learns that', async () => {
    const pool = poolBehindRelay();
    const write = inTransaction(pool, async (client) => {
      await client.query(`insert into kept values ('at')`);
      relay.silence();
    });
    await expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', mayBeStored: true });
  });

  test('delays the writes behind its batch by no more than the limit', async () => {
    const pool = poolBehindRelay();
    const commits = new GroupCommit<string, true>(pool, {
      keyOf: (key) => key,
      write: async (client, batch) => {
        await client.query('insert into kept select unnest($1::text[])', [batch]);
        return batch.map(() => true as const);
      },
    });
    await commits.submit('first');
    relay.silence();
    const stuck = commits.submit('stuck');
    await new Promise((resolve) => setImmediate(resolve)); // its batch was sent
    await new Promise((resolve) => setImmediate(resolve));
    const behind = commits.submit('behind');
    const settled = await Promise.allSettled([stuck, behind]);
    expect(settled[0]).toMatchObject({ status: 'rejected', reason: { mayBeStored: false } });
    await eventually(async () => {
      await commits.submit('later');
      expect(await keys()).toContain('later');
    });
  });

  test('does not keep a pool from ending', async () => {
    const pool = openPool(relay.url, { limits: LIMITS });
    await pool.query('select 1');
    relay.silence();
    await pool.end();
  });
});

describe('a process that was frozen', () => {
  test('reads what has arrived meanwhile before it considers a connection lost', () => {
    let nowMs = 0;
    let destroyed = 0;
    const client = { connection: { stream: { destroy: () => destroyed++ } } } as never;
    const held = new HeldClients(1_000, () => nowMs);
    held.taken(client);
    nowMs = 60_000;
    held.look();
    expect(destroyed).toBe(0);
    held.noteReleased(client); // the response had arrived
    held.look();
    expect(destroyed).toBe(0);
    held.taken(client);
    nowMs += 1_001;
    held.look();
    held.look();
    expect(destroyed).toBe(1);
  });
});

describe('the limits of a session', () => {
  test('are set in the session, as far as the server supports them', async () => {
    const pool = openPool(testDatabase.url, { limits: SESSION_LIMITS.tap });
    opened.push(pool);
    const wanted = serverSettings(SESSION_LIMITS.tap);
    const { rows } = await pool.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1)',
      [Object.keys(wanted)],
    );
    // The tests' server uses a Unix socket, which has no TCP settings.
    const onSocket = { ...wanted, ...Object.fromEntries(Object.keys(TCP_SETTINGS).map((name) => [name, 0])) };
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))).toEqual(onSocket);
  });

  test('end the transaction that a dead client left, and release its locks', async () => {
    const dead = poolBehindRelay({ ...SESSION_LIMITS.tap, idleInTransactionMs: 500 });
    await testDatabase.database.query(`insert into kept values ('locked')`);
    const client = await dead.connect();
    client.on('error', () => {});
    await client.query('begin');
    await client.query(`select from kept where key = 'locked' for update`);
    relay.silence(); // its host has lost power
    const { rowCount } = await testDatabase.database.query(`delete from kept where key = 'locked'`);
    expect(rowCount).toBe(1);
    client.release(true);
  });

  test('limit how long a statement waits for a lock', async () => {
    const holder = await testDatabase.database.connect();
    const pool = openPool(testDatabase.url, { limits: { ...SESSION_LIMITS.tap, lockMs: 200 } });
    opened.push(pool);
    try {
      await holder.query('begin; lock table kept');
      const write = inTransaction(pool, (client) => client.query(`insert into kept values ('waits')`));
      await expect(write).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        mayBeStored: false,
        cause: { code: '55P03' },
      });
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });

  test('differ for long work, and only for that', async () => {
    const pool = openPool(testDatabase.url, {
      limits: { ...SESSION_LIMITS.tap, statementMs: 100, heldMs: 300 },
      maxConnections: 1,
    });
    opened.push(pool);
    await expect(pool.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
    await inLongSession(pool, SESSION_LIMITS.migration, (client) => client.query('select pg_sleep(1)'));
    await expect(pool.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
  });
});
