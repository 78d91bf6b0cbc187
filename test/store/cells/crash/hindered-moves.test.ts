import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openCellSession } from '../../../../src/tools/cells/cell-session.ts';
import { moveAcquirer } from '../../../../src/tools/cells/move-acquirer.ts';
import { endReplication, startReplication } from '../../../../src/tools/cells/replication.ts';
import { callMove } from '../../../cells/mover.ts';
import { KNOWN_AFTER_MS, TwoCells } from '../../../support/cells.ts';
import { DatabaseRelay } from '../../../support/database-relay.ts';
import { eventually } from '../../../support/eventually.ts';
import { outcomeOf } from '../../../support/responses.ts';

let cells: TwoCells;
beforeAll(async () => {
  cells = await TwoCells.start({ maxSessions: 2 });
});
afterAll(() => cells.stop());

const sellAt = async (side: 'a' | 'b') => {
  const phone = cells.installation.phoneAt(cells.gateways[side].url);
  expect(outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).type).toBe('Approved');
};
const OWN = 'subdbid = (select oid from pg_database where datname = current_database())';
const once = (wanted: string, act: () => Promise<void>) => {
  let isDone = false;
  return async (step: string) => {
    if (step !== wanted || isDone) return;
    isDone = true;
    await act();
  };
};

test('a copy waits for a transaction of another program that is longer than the locks of the command', async () => {
  const report = await cells.databases.a.connect();
  onTestFinished(() => report.release());
  let ended: Promise<unknown> | undefined;
  const onStep = once('fenced', async () => {
    await report.query('begin');
    await report.query('select pg_current_xact_id()');
    ended = sleep(4_000).then(() => report.query('commit'));
  });
  await cells.move('a', 'b', { onStep });
  await ended;
  await sellAt('b');
  await cells.move('b', 'a');
});

test.each([
  [
    'does not receive changes',
    async () => {
      const { b } = cells.databases;
      const { rows } = await b.query<{ name: string }>(`select subname as name from pg_subscription where ${OWN}`);
      await b.query(`alter subscription ${rows[0]!.name} disable`); // as if its network had failed
      return () => b.query(`alter subscription ${rows[0]!.name} enable`);
    },
  ],
  [
    'cannot apply changes, because a user of the same name was added in each cell',
    async () => {
      const { a, b } = cells.databases;
      await b.query(`insert into acquirers (id, name) values (1000001, 'Other')`);
      const { rows } = await a.query('select * from users where acquirer_id = 1 limit 1');
      const put = 'insert into users select * from jsonb_populate_record(null::users, $1)';
      const user = { ...rows[0], username: 'Cashier' };
      const client = await b.connect();
      await client.query('set session_replication_role = replica'); // spares the parents of the row
      await client.query(put, [JSON.stringify({ ...user, acquirer_id: 1_000_001 })]);
      await client.query('reset session_replication_role');
      client.release();
      await a.query(put, [JSON.stringify({ ...user, id: '00000000-0000-4000-8000-000000000099' })]);
      return async () => {
        await b.query('delete from users where acquirer_id = 1000001');
        await b.query('delete from acquirers where id = 1000001');
      };
    },
  ],
])('an acquirer is not given up while the target %s', async (_what, hinder) => {
  let relieve: (() => Promise<unknown>) | undefined;
  const onStep = once('copied', async () => {
    relieve = await hinder();
  });
  await expect(cells.move('a', 'b', { onStep }, { followWithinMs: 1_500 })).rejects.toThrow(
    'b does not apply the changes of a, which still serves acquirer 1',
  );
  await sellAt('a');
  await relieve!();
  await cells.move('a', 'b');
  await sellAt('b');
  await cells.move('b', 'a');
});

test('an acquirer whose API key exists in the target, because it is a copy, is refused before anything is changed', async () => {
  const { a, b } = cells.databases;
  await cells.installation.apiKey();
  const { rows } = await a.query('select * from api_keys where acquirer_id = 1 limit 1');
  await b.query(`insert into acquirers (id, name) values (1000001, 'Other')`);
  const put = 'insert into api_keys select * from jsonb_populate_record(null::api_keys, $1)';
  await b.query(put, [JSON.stringify({ ...rows[0], secret_hash: `\\x${'00'.repeat(32)}`, acquirer_id: 1_000_001 })]);
  await expect(cells.move('a', 'b')).rejects.toThrow('b has 1 API keys with the same ids');
  await b.query('delete from api_keys where acquirer_id = 1000001');
  await b.query('delete from acquirers where id = 1000001');
});

test('rows of a table that an update has added between two calls of the command are moved', async () => {
  await cells.moveUntil('copied', 'a', 'b');
  const create =
    'create table loyalty (acquirer_id integer not null, id integer not null, primary key (acquirer_id, id))';
  for (const database of Object.values(cells.databases)) await database.query(create);
  await cells.databases.a.query('insert into loyalty values (1, 7)');
  await cells.move('a', 'b');
  const { rows } = await cells.databases.b.query('select * from loyalty');
  await cells.move('b', 'a');
  for (const database of Object.values(cells.databases)) await database.query('drop table loyalty');
  expect(rows).toEqual([{ acquirer_id: 1, id: 7 }]);
});

