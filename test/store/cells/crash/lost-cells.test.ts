import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../../src/cli/command-table.ts';
import { runTapwire } from '../../../../src/cli/commands.ts';
import type { CellSession } from '../../../../src/tools/cells/cell-session.ts';
import type { MoveStep } from '../../../../src/tools/cells/finish-move.ts';
import { recoverAcquirer, undoMove } from '../../../../src/tools/cells/undo-move.ts';
import { findingsOf } from '../../../support/cell-books.ts';
import { Killed, TwoCells } from '../../../support/cells.ts';
import { eventually } from '../../../support/eventually.ts';
import { outcomeOf } from '../../../support/responses.ts';
import { runHere } from '../../../support/run-here.ts';

type Side = 'a' | 'b';

let cells: TwoCells;
beforeAll(async () => {
  cells = await TwoCells.start({ maxSessions: 2 });
});
afterAll(() => cells.stop());

const sellAt = async (side: Side) => {
  const phone = cells.installation.phoneAt(cells.gateways[side].url);
  await eventually(async () =>
    expect(outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).type).toBe('Approved'),
  );
};
/** Uses only the database of the remaining cell. */
const recover = (survivor: Side, lost: Side) =>
  cells.withSessions(survivor, lost, ({ source }) => {
    const flip = async () => {
      cells.side = survivor;
    };
    return recoverAcquirer({ survivor: source, lost, acquirerId: 1, flip });
  });
const read = async <Row extends object>(side: Side, text: string) =>
  (await cells.databases[side].query<Row>(text)).rows;
const stateIn = async (side: Side) =>
  (await read<{ state: string }>(side, 'select state from acquirer_cells where acquirer_id = 1'))[0]?.state;
const OWN_SLOTS = 'select from pg_replication_slots where database = current_database()';
const TRIGGERS = `select from pg_trigger where tgname = 'served_elsewhere_1' and tgparentid = 0`;
const TEST_JOBS = `select id from pgboss.job where data ->> 'acquirerId' = '1' and data ? 'test' and state < 'completed' order by 1`;
const addJobs = () =>
  cells.databases.a.query(`insert into pgboss.job (name, data, start_after)
    select 'webhook', '{"acquirerId": 1, "test": 1}', now() + n * interval '8 minutes' from generate_series(1, 2) n`);
const removeJobs = (side: Side) => cells.databases[side].query(`delete from pgboss.job where data ? 'test'`);

const END_MARK = `select from handed_over where acquirer_id = 1 and kind = 'end'`;

/** A session of a command that dies before it notes this step. */
function diesAtNote(session: CellSession, step: string): CellSession {
  return {
    ...session,
    query: async (text, values = []) => {
      if (text.includes('cell_moves') && values.includes(step)) throw new Killed();
      return session.query(text, values);
    },
  };
}

/** Ends what only a running target does: nothing connects to the source afterwards. */
async function loseTarget(): Promise<void> {
  const own = 's.subdbid = (select oid from pg_database where datname = current_database())';
  const found = await read<{ name: string }>('b', `select subname as name from pg_subscription s where ${own}`);
  for (const { name } of found) await cells.databases.b.query(`alter subscription ${name} disable`);
  await eventually(async () => {
    const workers = `pg_stat_subscription w join pg_subscription s on s.oid = w.subid where ${own} and w.pid is not null`;
    expect(await read('b', `select pg_terminate_backend(w.pid) from ${workers}`)).toEqual([]);
  });
}

describe('a move whose target is lost', () => {
  test.each<MoveStep>([
    'replicating',
    'copied',
    'closed',
    'gaveUp',
  ])('a move whose target is lost after %s is ended in the source, which serves the acquirer with its jobs and can move it again', async (step) => {
    await addJobs();
    const jobs = await read('a', TEST_JOBS);
    await cells.moveUntil(step, 'a', 'b');
    await loseTarget();
    await recover('a', 'b');
    await sellAt('a');
    expect([await stateIn('a'), await read('a', OWN_SLOTS), await read('a', TRIGGERS)]).toEqual(['serving', [], []]);
    expect(await read('a', TEST_JOBS)).toEqual(jobs);
    await expect(recover('a', 'b')).rejects.toThrow('No move of acquirer 1 between a and b is unfinished');
    await removeJobs('a');
    await cells.move('a', 'b');
    await sellAt('b');
    await cells.move('b', 'a');
  });

  test('a move whose target is lost after it may have served the acquirer is not ended: its taps would be missing', async () => {
    await cells.moveUntil('arrived', 'a', 'b');
    await expect(recover('a', 'b')).rejects.toThrow('b may have served acquirer 1');
    await cells.moveUntil('tookOver', 'a', 'b');
    await expect(recover('a', 'b')).rejects.toThrow('b may have served acquirer 1');
    await cells.move('a', 'b');
    await expect(recover('a', 'b')).rejects.toThrow('b may have served acquirer 1');
    await cells.move('b', 'a');
  });
});

