import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openAlike, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { continueStans, listStans } from '../../../src/store/switches/continue-stans.ts';
import { NOTE_EPOCH } from '../../../src/store/switches/database-epoch.ts';
import { FEW_STANS, type OnSkip, type SkippedStans, StanBlocks } from '../../../src/store/switches/stan-blocks.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DAY = '2026-03-02';
const NEXT_DAY = '2026-03-03';
const TERMINAL = { acquirerId: 1, tid: 'TW000001' as string | null };
const ACQUIRER = { acquirerId: 2, tid: null };
/** The size of a reserved block. */
const BLOCK = 100;
const LAST = 999_999;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(() => testDatabase.database.query('truncate stan_blocks, database_epoch, transactions'));
afterAll(() => testDatabase.drop());

/** Simulates another process that reserves numbers. */
function openProcess(onSkip?: OnSkip): Promise<StanBlocks> {
  return StanBlocks.open(testDatabase.database, onSkip);
}

async function take(blocks: StanBlocks, count: number, scope = TERMINAL, day = DAY): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  while (taken.length < count) taken.push(await blocks.next(scope, day));
  return taken;
}

/** Sets the counter of the terminal: the next number, and the first one of today. */
async function setCounter(next: number, firstOfDay = 0): Promise<void> {
  await testDatabase.database.query(
    `insert into stan_blocks (scope, next_value, business_date, day_first) values ($1, $2, $3, $4)
     on conflict (scope) do update set next_value = $2, business_date = $3, day_first = $4`,
    [`${TERMINAL.acquirerId} ${TERMINAL.tid}`, next, DAY, firstOfDay],
  );
}

const stansFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => String(first + index).padStart(6, '0'));

