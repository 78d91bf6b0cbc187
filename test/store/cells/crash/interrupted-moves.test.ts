import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VoidState } from '../../../../src/payments/model/transaction.ts';
import { purge } from '../../../../src/store/transactions/purge.ts';
import { takeOver } from '../../../../src/tools/cells/hand-over.ts';
import { clearRows } from '../../../../src/tools/cells/tenant-tables.ts';
import { forgetAcquirer, undoMove } from '../../../../src/tools/cells/undo-move.ts';
import { Killed, TwoCells } from '../../../support/cells.ts';
import { eventually } from '../../../support/eventually.ts';
import { voidSale } from '../../../support/refunds.ts';
import { outcomeOf } from '../../../support/responses.ts';

type Side = 'a' | 'b';

let cells: TwoCells;
beforeAll(async () => {
  cells = await TwoCells.start({ maxSessions: 2 });
});
afterAll(() => cells.stop());

const tapAt = (side: Side) =>
  cells.installation.phoneAt(cells.gateways[side].url).tap({ amount: '10.00', currency: 'ZAR' });
const sellAt = async (side: Side) => {
  const outcome = outcomeOf(await tapAt(side));
  expect(outcome.type).toBe('Approved');
  return outcome.serviceReference;
};
const salesIn = async (side: Side) => {
  const { rows } = await cells.databases[side].query<{ id: string }>(
    'select id from transactions where acquirer_id = 1',
  );
  return rows.map(({ id }) => id);
};
const statesOf = async () => {
  const read = async (side: Side) =>
    (await cells.databases[side].query<{ state: string }>('select state from acquirer_cells where acquirer_id = 1'))
      .rows[0]?.state;
  return [await read('a'), await read('b')];
};
const storedIn = async (side: Side, id: string) =>
  (
    await cells.databases[side].query('select disposition, void_state, updated_at from transactions where id = $1', [
      id,
    ])
  ).rows[0];
/** What replication of the acquirer has left in both databases. */
const leftOfReplication = async () => {
  const text = `select subname::text as name from pg_subscription where subdbid = (select oid from pg_database where datname = current_database())
    union all select slot_name::text from pg_replication_slots where database = current_database()
    union all select pubname::text from pg_publication`;
  return [...(await cells.databases.a.query(text)).rows, ...(await cells.databases.b.query(text)).rows];
};
const triggersIn = async (side: Side) =>
  (await cells.databases[side].query(`select from pg_trigger where tgname = 'served_elsewhere_1' and tgparentid = 0`))
    .rowCount;
const forgetIn = (former: Side, current: Side) =>
  cells.withSessions(former, current, ({ source, target }) => forgetAcquirer(source, target, 1));
const undo = (from: Side, to: Side) =>
  cells.withSessions(from, to, ({ source, target }) => undoMove({ source, target, acquirerId: 1 }));

describe('a move that died after the target took the acquirer over', () => {
  const sales: string[] = [];
  let key: string;
  beforeAll(async () => {
    key = await cells.installation.apiKey();
    sales.push(await sellAt('a'));
    await cells.moveUntil('signedOn', 'a', 'b');
    sales.push(await sellAt('b'));
  });

  test('has ended replication, so a slot does not fill the disk', async () => {
    expect(await leftOfReplication()).toEqual([]);
    expect(await statesOf()).toEqual(['gone', 'finishing']);
  });

  test('is not affected by the purge of the former cell: a void of the new cell remains', async () => {
    const installation = Object.create(cells.installation, {
      url: { value: cells.gateways.b.url },
      apiKey: { value: async () => key },
    });
    expect((await voidSale(installation, sales[0]!)).status).toBe(202);
    await eventually(async () => expect((await storedIn('b', sales[0]!)).void_state).toBe(VoidState.done));
    const voided = await storedIn('b', sales[0]!);
    const days = { cardDays: 0, auditDays: 3650, webhookDays: 90, linkDays: 90, messageDays: 90 };
    await purge(cells.databases.a, days);
    await sellAt('b');
    expect(await storedIn('b', sales[0]!)).toEqual(voided);
    expect(await leftOfReplication()).toEqual([]);
  });

  test('keeps the rows of its former cell from being removed', async () => {
    const before = await salesIn('b');
    await expect(forgetIn('a', 'b')).rejects.toThrow('a move has not finished');
    await expect(cells.withSessions('a', 'b', ({ target }) => clearRows(target, 1))).rejects.toThrow(
      'b serves acquirer 1',
    );
    expect(await salesIn('b')).toEqual(before);
  });

  test('must be finished before the acquirer is moved back, and then no sale is lost', async () => {
    await expect(cells.move('b', 'a')).rejects.toThrow('to b has not finished');
    await expect(undo('a', 'b')).rejects.toThrow('CANNOT_MOVE');
    await cells.move('a', 'b');
    expect(await statesOf()).toEqual(['gone', 'serving']);
    await cells.move('b', 'a');
    expect(await salesIn('a')).toEqual(expect.arrayContaining(sales));
    expect(await leftOfReplication()).toEqual([]);
    expect(await triggersIn('a')).toBe(0);
    expect(await triggersIn('b')).toBeGreaterThan(20);
  });
});

