import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChainCheck, type ChainHead } from '../../src/observe/audit-chain.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { recordChange } from '../../src/store/settings/admin-commit.ts';
import { chainedEvents } from '../../src/store/settings/admin-events.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const ACQUIRERS = [0, 1, 2];
const EACH = 8;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  // Many connections at once, each with a few events of several acquirers.
  await Promise.all(
    Array.from({ length: EACH }, async (_, index) => {
      for (const acquirerId of ACQUIRERS) await add(acquirerId, index);
    }),
  );
});
afterAll(() => testDatabase.drop());

function add(acquirerId: number, index: number): Promise<void> {
  return inTransaction(testDatabase.database, (client) =>
    recordChange(
      client,
      { acquirerId, actor: `cli user-${index}@host` },
      {
        action: 'change',
        kind: 'merchant',
        id: index,
        before: { name: 'Bäckerei | 1:2' },
        after: { name: 'a', n: [1.5, null] },
      },
    ),
  );
}

/** Does something to the table that its triggers refuse, looks at the chains, and undoes it. */
async function verifyAfter(text: string, values: unknown[] = [], earlier: readonly ChainHead[] = []) {
  const undone = new Error('undone');
  let check: ChainCheck | undefined;
  await inTransaction(testDatabase.database, async (client) => {
    await client.query('set local session_replication_role = replica');
    await client.query(text, values);
    check = await checked(client, earlier);
    throw undone;
  }).catch((error) => {
    if (error !== undone) throw error;
  });
  return check!;
}

async function checked(client: Pick<pg.ClientBase, 'query'>, earlier: readonly ChainHead[] = []): Promise<ChainCheck> {
  const check = new ChainCheck(earlier);
  for await (const event of chainedEvents(client as never)) check.take(event);
  check.end();
  return check;
}

const where = 'where acquirer_id = $1 and chain_number = $2';
const places = ACQUIRERS.flatMap((acquirerId) =>
  Array.from({ length: EACH }, (_, index) => [acquirerId, index + 1] as const),
);

test('events that many connections add at once form one chain for each acquirer', async () => {
  const { faults, heads } = await checked(testDatabase.database);
  expect(faults).toEqual([]);
  expect(heads).toMatchObject(ACQUIRERS.map((acquirerId) => ({ acquirerId, number: EACH })));
});

describe.each([
  ['at', `at + interval '1 microsecond'`],
  ['actor', `actor || ' '`],
  ['action', `'add'`],
  ['kind', `'route'`],
  ['subject_id', `'77'`],
  ['before', 'null'],
  ['after', `'{"name": "b"}'`],
  ['previous_at', `coalesce(previous_at, now()) - interval '8 years'`],
  ['previous_hash', `sha256('other')`],
  ['hash', `sha256('other')`],
])('a changed column %s', (column, value) => {
  test('is found in each event', async () => {
    for (const place of places) {
      const { faults } = await verifyAfter(`update admin_events set ${column} = ${value} ${where}`, [...place]);
      const [acquirerId, number] = place;
      expect(faults).toContainEqual({ acquirerId, number, kind: 'changed' });
    }
  });
});

test('a missing event is found, the last one with an earlier head', async () => {
  const { heads } = await checked(testDatabase.database);
  for (const [acquirerId, number] of places) {
    const { faults } = await verifyAfter(`delete from admin_events ${where}`, [acquirerId, number], heads);
    expect(faults).toEqual([{ acquirerId, number: number === EACH ? EACH : number + 1, kind: 'missing' }]);
  }
  const { faults } = await verifyAfter('delete from admin_events where acquirer_id = 2', [], heads);
  expect(faults).toEqual([{ acquirerId: 2, number: EACH, kind: 'missing' }]);
});

test('a chain that was written again with fitting hashes differs from an earlier head', async () => {
  const { heads } = await checked(testDatabase.database);
  const rewrite = `do $$
    declare event admin_events; last admin_events;
    begin
      update admin_events set actor = 'another person' where acquirer_id = 1 and chain_number = 3;
      for event in select * from admin_events where acquirer_id = 1 order by chain_number loop
        event.previous_hash := last.hash;
        event.hash := admin_event_hash(event);
        update admin_events set previous_hash = event.previous_hash, hash = event.hash
          where acquirer_id = 1 and id = event.id;
        last := event;
      end loop;
    end $$`;
  expect((await verifyAfter(rewrite)).faults).toEqual([]);
  expect((await verifyAfter(rewrite, [], heads)).faults).toEqual([{ acquirerId: 1, number: EACH, kind: 'replaced' }]);
});

test('events that may be deleted after seven years are not missed, younger ones are', async () => {
  const age = (years: number) => `
    with aged as (
      update admin_events set at = at - interval '${years} years', previous_at = previous_at - interval '${years} years'
      where acquirer_id = 1
    ) delete from admin_events where acquirer_id = 1 and chain_number <= 3`;
  const kinds = async (years: number) =>
    (await verifyAfter(age(years))).faults.map(({ number, kind }) => `${number} ${kind}`);
  expect(await kinds(8)).not.toContain('4 missing');
  expect(await kinds(6)).toContain('4 missing');
});