describe('the numbers of a terminal', () => {
  test('are six digits, begin at 000001 and follow one another', async () => {
    expect(await take(await openProcess(), 250)).toEqual(stansFrom(1, 250));
  });

  test('requested at once are all different', async () => {
    const blocks = await openProcess();
    const taken = await Promise.all(Array.from({ length: 500 }, () => blocks.next(TERMINAL, DAY)));
    expect(taken.toSorted()).toEqual(stansFrom(1, 500));
  });

  test('are never the same for two processes', async () => {
    const processes = await Promise.all([openProcess(), openProcess(), openProcess()]);
    const taken = (await Promise.all(processes.map((blocks) => take(blocks, 350)))).flat();
    expect(new Set(taken).size).toBe(3 * 350);
  });

  test('that a process had reserved when it died are lost, not repeated', async () => {
    await take(await openProcess(), 3);
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('are counted separately from other terminals and acquirers', async () => {
    const blocks = await openProcess();
    const scopes = [
      TERMINAL,
      { acquirerId: 1, tid: 'TW000002' },
      { acquirerId: 2, tid: 'TW000001' },
      { acquirerId: 1, tid: null },
    ];
    for (const scope of scopes) expect(await blocks.next(scope, DAY)).toBe('000001');
  });

  test('continue after 999999 with 000001, and 000000 is not used', async () => {
    await setCounter(LAST - 50, LAST - 50);
    const taken = await take(await openProcess(), BLOCK);
    expect(taken).toEqual([...stansFrom(LAST - 49, 50), ...stansFrom(1, 50)]);
  });
});

describe('a business day', () => {
  test('without numbers left gives none, and the next one continues', async () => {
    await setCounter(LAST - BLOCK);
    const blocks = await openProcess();
    expect(await take(blocks, BLOCK)).toEqual(stansFrom(LAST - BLOCK + 1, BLOCK));
    expect(await take(blocks, 2)).toEqual([undefined, undefined]);
    expect(await take(await openProcess(), 1)).toEqual([undefined]);
    expect(await take(blocks, 1, TERMINAL, NEXT_DAY)).toEqual(['000001']);
  });

  test('reserves numbers for reversals: taps get none of them, and reversals do', async () => {
    await setCounter(LAST - 5 * BLOCK);
    const blocks = await openProcess();
    const takeLeaving = (leaving: number) => blocks.next(TERMINAL, DAY, leaving);
    expect(await takeLeaving(5 * BLOCK)).toBeUndefined();
    expect(await takeLeaving(4 * BLOCK)).toBe(stansFrom(LAST - 5 * BLOCK + 1, 1)[0]);
    // The numbers reserved for the others remain reserved.
    expect(await takeLeaving(0)).toBe(stansFrom(LAST - 4 * BLOCK + 1, 1)[0]);
    expect(await takeLeaving(0)).toBe(stansFrom(LAST - 4 * BLOCK + 2, 1)[0]);
    expect(await takeLeaving(4 * BLOCK)).toBe(stansFrom(LAST - 5 * BLOCK + 2, 1)[0]);
  });

  test('with few numbers left is reported once, and once more if there are none', async () => {
    await setCounter(LAST - FEW_STANS);
    const reported: unknown[] = [];
    const blocks = await StanBlocks.open(
      testDatabase.database,
      () => {},
      (scope, left) => reported.push([scope, left]),
    );
    await take(blocks, 3 * BLOCK);
    expect(reported).toEqual([[TERMINAL, FEW_STANS - BLOCK]]);
    await setCounter(LAST);
    await take(blocks, 2);
    expect(reported).toEqual([
      [TERMINAL, FEW_STANS - BLOCK],
      [TERMINAL, 0],
    ]);
  });

  test('does not restart the numbers', async () => {
    const blocks = await openProcess();
    await take(blocks, 7);
    expect(await take(blocks, 1, TERMINAL, NEXT_DAY)).toEqual(stansFrom(BLOCK + 1, 1));
  });
});

test('numbers that a reversal still needs are skipped', async () => {
  const owed = async (acquirerId: number, tid: string, stan: string, reversalState: number) =>
    testDatabase.database.query(
      `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, type,
         device_installation_id, tid, stan, reversal_state, answer_by, created_at, updated_at)
       values ($1, $2, '1001', 10, gen_random_uuid()::text, 1, 9, 1, 'device', $3, $4, $5, now(), now(), now())`,
      [acquirerId, randomUUID(), tid, stan, reversalState],
    );
  await owed(1, 'TW000001', '000002', 1);
  await owed(1, 'TW000001', '000004', 2);
  await owed(1, 'TW000001', '000005', 3); // acknowledged: free again
  await owed(1, 'TW000002', '000006', 1); // another terminal's
  await owed(2, 'TW000001', '000007', 1); // another acquirer's
  expect(await take(await openProcess(), 6)).toEqual(['000001', '000003', '000005', '000006', '000007', '000008']);
});

test('what a reversal still needs is looked up by number, however few reversals there were when the plan was made', async () => {
  const database = openAlike(testDatabase.database, { maxConnections: 1 }); // each connection makes its own plans
  await testDatabase.database.query('analyze transactions');
  await (await StanBlocks.open(database)).next({ acquirerId: 1, tid: null }, DAY);
  for (const setting of ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off'])
    await database.query(`set ${setting}`);
  const { rows } = await database.query('explain execute "reserve-stans"(null, false)');
  await database.end();
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).not.toContain('Seq Scan');
  for (const table of ['transactions t', 'superseded_attempts s'])
    expect(plan).toMatch(new RegExp(`on ${table} .*\\n *Index Cond: \\(\\(acquirer_id = .*stan = `));
});

describe('a database with another identity', () => {
  const change = (setting: string) => testDatabase.database.query(`update database_epoch set ${setting}`);
  const isNow = `select concat_ws('/', system_identifier, '00000000', oid) from pg_control_system(), pg_database where datname = current_database()`;
  /** As if the last process had been connected to the former primary, with commits that wait for a standby or do not. */
  const failOver = (isSynchronous: boolean) => change(`epoch = (${isNow}), is_synchronous = ${isSynchronous}`);
  /** What is always skipped, and what is added for each second that the test takes. */
  const atLeast = 10_000;
  const atMost = 40_000;

  test('that was promoted from a synchronous standby skips nothing', async () => {
    await take(await openProcess(), 1);
    await failOver(true);
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('that was promoted from an asynchronous standby skips what may have been lost, once', async () => {
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

    expect(await named(ACQUIRER, 800_000)).toBe(LAST - 800_000);
    const [state] = await listStans(testDatabase.database, ACQUIRER.acquirerId);
    expect(state).toMatchObject({ of: null, next: '800001', left: LAST - 800_000 });
    expect(await take(await openProcess(), 2, ACQUIRER, today)).toEqual(stansFrom(800_001, 2));
    expect(await named({ ...ACQUIRER, tid: 'TW000001' }, 1)).toBeUndefined();
  });

  test('no longer holds a scope when a later business date has begun', async () => {
    await take(await openProcess(), 1, ACQUIRER);
    await failOver(false);
    await change(`seen_at = seen_at - interval '10 hours'`);
    const blocks = await openProcess();
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    expect(await take(blocks, 1, ACQUIRER, dayIn(1))).toEqual([undefined]);
    expect((await take(blocks, 1, ACQUIRER, dayIn(3)))[0]).toMatch(/^\d{6}$/);
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
    { how: 'synchronous', isSynchronous: true, left: LAST - 12 * BLOCK },
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
    expect(LAST - rows[0]!.used).toBeGreaterThan(left);
  });

  test('that lost the reservation of a live process does not repeat those numbers, and skips', async () => {
    const blocks = await openProcess();
    await take(blocks, BLOCK);
    await setCounter(0);
    expect(Number((await take(blocks, 1))[0])).toBeGreaterThan(atLeast);
  });
});

describe('a database that was not seen for a while', () => {
  const unseenFor = (interval: string) =>
    testDatabase.database.query(`update database_epoch set seen_at = seen_at - interval '${interval}'`);

  test('may be a snapshot: a new process skips what it may lack, at most half of what is left', async () => {
    await take(await openProcess(), 1);
    await take(await openProcess(), 1, ACQUIRER);
    await unseenFor('10 hours');
    const skips: SkippedStans[] = [];
    const blocks = await openProcess((skip) => skips.push(skip));
    expect(skips).toEqual([{ cause: 'unseen', scopes: 2, held: [] }]);
    expect(Number((await take(blocks, 1))[0])).toBeGreaterThan(BLOCK + 82_000);
    expect(await take(blocks, 1, ACQUIRER)).toEqual(stansFrom(BLOCK + Math.floor((LAST - BLOCK) / 2) + 1, 1));
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

  test('skips nothing after the restart of a gateway', async () => {
    await take(await openProcess(), 1);
    await unseenFor('50 s');
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('skips nothing if a process that was connected before finds its own note', async () => {
    await take(await openProcess(), BLOCK);
    await unseenFor('10 minutes');
    const { rows } = await testDatabase.database.query('select seen_at::text as "seenAt" from database_epoch');
    await testDatabase.database.query(NOTE_EPOCH, [false, rows[0].seenAt]);
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('and lacks what a process has noted was restored: numbers are skipped for all', async () => {
    const skips: SkippedStans[] = [];
    const blocks = await openProcess((skip) => skips.push(skip));
    await take(blocks, 1);
    await unseenFor('10 s');
    await blocks.noteDatabase();
    expect(skips).toEqual([{ cause: 'restored', scopes: 1, held: [] }]);
  });
});

test('without a database there are no numbers after the reserved ones', async () => {
  const database = await openDatabase(testDatabase.url, { maxConnections: 1 });
  const blocks = await StanBlocks.open(database);
  await take(blocks, 1);
  await database.end();
  expect(await take(blocks, BLOCK - 1)).toEqual(stansFrom(2, BLOCK - 1));
  await expect(blocks.next(TERMINAL, DAY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(blocks.next(TERMINAL, DAY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});