describe('a move whose source is lost', () => {
  test('a move whose source is lost before the target has its last change is not ended: taps would be missing', async () => {
    await cells.moveUntil('copied', 'a', 'b');
    await expect(recover('b', 'a')).rejects.toThrow('b does not have the last changes of acquirer 1');
    await cells.move('a', 'b');
    await cells.move('b', 'a');
  });

  test.each<MoveStep>([
    'gaveUp',
    'tookOver',
    'flipped',
  ])('a move whose source is lost after %s is ended in the target, which serves the acquirer with its jobs and can move it on', async (step) => {
    await addJobs();
    const jobs = await read('a', TEST_JOBS);
    await cells.moveUntil(step, 'a', 'b');
    await eventually(() => recover('b', 'a')); // when the last change has arrived
    expect(cells.side).toBe('b');
    await sellAt('b');
    expect([await stateIn('b'), await read('b', TRIGGERS), await read('b', TEST_JOBS)]).toEqual(['serving', [], jobs]);
    await removeJobs('b');
    await cells.move('b', 'a');
    await removeJobs('a');
  });
});

describe('a move that is being undone when its source is lost', () => {
  test('is not ended in the target: the source may have served the acquirer since', async () => {
    await cells.moveUntil('gaveUp', 'a', 'b');
    await eventually(async () => expect(await read('b', END_MARK)).toHaveLength(1));
    await loseTarget(); // what the source stores from now on does not arrive
    await cells.withSessions('a', 'b', async ({ source, target }) => {
      const dying = diesAtNote(source, 'undone');
      await expect(undoMove({ source: dying, target, acquirerId: 1 })).rejects.toThrow(Killed);
    });
    await sellAt('a');
    await expect(recover('b', 'a')).rejects.toThrow('a may have served acquirer 1');
    await cells.withSessions('a', 'b', ({ source, target }) => undoMove({ source, target, acquirerId: 1 }));
    await expect(recover('b', 'a')).rejects.toThrow('a may have served acquirer 1');
    await sellAt('a');
  });
});

test('the books of both cells agree after all of these', async () => {
  for (const { check, violations } of await findingsOf(cells)) expect([check, violations]).toEqual([check, []]);
});

describe('tapwire cell recover', () => {
  const call = async (urlOfB: (url: string) => string) => {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-lost-'));
    const [a, b] = await cells.withSessions('a', 'b', async ({ source, target }) => [source.cell, target.cell]);
    const list = [
      { name: 'a', url: a!.url, backend: 'cell-a', number: 0, database: a!.databaseUrl },
      { name: 'b', url: b!.url, backend: 'cell-b', number: 1, database: urlOfB(b!.databaseUrl) },
    ];
    const path = join(folder, 'cells.json');
    writeFileSync(path, JSON.stringify({ cells: list }));
    const words = ['cell', 'recover', '--acquirer', '1', '--in', 'a', '--lost', 'b'];
    const result = await runHere((args) => runTapwire(COMMANDS, args), words, { CELLS_FILE: path });
    rmSync(folder, { recursive: true });
    return result;
  };

  test.each([
    ['responses', (url: string) => url],
    ['refuses the user', (url: string) => Object.assign(new URL(url), { username: 'nobody', password: 'x' }).href],
  ])('is refused while the other database %s', async (_what, urlOfB) => {
    await cells.moveUntil('gaveUp', 'a', 'b');
    const { exitCode, stderr } = await call(urlOfB);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('The database of b responds.')]);
    expect(await stateIn('a')).toBe('gone');
    await cells.move('a', 'b');
    await cells.move('b', 'a');
  });

  test('ends the move when the other database does not respond', async () => {
    await cells.moveUntil('gaveUp', 'a', 'b');
    const { exitCode, stdout } = await call(() => 'postgres://u@127.0.0.1:9/x');
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('a serves acquirer 1. Never start')]);
    await sellAt('a');
    await cells.move('a', 'b'); // ends what the test has left of replication
  });
});