/** Calls the command with a list in which one cell does not respond. */
async function callWithout(name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-hindered-'));
  const known = await cells.withSessions('a', 'b', async ({ source, target }) => [source.cell, target.cell]);
  const c = { ...known[0]!, name: 'c', backend: 'cell-c' };
  const list = [c, ...known].map((cell, number) => {
    writeFileSync(join(folder, cell.name), cell.name === name ? 'postgres://u@127.0.0.1:9/x' : cell.databaseUrl);
    const { url, backend } = cell;
    return { name: cell.name, url, backend, number, database: `file:${join(folder, cell.name)}` };
  });
  const path = join(folder, 'cells.json');
  writeFileSync(path, JSON.stringify({ cells: name === 'c' ? list : list.slice(1) }));
  const call = await callMove({ CELLS_FILE: path }, 1, 'b');
  rmSync(folder, { recursive: true });
  return call;
}

test('a cell that takes no part in the move and does not respond does not keep the command from completing it', async () => {
  await cells.moveUntil('gaveUp', 'a', 'b');
  const { isMoved, output } = await callWithout('c');
  expect([isMoved, output]).toEqual([true, expect.stringContaining('b serves acquirer 1.')]);
  await cells.move('b', 'a');
});

test('the proxy is changed also if the source has failed after the target took over', async () => {
  await cells.moveUntil('gaveUp', 'a', 'b');
  const early = await callWithout('a');
  expect([early.isMoved, early.output]).toEqual([
    false,
    expect.stringContaining('The database of cell a cannot be used'),
  ]);
  await cells.moveUntil('tookOver', 'a', 'b');
  const { isMoved, steps, output } = await callWithout('a');
  expect([isMoved, [...steps.keys()]]).toEqual([false, ['signedOn', 'flipped']]);
  expect(output).toContain('b serves acquirer 1, but a cannot be used, so the move has not finished.');
  await cells.move('a', 'b');
  await cells.move('b', 'a');
});

test('a move whose target goes silent after the source gave the acquirer up ends with a message', async () => {
  await cells.withSessions('a', 'b', async ({ source, target }) => {
    const relay = await DatabaseRelay.open(target.cell.databaseUrl);
    const cell = { ...target.cell, databaseUrl: relay.url };
    const silent = await openCellSession(cell, { statementMs: 500, respondAfterMs: 200 });
    const onStep = (step: string) => {
      if (step === 'gaveUp') relay.goSilent();
    };
    const options = { source, target: silent, acquirerId: 1, flip: async () => {}, onStep };
    await expect(moveAcquirer(options, { knownAfterMs: KNOWN_AFTER_MS, betweenHoldsMs: 200 })).rejects.toThrow(
      'The database of cell b cannot be used: It did not respond in time.',
    );
    await silent.close();
    await relay.close();
  });
  // Postgres ends the silent session, and with it the lock of the command.
  await eventually(() => cells.move('a', 'b'));
  await sellAt('b');
  await cells.move('b', 'a');
});

test('jobs that are due later are moved without delaying taps, and are not due twice', async () => {
  const insert = (count: number, start: string) => `insert into pgboss.job (name, data, start_after)
    select 'webhook', jsonb_build_object('acquirerId', 1, 'test', n), now() + ${start} from generate_series(1, ${count}) n`;
  const jobsIn = async (side: 'a' | 'b') =>
    (await cells.databases[side].query(`select from pgboss.job where data ? 'test' and state < 'completed'`)).rowCount;
  await cells.databases.a.query(insert(3_000, `interval '1 day'`));
  await cells.databases.a.query(insert(10_001, `interval '5 minutes'`));
  await expect(cells.move('a', 'b')).rejects.toThrow('jobs of acquirer 1 are due within 10 minutes; at most 10000');
  await cells.databases.a.query(
    `delete from pgboss.job where data ? 'test' and start_after < now() + interval '1 hour' and (data ->> 'test')::int > 3`,
  );
  let isChanged = false;
  const steps = await cells.move('a', 'b', {
    onStep: once('held', async () => {
      isChanged = true; // after the copy: one becomes due, one is removed
      await cells.databases.a.query(
        `update pgboss.job set start_after = now() + interval '1 minute' where data ->> 'test' = '11'`,
      );
      await cells.databases.a.query(`delete from pgboss.job where data ->> 'test' = '12'`);
    }),
  });
  expect([isChanged, steps.filter((step) => step === 'held').length]).toEqual([true, 1]);
  expect([await jobsIn('a'), await jobsIn('b')]).toEqual([0, 3_002]);
  const { rowCount } = await cells.databases.b.query(
    `select from pgboss.job where data ->> 'test' = '11' and start_after > now() + interval '2 minutes'`,
  );
  expect(rowCount).toBe(0);
  await cells.databases.b.query(`delete from pgboss.job where data ? 'test'`);
  await cells.move('b', 'a');
});

test('a subscription that Postgres refuses is reported without the password of the source', async () => {
  await cells.withSessions('a', 'b', async ({ source, target }) => {
    const replicationUrl = 'postgres://tapwire:s3cr%t-PASSWORD@127.0.0.1:1/x';
    const broken = { ...source, cell: { ...source.cell, replicationUrl } };
    const refused = startReplication({ source: broken, target, acquirerId: 2, generation: 9 });
    const error = (await refused.catch((fault: unknown) => fault)) as Error;
    await endReplication([source, target], 2);
    expect(error.message).toContain('b cannot subscribe to a (SQLSTATE 42601)');
    expect(inspect(error, { depth: 9 }).replaceAll(replicationUrl, '')).not.toContain('PASSWORD');
  });
});
