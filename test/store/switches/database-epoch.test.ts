import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RestoreHolds } from '../../../src/payments/ports/store-ports.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { continueStans, listStans } from '../../../src/store/switches/continue-stans.ts';
import { THIS_EPOCH } from '../../../src/store/switches/database-epoch.ts';
import { type OnSkip, type SkippedStans, StanBlocks } from '../../../src/store/switches/stan-blocks.ts';
import {
  endLostWindowAt,
  postgresRestoreHolds,
  readRestore,
  releaseHeld,
  stateRestored,
} from '../../../src/store/transactions/lost-window.ts';
import {
  ACQUIRER,
  BLOCK,
  DAY,
  LAST_STAN,
  openProcess as openIn,
  stansFrom,
  TERMINAL,
  take,
} from '../../support/stans.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(() =>
  testDatabase.database.query(
    'truncate stan_blocks, database_epoch, transactions, lost_window, lost_window_releases, held_references',
  ),
);
afterAll(() => testDatabase.drop());

const openProcess = (onSkip?: OnSkip) => openIn(testDatabase, onSkip);
const change = (settings: string) => testDatabase.database.query(`update database_epoch set ${settings}`);

describe('a database with another identity', () => {
  const isNow = `select concat_ws('/', system_identifier, '00000000', oid) from pg_control_system(), pg_database where datname = current_database()`;
  /** As if the last process had been connected to the former primary, with commits that wait for a standby or do not. */
  const failOver = (isSynchronous: boolean) => change(`epoch = (${isNow}), is_synchronous = ${isSynchronous}`);
  /** What is always skipped, and what is added for each second that the test takes. */
  const atLeast = 10_000;
  const atMost = 40_000;

  test('a database with another identity that was promoted from a synchronous standby skips nothing', async () => {
    await take(await openProcess(), 1);
    await failOver(true);
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('a database with another identity that was promoted from an asynchronous standby skips what may have been lost, once', async () => {
    await take(await openProcess(), 1);
    await failOver(false);
    const skips: SkippedStans[] = [];
    const first = Number((await take(await openProcess((skip) => skips.push(skip)), 1))[0]);
    expect(first).toBeGreaterThan(atLeast);
    expect(first).toBeLessThan(atMost);
    expect(Number((await take(await openProcess((skip) => skips.push(skip)), 1))[0])).toBe(first + BLOCK);
    expect(skips).toEqual([{ cause: 'replaced', scopes: 1, held: [] }]);
  });

  test('is detected by a process that continues', async () => {
    const blocks = await openProcess();
    await take(blocks, BLOCK);
    await failOver(false);
    expect(Number((await take(blocks, 1))[0])).toBeGreaterThan(atLeast);
  });

  test('lets new scopes skip as well', async () => {
    await take(await openProcess(), 1);
    await failOver(false);
    const blocks = await openProcess();
    expect(Number((await take(blocks, 1, { acquirerId: 7, tid: null }))[0])).toBeGreaterThan(atLeast);
  });

  test.each([
    { hours: 1, scope: TERMINAL, least: 17_200 },
    { hours: 24, scope: TERMINAL, least: 182_800 },
    { hours: 1, scope: ACQUIRER, least: 424_000 },
  ])('skips what $scope.tid can have used in $hours h', async ({ hours, scope, least }) => {
    await take(await openProcess(), 1, scope);
    await failOver(false);
    await change(`seen_at = seen_at - interval '${hours} hours'`);
    const [first] = await take(await openProcess(), 1, scope);
    expect(Number(first)).toBeGreaterThanOrEqual(BLOCK + least);
    expect(Number(first)).toBeLessThan(BLOCK + least + atMost);
  });

  const named = (scope: typeof TERMINAL, last: number) =>
    continueStans(testDatabase.database, { ...scope, actor: 'cli test', last });

  test('holds a scope that may have used most numbers of the day, until the last one is named', async () => {
    await saveAcquirer(testDatabase.database, ACQUIRER.acquirerId, 'Acquirer');
    const skips: SkippedStans[] = [];
    await take(await openProcess(), 1, ACQUIRER);
    await failOver(false);
    await change(`seen_at = seen_at - interval '10 hours'`);
    const blocks = await openProcess((skip) => skips.push(skip));
    expect(await take(blocks, 1, ACQUIRER)).toEqual([undefined]);
    expect(skips).toEqual([{ cause: 'replaced', scopes: 1, held: ['2'] }]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await take(blocks, 1, ACQUIRER, today)).toEqual([undefined]);

    const [held] = await listStans(testDatabase.database, ACQUIRER.acquirerId);
    expect(held).toMatchObject({ of: null, next: '000101', heldUntil: expect.stringMatching(/^20/) });
    const next = '810001';
    const left = LAST_STAN - 810_000 + BLOCK; // of a business date that the database has not seen before
    expect(await named(ACQUIRER, 800_000)).toEqual({ next, left });
    const [state] = await listStans(testDatabase.database, ACQUIRER.acquirerId);
    expect(state).toMatchObject({ of: null, next, left, heldUntil: null });
    expect(await take(await openProcess(), 2, ACQUIRER, today)).toEqual(stansFrom(810_001, 2));
    expect(await named({ ...ACQUIRER, tid: 'TW000001' }, 1)).toBe('no-counter');
  });

  /** A scope that is held after two processes have had the blocks to 100 and to 200. */
  async function holdWithBlocks() {
    await saveAcquirer(testDatabase.database, ACQUIRER.acquirerId, 'Acquirer');
    const [one, other] = [await openProcess(), await openProcess()];
    const taken = [...(await take(one, 1, ACQUIRER)), ...(await take(other, 50, ACQUIRER))];
    await failOver(false);
    await change(`seen_at = seen_at - interval '10 hours'`);
    const fresh = await openProcess();
    expect(await take(fresh, 1, ACQUIRER)).toEqual([undefined]);
    return { one, other, fresh, taken };
  }

  test.each([
    { last: 150, next: '010201' }, // in the last block that the database knows
    { last: 200, next: '010201' },
    { last: 90_000, next: '100001' },
    { last: LAST_STAN - 20_000, next: '990000' },
  ])('continues a held scope behind the blocks that running processes still have, last $last', async ({
    last,
    next,
  }) => {
    const { one, other, fresh, taken } = await holdWithBlocks();
    expect(await named(ACQUIRER, last)).toMatchObject({ next });
    const later = [...(await take(fresh, 200, ACQUIRER)), ...(await take(other, 200, ACQUIRER))];
    const all = [...taken, ...later, ...(await take(one, 200, ACQUIRER))];
    expect(new Set(all).size).toBe(all.length);
  });

  test('a database with another identity that makes a scope continue leaves those of other acquirers alone', async () => {
    const { one, other } = await holdWithBlocks();
    await one.next({ acquirerId: 7, tid: null }, DAY);
    await named(ACQUIRER, 150);
    await take(other, 200, ACQUIRER);
    const [another] = await listStans(testDatabase.database, 7);
    const [next] = await take(one, 1, { acquirerId: 7, tid: null });
    expect(Number(another!.next) - Number(next)).toBeLessThan(BLOCK);
  });

  test('a database with another identity never sets numbers back: a scope that is not held refuses a last number', async () => {
    await saveAcquirer(testDatabase.database, ACQUIRER.acquirerId, 'Acquirer');
    const before = await take(await openProcess(), 500, ACQUIRER);
    expect(await named(ACQUIRER, 100)).toBe('not-held');
    expect(before).not.toContain((await take(await openProcess(), 1, ACQUIRER))[0]);
  });

  test('no longer holds a scope when a later business date has begun', async () => {
    await take(await openProcess(), 1, ACQUIRER);
    await failOver(false);
    await change(`seen_at = seen_at - interval '10 hours'`);
    const blocks = await openProcess();
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    // Before a long weekend the business date is that of the first day after it.
    for (const days of [1, 4]) expect(await take(blocks, 1, ACQUIRER, dayIn(days))).toEqual([undefined]);
    await testDatabase.database.query('update stan_blocks set held_until = held_until - 6'); // six days later
    expect((await take(blocks, 1, ACQUIRER, dayIn(0)))[0]).toMatch(/^\d{6}$/);
  });

  test('is no failover if it is much older, another cluster or another database', async () => {
    for (const difference of [`seen_at = seen_at - interval '10 minutes'`, `epoch = 'another/00000001/5'`]) {
      await testDatabase.database.query('truncate stan_blocks, database_epoch');
      await take(await openProcess(), 1);
      await failOver(true);
      await change(difference);
      expect(Number((await take(await openProcess(), 1))[0])).toBeGreaterThan(atLeast);
    }
  });

  test.each([
    { how: 'synchronous', isSynchronous: true, left: LAST_STAN - 12 * BLOCK },
    { how: 'asynchronous, each seen after ten seconds,', isSynchronous: false, left: 500_000 },
  ])('replaced ten times in a day: ten $how failovers with restarts leave enough numbers', async ({
    isSynchronous,
    left,
  }) => {
    await take(await openProcess(), 1);
    for (let failover = 0; failover < 10; failover++) {
      await failOver(isSynchronous);
      await change(`seen_at = seen_at - interval '10 s'`);
      await take(await openProcess(), 1);
    }
    const used = 'select next_value - day_first as used from stan_blocks';
    const { rows } = await testDatabase.database.query<{ used: number }>(used);
    expect(LAST_STAN - rows[0]!.used).toBeGreaterThan(left);
  });

  test('a database with another identity that lost the reservation of a live process does not repeat those numbers, and skips', async () => {
    const blocks = await openProcess();
    await take(blocks, BLOCK);
    await testDatabase.database.query('update stan_blocks set next_value = 0, day_first = 0');
    expect(Number((await take(blocks, 1))[0])).toBeGreaterThan(atLeast);
  });
});

describe('a database that was not seen for a while', () => {
  /** As if the database had been unused, and another server had been started on its files then. */
  const unseenFor = (interval: string) =>
    change(`seen_at = seen_at - interval '${interval}', server_started_at = server_started_at - interval '1 second'`);

  test('may be a snapshot: a new process skips what it may lack, at most half of what is left', async () => {
    await take(await openProcess(), 1);
    await take(await openProcess(), 1, ACQUIRER);
    await unseenFor('10 hours');
    const skips: SkippedStans[] = [];
    const blocks = await openProcess((skip) => skips.push(skip));
    expect(skips).toEqual([{ cause: 'unseen', scopes: 2, held: [] }]);
    expect(Number((await take(blocks, 1))[0])).toBeGreaterThan(BLOCK + 82_000);
    expect(await take(blocks, 1, ACQUIRER)).toEqual(stansFrom(BLOCK + Math.floor((LAST_STAN - BLOCK) / 2) + 1, 1));
  });

  test('skips nothing after all gateways have stopped in order, however long ago', async () => {
    const [one, another] = [await openProcess(), await openProcess()];
    await take(one, 1);
    await one.close();
    await another.noteDatabase(); // still running
    await another.close();
    await unseenFor('10 hours');
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('skips if one of two gateways crashed after the other had stopped', async () => {
    const [one, another] = [await openProcess(), await openProcess()];
    await take(one, 1);
    await one.close();
    await another.noteDatabase();
    await unseenFor('2 minutes');
    expect(Number((await take(await openProcess(), 1))[0])).toBeGreaterThan(BLOCK + 10_000);
  });

  test('numbers are skipped after a snapshot from before the stop of one process, while the other one continued', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    await take(other, 1);
    await one.close();
    await take(other, 150);
    await unseenFor('1 hour'); // a snapshot from between the stop of the one and the next note of the other
    expect(Number((await take(await openProcess(), 1))[0])).toBeGreaterThan(2 * BLOCK + 10_000);
  });

  test('skips nothing after the restart of a host', async () => {
    await take(await openProcess(), 1);
    await unseenFor('50 s');
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('skips nothing while its server runs, however often gateways crash', async () => {
    for (let crash = 0; crash < 24; crash++) {
      await take(await openProcess(), 1);
      await change(`seen_at = seen_at - interval '5 minutes'`);
    }
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(24 * BLOCK + 1, 1));
  });

  test('skips nothing if a process that was connected before finds its own note', async () => {
    const process = await openProcess();
    await take(process, BLOCK);
    await unseenFor('10 minutes');
    await process.noteDatabase();
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('a database that was not seen for a while by a clock that was a day ahead may be a snapshot nevertheless', async () => {
    await take(await openProcess(), 1);
    await change(`seen_at = seen_at + interval '1 day', server_started_at = null`);
    expect(Number((await take(await openProcess(), 1))[0])).toBeGreaterThan(10_000);
    const { rows } = await testDatabase.database.query(
      'select seen_at <= clock_timestamp() as "isPast" from database_epoch',
    );
    expect(rows).toEqual([{ isPast: true }]);
  });

  test('lists no process that crashed long ago as running', async () => {
    await openProcess();
    await change(`running = jsonb_build_object('crashed', extract(epoch from clock_timestamp()) - 3600)`);
    const process = await openProcess();
    await take(process, 1);
    await process.close();
    await unseenFor('10 hours');
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('a database that was not seen for a while and lacks what a process has noted was restored: numbers are skipped for all', async () => {
    const skips: SkippedStans[] = [];
    const blocks = await openProcess((skip) => skips.push(skip));
    await take(blocks, 1);
    await change('notes = notes - 1');
    await blocks.noteDatabase();
    expect(skips).toEqual([{ cause: 'restored', scopes: 1, held: [] }]);
  });
});

describe('a database that is restored while an earlier restore is compared', () => {
  const MERCHANT = { acquirerId: 1, merchantId: '1001' };
  const RELEASED = { ...MERCHANT, reference: 'compared' };
  const HELD = { ...MERCHANT, reference: 'held', kind: 'tap', amountMinor: 100, currency: 'ZAR' } as const;
  const stated = (lostFrom: Date, lostUntil?: Date) =>
    stateRestored(testDatabase.database, { actor: 'test', lostFrom, lostUntil, holdsAllTaps: false });
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

  /** The first restore, of which a merchant, an acquirer and a reference were compared and released. */
  async function compareFirst(): Promise<RestoreHolds> {
    const { database } = testDatabase;
    await stated(minutesAgo(60), minutesAgo(50));
    await releaseHeld(database, 'test', { what: 'merchant', acquirerId: 2, merchantId: null });
    await releaseHeld(database, 'test', { what: 'merchant', ...MERCHANT });
    await releaseHeld(database, 'test', { what: 'references', references: [RELEASED] });
    const holds = postgresRestoreHolds(database);
    await holds.hold(HELD);
    expect(await holds.find({ ...HELD, ...RELEASED })).toBe('released');
    expect((await readRestore(database))?.released).toEqual(['1 1001', '2']);
    return holds;
  }

  test.each([
    ['that is stated', async () => stated(minutesAgo(20))],
    [
      'that a process notices',
      async () => {
        const blocks = await openProcess();
        await take(blocks, 1);
        await change(`notes = notes - 1, epoch = (select epoch from (${THIS_EPOCH}) this)`);
        await blocks.noteDatabase();
      },
    ],
  ])('releases nothing of the second one, %s', async (_, restoreAgain) => {
    await take(await openProcess(), 1);
    const holds = await compareFirst();
    await restoreAgain();
    expect((await readRestore(testDatabase.database))?.released).toEqual([]);
    expect(await holds.find({ ...HELD, ...RELEASED })).toBeUndefined();
    expect(await holds.find(HELD)).toBe('held');
  });

  test('keeps what was released if the lost time is only found to be shorter', async () => {
    await take(await openProcess(), 1);
    await compareFirst();
    await endLostWindowAt(testDatabase.database, 'test', minutesAgo(55));
    expect((await readRestore(testDatabase.database))?.released).toEqual(['1 1001', '2']);
  });
});

describe('a database that was restored to an earlier state of the same server', () => {
  /** Returns what restores the present state. */
  async function snapshot() {
    const { database } = testDatabase;
    const { rows: epochs } = await database.query('select to_jsonb(e) as row from database_epoch e');
    const { rows: blocks } = await database.query('select to_jsonb(b) as row from stan_blocks b');
    return async () => {
      await database.query('truncate stan_blocks, database_epoch');
      for (const [table, rows] of [
        ['database_epoch', epochs],
        ['stan_blocks', blocks],
      ] as const)
        for (const { row } of rows)
          await database.query(`insert into ${table} select * from jsonb_populate_record(null::${table}, $1)`, [row]);
    };
  }
  const expectAllDifferent = (...taken: (string | undefined)[][]) =>
    expect(new Set(taken.flat()).size).toBe(taken.flat().length);

  test('repeats nothing for a process whose next reservation failed meanwhile', async () => {
    let isDown = false;
    const { database } = testDatabase;
    const connect = () => (isDown ? Promise.reject(new Error('down')) : database.connect());
    const blocks = await StanBlocks.open({ query: database.query.bind(database), connect } as typeof database);
    const restore = await snapshot();
    const before = await take(blocks, BLOCK);
    isDown = true;
    await expect(take(blocks, 1)).rejects.toThrow();
    isDown = false;
    await restore();
    expectAllDifferent(before, await take(blocks, BLOCK));
  });

  test('gives reversals no numbers that taps of the same process have had', async () => {
    const blocks = await openProcess();
    const restore = await snapshot();
    const before: (string | undefined)[] = [];
    while (before.length < BLOCK) before.push((await blocks.next(TERMINAL, DAY, 20_000))?.stan);
    await restore();
    expectAllDifferent(before, await take(blocks, BLOCK));
  });

  test('gives a running process no numbers that another one has had, even before its next note', async () => {
    const [one, other] = [await openProcess(), await openProcess()];
    const restore = await snapshot();
    const lost = await take(other, BLOCK);
    await one.noteDatabase();
    await restore();
    expectAllDifferent(lost, await take(one, BLOCK), await take(await openProcess(), BLOCK));
  });

  test('is detected by the process whose note is missing, although others have noted it as often since', async () => {
    const skips: SkippedStans[] = [];
    const [one, ...others] = [await openProcess((skip) => skips.push(skip)), await openProcess(), await openProcess()];
    await take(one!, 1);
    const restore = await snapshot();
    await one!.noteDatabase();
    await restore();
    for (const other of others) await other.noteDatabase();
    await one!.noteDatabase();
    await one!.noteDatabase();
    expect(skips).toEqual([{ cause: 'restored', scopes: 1, held: [] }]);
  });

  test('skips once for a process that notes it while it reserves', async () => {
    const skips: SkippedStans[] = [];
    const blocks = await openProcess((skip) => skips.push(skip));
    await take(blocks, 1);
    const restore = await snapshot();
    await blocks.noteDatabase();
    await restore();
    await take(blocks, 3 * BLOCK);
    await blocks.noteDatabase();
    expect(skips).toEqual([{ cause: 'restored', scopes: 1, held: [] }]);
  });
});