describe('while a command moves an acquirer', () => {
  test('every other command for it is refused, also in the opposite direction', async () => {
    const refusals: unknown[] = [];
    const note = (error: unknown) => refusals.push((error as Error).message);
    await cells.move('a', 'b', {
      onStep: async (step) => {
        if (step !== 'tookOver') return;
        await cells.move('b', 'a').catch(note);
        await forgetIn('a', 'b').catch(note);
        await undo('a', 'b').catch(note);
      },
    });
    expect(refusals).toHaveLength(3);
    for (const refusal of refusals) expect(refusal).toContain('Another command moves acquirer 1');
    await cells.move('b', 'a');
  });

  test('the loss of its session in the source does not let another command in, and the acquirer is served', async () => {
    const refusals: string[] = [];
    const result = cells.move('a', 'b', {
      onStep: async (step) => {
        if (step !== 'arrived') return;
        await cells.databases.a.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tapwire-cell' and datname = current_database()`,
        );
        await eventually(() => cells.move('a', 'b').catch((error: Error) => refusals.push(error.message)));
      },
    });
    await expect(result).rejects.toThrow('b serves acquirer 1, but a cannot be used');
    expect(refusals.at(-1)).toContain('Another command moves acquirer 1');
    expect(cells.side).toBe('b'); // the proxy was changed
    await sellAt('b');
    await cells.move('a', 'b');
    expect(await statesOf()).toEqual(['gone', 'serving']);
    expect(await leftOfReplication()).toEqual([]);
  });

  test('a cell takes an acquirer over only in the state and the move in which the command has found it', async () => {
    await cells.withSessions('a', 'b', async ({ source, target }) => {
      for (const [session, from] of [
        [source, 'arriving'],
        [target, 'arriving'],
      ] as const)
        await expect(takeOver(session, 1, from, { generation: 1, state: 'finishing', peer: 'a' })).rejects.toThrow(
          'has changed',
        );
    });
    expect(await statesOf()).toEqual(['gone', 'serving']);
    await cells.move('b', 'a');
  });
});

describe('a move that is undone', () => {
  test('a move that is undone after the source has given the acquirer up leaves it in the source, with its jobs', async () => {
    const jobs = async () =>
      (
        await cells.databases.a.query(
          `select id from pgboss.job where state < 'completed' and data ->> 'acquirerId' = '1' order by id`,
        )
      ).rows;
    await cells.databases.a.query(`insert into pgboss.job (name, data, start_after)
      select 'webhook', '{"acquirerId": 1}', now() + n * interval '8 minutes' from generate_series(1, 2) n`);
    const before = await jobs();
    const sale = await sellAt('a');
    await cells.moveUntil('gaveUp', 'a', 'b');
    expect((await tapAt('a')).status).toBe(503);
    await undo('a', 'b');
    expect(await statesOf()).toEqual(['serving', 'gone']);
    await sellAt('a');
    expect(await salesIn('a')).toContain(sale);
    expect(await salesIn('b')).toEqual([]);
    expect(await leftOfReplication()).toEqual([]);
    expect(await jobs()).toEqual(expect.arrayContaining(before));
    await cells.databases.a.query(`delete from pgboss.job where data = '{"acquirerId": 1}'`);
    await expect(undo('a', 'b')).rejects.toThrow('is not being moved');
  });

  test.each([
    'replicating',
    'gaveUp',
  ] as const)('a move that is undone by a command that dies after %s can be undone again, and moved', async (step) => {
    await cells.moveUntil(step, 'a', 'b');
    const dying = async (statement: RegExp) => {
      const fault = cells.withSessions('a', 'b', ({ source, target }) => {
        const query = <Row extends object>(text: string, values?: readonly unknown[]) => {
          if (statement.test(text)) throw new Killed();
          return target.query<Row>(text, values);
        };
        return undoMove({ source, target: { ...target, query }, acquirerId: 1 });
      });
      await expect(fault).rejects.toThrow(Killed);
    };
    await dying(/pg_subscription/);
    if (step === 'gaveUp') await undo('a', 'b');
    await cells.move('a', 'b');
    expect(await statesOf()).toEqual(['gone', 'serving']);
    expect(await leftOfReplication()).toEqual([]);
    await sellAt('b');
    await cells.move('b', 'a');
  });
});
