import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PostgresDirectory } from '../../../src/store/directory/directory.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** The database notes each change of what processes keep in memory, so that they need not compare whole tables. */
const OF_THE_DIRECTORY = ['directory.ts', 'issuer-directory.ts'];
const EVERY_MS = 10;

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  ({ database } = testDatabase);
  await database.query(`
    insert into acquirers (id, name) values (1, 'a');
    insert into integrators (acquirer_id, id, name) values (1, 10, 'i');
    insert into merchants (acquirer_id, id, integrator_id, name, country, mcc, currency, time_zone)
      values (1, '1001', 10, 'm', 'ZA', '5814', 'ZAR', 'UTC');
    insert into terminals (acquirer_id, x_tid, tid, mid, can_take_pin) values (1, 'T1', 'TW000001', 'SHOP1', true);
    insert into users (acquirer_id, id, integrator_id, username, password_hash, role) values (1, gen_random_uuid(), 10, 'u', 'x', 'viewer')`);
});
afterAll(() => testDatabase.drop());

async function isNoted(statement: string): Promise<boolean> {
  const count = async () => (await database.query('select count(*)::int as notes from settings_changes')).rows[0].notes;
  const before = await count();
  await database.query(statement);
  return (await count()) > before;
}

test('each table that the directory reads notes its changes', async () => {
  const sources = OF_THE_DIRECTORY.map((name) =>
    readFileSync(new URL(`../../../src/store/directory/${name}`, import.meta.url), 'utf8'),
  );
  const read = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/\b(?:from|join) ([a-z_]+)(?= |\n|`|')/g)].map(([, name]) => name!),
    ),
  );
  const { rows: tables } = await database.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const followed = tables.map(({ name }) => name).filter((name) => read.has(name) && name !== 'settings_changes');
  expect(followed).toContain('merchants');
  const { rows } = await database.query<{ name: string }>(
    `select tgrelid::regclass::text as name from pg_trigger where tgname = tgrelid::regclass || '_noted'`,
  );
  const noting = new Set(rows.map(({ name }) => name));
  expect(followed.filter((name) => !noting.has(name))).toEqual([]);
});

test.each([
  [`update terminals set can_take_pin = false`, true],
  [`update merchants set name = 'n' where false`, true],
  [`update users set is_blocked = true`, true],
  ['update users set last_login_at = now()', false],
  [`insert into blocked_devices (acquirer_id, device_installation_id) values (1, 'd')`, true],
  ['delete from blocked_devices', true],
  [`insert into lost_window (lost_from, lost_until, cause) select now(), now(), 'replaced' where false`, false],
  [`insert into lost_window (lost_from, lost_until, cause) values (now(), now(), 'replaced')`, true],
  ['delete from lost_window', true],
])('a statement is noted only if it changes a setting: %s, %s', async (statement, noted) => {
  expect(await isNoted(statement)).toBe(noted);
});

/** Counts the statements of a directory. */
function counted(): { readonly texts: string[]; readonly counting: Database } {
  const texts: string[] = [];
  const counting = new Proxy(database, {
    get(target, name) {
      if (name !== 'query') return Reflect.get(target, name, target);
      return (query: string | { text: string }, values?: unknown[]) => {
        texts.push(typeof query === 'string' ? query : query.text);
        return target.query(query as string, values);
      };
    },
  });
  return { texts, counting };
}

test('tables are compared only after a change, which is seen in every order of commits', async () => {
  const { texts, counting } = counted();
  const directory = await PostgresDirectory.open(counting, EVERY_MS);
  const earlier = await database.connect();
  try {
    texts.length = 0;
    await eventually(() => expect(texts.length).toBeGreaterThan(20));
    expect(texts.filter((text) => !text.includes('settings_changes'))).toEqual([]);

    await earlier.query('begin');
    await earlier.query(`update terminals set tid = 'TW000002'`); // its note has the lower id
    await database.query(`update merchants set name = 'later'`);
    await eventually(() => expect(directory.merchant(1, '1001')?.name).toBe('later'));
    await sleep(5 * EVERY_MS);
    await earlier.query('commit');
    await eventually(() =>
      expect(directory.terminal({ acquirerId: 1, merchantId: '1001' }, 'T1')?.tid).toBe('TW000002'),
    );
  } finally {
    earlier.release();
    await directory.close();
  }
});

test('a change without a note is seen when the tables are compared anyway', async () => {
  const directory = await PostgresDirectory.open(database, EVERY_MS, 5 * EVERY_MS);
  const silent = await database.connect();
  try {
    await silent.query(`set session_replication_role = replica; update merchants set name = 'silent'`);
    await eventually(() => expect(directory.merchant(1, '1001')?.name).toBe('silent'));
  } finally {
    silent.release(true);
    await directory.close();
  }
});
