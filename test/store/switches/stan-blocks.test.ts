import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { retrievalReference } from '../../../src/kits/processor-kit/field-values.ts';
import { openAlike, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { FEW_STANS, type OnSkip, StanBlocks } from '../../../src/store/switches/stan-blocks.ts';
import { seededRandom } from '../../../src/tools/simulator/faults.ts';
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

const NEXT_DAY = '2026-03-03';

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(() => testDatabase.database.query('truncate stan_blocks, database_epoch, transactions'));
afterAll(() => testDatabase.drop());

/** By the clock of this machine; the test does not depend on which date it is. */
const today = () => new Date().toISOString().slice(0, 10);
const openProcess = (onSkip?: OnSkip) => openIn(testDatabase, onSkip);

/** Sets the counter of the terminal: the next number, and the first one of today. */
async function setCounter(next: number, firstOfDay = 0): Promise<void> {
  await testDatabase.database.query(
    `insert into stan_blocks (scope, next_value, business_date, day_first) values ($1, $2, $3, $4)
     on conflict (scope) do update set next_value = $2, business_date = $3, day_first = $4`,
    [`${TERMINAL.acquirerId} ${TERMINAL.tid}`, next, DAY, firstOfDay],
  );
}

describe('the numbers of a terminal', () => {
  test('are six digits, begin at 000001 and follow one another', async () => {
    expect(await take(await openProcess(), 250)).toEqual(stansFrom(1, 250));
  });

  test('requested at once are all different', async () => {
    const blocks = await openProcess();
    const taken = await Promise.all(Array.from({ length: 500 }, () => blocks.next(TERMINAL, DAY)));
    expect(taken.map((each) => each?.stan).toSorted()).toEqual(stansFrom(1, 500));
  });

  test('are never the same for two processes', async () => {
    const processes = await Promise.all([openProcess(), openProcess(), openProcess()]);
    const taken = (await Promise.all(processes.map((blocks) => take(blocks, 350)))).flat();
    expect(new Set(taken).size).toBe(3 * 350);
  });

  test('the numbers of a terminal that a process had reserved when it died are lost, not repeated', async () => {
    await take(await openProcess(), 3);
    expect(await take(await openProcess(), 1)).toEqual(stansFrom(BLOCK + 1, 1));
  });

  test('are counted separately from other terminals and acquirers', async () => {
    const blocks = await openProcess();
    const scopes = [TERMINAL, { acquirerId: 1, tid: 'TW000002' }, { acquirerId: 2, tid: 'TW000001' }];
    for (const scope of scopes) expect((await blocks.next(scope, DAY))?.stan).toBe('000001');
  });

  test('continue after 999999 with 000001, and 000000 is not used', async () => {
    await setCounter(LAST_STAN - 50, LAST_STAN - 50);
    const taken = await take(await openProcess(), BLOCK);
    expect(taken).toEqual([...stansFrom(LAST_STAN - 49, 50), ...stansFrom(1, 50)]);
  });
});

describe('a business day', () => {
  test('a business day without numbers left gives none, and the next one continues', async () => {
    await setCounter(LAST_STAN - BLOCK);
    const blocks = await openProcess();
    expect(await take(blocks, BLOCK)).toEqual(stansFrom(LAST_STAN - BLOCK + 1, BLOCK));
    expect(await take(blocks, 2)).toEqual([undefined, undefined]);
    expect(await take(await openProcess(), 1)).toEqual([undefined]);
    expect(await take(blocks, 1, TERMINAL, NEXT_DAY)).toEqual(['000001']);
  });

  test('reserves numbers for reversals: taps get none of them, and reversals do', async () => {
    await setCounter(LAST_STAN - 5 * BLOCK);
    const blocks = await openProcess();
    const takeLeaving = async (leaving: number) => (await blocks.next(TERMINAL, DAY, leaving))?.stan;
    expect(await takeLeaving(5 * BLOCK)).toBeUndefined();
    expect(await takeLeaving(4 * BLOCK)).toBe(stansFrom(LAST_STAN - 5 * BLOCK + 1, 1)[0]);
    // The numbers reserved for the others remain reserved.
    expect(await takeLeaving(0)).toBe(stansFrom(LAST_STAN - 4 * BLOCK + 1, 1)[0]);
    expect(await takeLeaving(0)).toBe(stansFrom(LAST_STAN - 4 * BLOCK + 2, 1)[0]);
    expect(await takeLeaving(4 * BLOCK)).toBe(stansFrom(LAST_STAN - 5 * BLOCK + 2, 1)[0]);
  });

  test('a business day with few numbers left is reported once, and once more if there are none', async () => {
    await setCounter(LAST_STAN - FEW_STANS);
    const reported: unknown[] = [];
    const blocks = await StanBlocks.open(
      testDatabase.database,
      () => {},
      (scope, left) => reported.push([scope, left]),
    );
    await take(blocks, 3 * BLOCK);
    expect(reported).toEqual([[TERMINAL, FEW_STANS - BLOCK]]);
    await setCounter(LAST_STAN);
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

describe('a number that is returned', () => {
  test('is used by the next message, and by one only', async () => {
    const blocks = await openProcess();
    const [first, second] = [await blocks.next(TERMINAL, DAY), await blocks.next(TERMINAL, DAY)];
    first!.putBack();
    first!.putBack();
    expect(await take(blocks, 2)).toEqual(['000001', '000003']);
    second!.putBack();
    expect(await take(blocks, BLOCK)).toEqual(['000002', ...stansFrom(4, BLOCK - 1)]);
  });

  test('is not lost when its block was the last, or another block is in use', async () => {
    const blocks = await openProcess();
    const taken = await Promise.all(Array.from({ length: 250 }, () => blocks.next(TERMINAL, DAY)));
    for (const each of taken) each!.putBack();
    expect((await take(blocks, 3 * BLOCK)).toSorted()).toEqual(stansFrom(1, 3 * BLOCK));
    await setCounter(LAST_STAN - BLOCK);
    const last = await blocks.next(TERMINAL, DAY);
    await take(blocks, BLOCK);
    expect(await take(blocks, 1)).toEqual([undefined]);
    last!.putBack();
    expect(await take(blocks, 2)).toEqual([last!.stan, undefined]);
  });

  test('does not come on another business date', async () => {
    const blocks = await openProcess();
    const before = await blocks.next(TERMINAL, DAY);
    await take(blocks, 1, TERMINAL, NEXT_DAY);
    before!.putBack();
    expect(await take(blocks, BLOCK, TERMINAL, NEXT_DAY)).not.toContain('000001');
  });

  test('stays with its class', async () => {
    const blocks = await openProcess();
    const tap = await blocks.next(TERMINAL, DAY, 4 * BLOCK);
    tap!.putBack();
    expect(await take(blocks, 1)).toEqual(stansFrom(BLOCK + 1, 1));
    expect((await blocks.next(TERMINAL, DAY, 4 * BLOCK))?.stan).toBe('000001');
  });
});

test('a number does not come again in its period, although a new business date has begun: an RRN is the hour and the number', async () => {
  const { database } = testDatabase;
  const [before, after] = [await openProcess(), await openProcess()];
  await take(before, 1);
  // The rest of the business date is used within the hour.
  const used = LAST_STAN - 20 * BLOCK;
  await database.query('update stan_blocks set next_value = $1', [used]);
  await take(before, BLOCK);
  const seen = new Set(['000001']);
  for (;;) {
    const [stan] = await take(after, 1, TERMINAL, NEXT_DAY);
    if (stan === undefined) break;
    expect(seen).not.toContain(stan);
    seen.add(stan);
  }
  expect(seen.size).toBeGreaterThan(BLOCK);
  expect(await after.next(TERMINAL, NEXT_DAY, 4 * BLOCK)).toBeUndefined();
  await database.query(`update stan_blocks set hour_at = hour_at - interval '6 hours'`);
  expect(await take(after, 1, TERMINAL, NEXT_DAY)).toEqual([expect.stringMatching(/^\d{6}$/)]);
});

/** The database and the processes have a clock that the test sets; those of the processes differ by minutes. */
test('no reference comes twice: 150 processes that hold blocks for long, busy hours, and a cut-over that some see later', async () => {
  const HOUR_MS = 3_600_000;
  const random = seededRandom(20_261_124);
  const { database } = testDatabase;
  await database.query(`create schema shifted; create table shifted.clock (by_ms float8); insert into shifted.clock values (0);
    create function shifted.clock_timestamp() returns timestamptz volatile language sql as
      'select pg_catalog.clock_timestamp() + by_ms * interval ''1 ms'' from shifted.clock'`);
  const url = new URL(testDatabase.url);
  url.searchParams.set('options', '-c search_path=shifted,public,pg_catalog');
  const shifted = await openDatabase(url.href, { maxConnections: 4 });
  const startMs = Date.UTC(2026, 10, 24, 9);
  const realMs = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const processes = await Promise.all(Array.from({ length: 150 }, () => StanBlocks.open(shifted)));
    const references = new Set<string>();
    const earlier: number[] = [];
    let taken = 0;
    for (let hour = 0; hour < 24; hour++) {
      const nowMs = startMs + hour * HOUR_MS;
      await shifted.query('update shifted.clock set by_ms = $1', [nowMs - realMs]);
      const wanted = processes.filter(() => random.next() < 0.4 || hour === 0);
      for (const blocks of wanted) {
        const isLate = hour < 16 && processes.indexOf(blocks) % 3 === 0;
        const day = hour < 12 || isLate ? '2026-11-24' : '2026-11-25';
        vi.setSystemTime(nowMs + (random.next() - 0.5) * 240_000);
        for (let count = 0; count < 3; count++) {
          const number = await blocks.next(ACQUIRER, day);
          if (!number) continue;
          taken++;
          earlier.push(Number(number.stan) - 1);
          references.add(retrievalReference(number.rrnAtMs(Date.now()), number.stan));
        }
        // Others use what is before a number that was taken earlier, if the business date and the period allow it.
        if (random.next() < 0.3)
          await shifted.query(
            `update stan_blocks set next_value = next_value + mod($1 - mod(next_value, ${LAST_STAN}) + ${LAST_STAN}, ${LAST_STAN})
             where next_value + mod($1 - mod(next_value, ${LAST_STAN}) + ${LAST_STAN}, ${LAST_STAN}) <= least(day_first, hour_first) + ${LAST_STAN} - ${BLOCK}`,
            [earlier[Math.floor(random.next() * earlier.length)] ?? 0],
          );
      }
    }
    expect(taken).toBeGreaterThan(500);
    expect(references.size).toBe(taken);
  } finally {
    vi.useRealTimers();
    await shifted.end();
    await database.query('drop schema shifted cascade');
  }
});

test('a date of a clock that was years ahead does not keep the numbers of the days until then', async () => {
  const { database } = testDatabase;
  const blocks = await openProcess();
  const isNear = async () => {
    const text = `select business_date < clock_timestamp() + interval '10 days' as "isNear" from stan_blocks`;
    return (await database.query<{ isNear: boolean }>(text)).rows[0]!.isNear;
  };
  expect((await take(blocks, BLOCK + 1, TERMINAL, '2036-01-01')).at(-1)).toBe('000101');
  expect(await isNear()).toBe(true);
  await database.query(`update stan_blocks set business_date = '2036-01-01'`); // by the clock of the database
  await take(blocks, BLOCK, TERMINAL, today());
  expect(await isNear()).toBe(true);
  // All numbers were used in the eight days after that.
  await database.query(
    `update stan_blocks set business_date = business_date - 8, day_first = next_value - ${LAST_STAN}`,
  );
  await take(blocks, BLOCK, TERMINAL, today());
  expect(await take(blocks, 1, TERMINAL, today())).toEqual([expect.stringMatching(/^\d{6}$/)]);
});

test('numbers that a reversal still needs are skipped', async () => {
  const owed = async (acquirerId: number, tid: string, stan: string, reversalState: number) =>
    testDatabase.database.query(
      `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, type,
         device_installation_id, tid, stan, reversal_state, respond_by, created_at, updated_at)
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
  const { rows } = await database.query('explain execute "reserve-stans"(null, false, null, null)');
  await database.end();
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).not.toContain('Seq Scan');
  for (const table of ['transactions_default t_\\d+', 'superseded_attempts s'])
    expect(plan).toMatch(new RegExp(`on ${table} .*\\n *Index Cond: \\(\\(acquirer_id = .*stan = `));
});

test('no numbers follow the reserved ones without a database', async () => {
  const database = await openDatabase(testDatabase.url, { maxConnections: 1 });
  const blocks = await StanBlocks.open(database);
  await take(blocks, 1);
  await database.end();
  expect(await take(blocks, BLOCK - 1)).toEqual(stansFrom(2, BLOCK - 1));
  await expect(blocks.next(TERMINAL, DAY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await expect(blocks.next(TERMINAL, DAY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});

describe('a change of the scope on a business date', () => {
  const WHOLE = { acquirerId: TERMINAL.acquirerId, tid: null };
  const tills = ['TW000001', 'TW000002', 'TW000003'].map((tid) => ({ acquirerId: TERMINAL.acquirerId, tid }));

  /** The counter of a till: the next number, and the first one of the date. */
  async function setTill(tid: string, next: number, firstOfDay: number, day = DAY): Promise<void> {
    await testDatabase.database.query(
      'insert into stan_blocks (scope, next_value, business_date, day_first, reserved_at) values ($1, $2, $3, $4, now())',
      [`${TERMINAL.acquirerId} ${tid}`, next, day, firstOfDay],
    );
  }

  async function setWhole(next: number, firstOfDay: number): Promise<void> {
    await testDatabase.database.query(
      'insert into stan_blocks (scope, next_value, business_date, day_first) values ($1, $2, $3, $4)',
      [`${TERMINAL.acquirerId}`, next, DAY, firstOfDay],
    );
  }

  test('a change of the scope on a business date from the terminal to the acquirer repeats no number of any terminal', async () => {
    const before = await openProcess();
    const used: (string | undefined)[] = [];
    for (const [index, till] of tills.entries()) used.push(...(await take(before, 3 + index * BLOCK, till)));
    const after = await openProcess(); // the new version, within the hour
    const fresh = await take(after, 5 * BLOCK, WHOLE);
    expect(fresh.filter((stan) => used.includes(stan))).toEqual([]);
    expect(new Set(fresh).size).toBe(5 * BLOCK);
  });

  test('concerns a counter of the acquirer that was used before, too', async () => {
    const before = await openProcess();
    await take(before, 3, WHOLE);
    const used = (await Promise.all(tills.map((till) => take(before, 3 * BLOCK, till)))).flat();
    const fresh = await take(await openProcess(), 8 * BLOCK, WHOLE);
    const early = fresh.slice(0, BLOCK).filter((stan) => used.includes(stan)); // none even in the first block
    expect(early).toEqual([]);
    expect(fresh.filter((stan) => used.includes(stan))).toEqual([]);
  });

  test('leaves out what processes of the previous version reserve at the same time', async () => {
    const old = await openProcess();
    await take(old, 3, tills[0]!);
    const fresh = await openProcess();
    const numbers: (string | undefined)[] = [];
    const ofOld: (string | undefined)[] = [];
    for (let round = 0; round < 5; round++) {
      numbers.push(...(await take(fresh, BLOCK, WHOLE)));
      ofOld.push(...(await take(old, BLOCK, tills[0]!)));
    }
    expect(numbers.filter((stan) => ofOld.includes(stan))).toEqual([]);
  });

  test('a change of the scope on a business date from the acquirer to the terminal repeats no number either', async () => {
    const used = await take(await openProcess(), 250, WHOLE);
    const fresh = await take(await openProcess(), 250, tills[1]!);
    expect(fresh.filter((stan) => used.includes(stan))).toEqual([]);
    // Terminals are independent of one another.
    expect((await take(await openProcess(), 1, tills[2]!))[0]).toBe(fresh[0]);
  });

  test('begins in the longest range that no terminal has used, also past 999999', async () => {
    await setTill('TW000001', 1_000_500, 990_000); // 990001 to 999999, then 000001 to 000501
    await setTill('TW000002', 400_000, 300_000);
    await setTill('TW000003', 700_000, 500_000);
    // 400001 to 500000 are 100,000 numbers, 700001 to 990000 are 290,000, 000502 to 300000 are 299,499.
    const [first] = await take(await openProcess(), 1, WHOLE);
    expect(Number(first)).toBe(502 + 10 * BLOCK);
  });

  test('ends the business date with the range, and the next date has all numbers again', async () => {
    await setTill('TW000001', 500_000, 0);
    await setTill('TW000002', 998_000, 502_200); // 501001 to 502200 are free between the two
    await setWhole(499_999, 499_999);
    const blocks = await openProcess();
    expect(await take(blocks, 1_200, WHOLE)).toEqual(stansFrom(501_001, 1_200));
    expect((await take(blocks, 1, WHOLE))[0]).toBeUndefined();
    expect((await take(blocks, 1, WHOLE, NEXT_DAY))[0]).toMatch(/^\d{6}$/);
  });

  test('a change of the scope on a business date without a free range waits for the next business date', async () => {
    await setTill('TW000001', 500_000, 0);
    await setTill('TW000002', 1_000_000, 500_000);
    const blocks = await openProcess();
    expect(await take(blocks, 1, WHOLE)).toEqual([undefined]);
    expect((await take(await openProcess(), 1, WHOLE, NEXT_DAY))[0]).toMatch(/^\d{6}$/);
  });

  test('keeps clear of the last numbers of the business date before', async () => {
    await setTill('TW000001', 5_000, 0, '2026-03-01');
    await setWhole(4_200, 4_200);
    expect(await take(await openProcess(), 1, WHOLE)).toEqual([stansFrom(5_001 + 10 * BLOCK, 1)[0]]);
  });

  test('ignores terminals that have sent nothing for a week', async () => {
    await setTill('TW000001', 4_711, 0, '2026-02-20');
    expect(await take(await openProcess(), 1, WHOLE)).toEqual(['000001']);
  });

  test('does not concern network messages or other acquirers', async () => {
    const blocks = await openProcess();
    await take(blocks, 3, { acquirerId: TERMINAL.acquirerId, tid: 'network 2' });
    await take(blocks, 3, { acquirerId: 12, tid: 'TW000001' });
    expect(await take(blocks, 1, WHOLE)).toEqual(['000001']);
  });
});
