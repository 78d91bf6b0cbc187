import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HISTORY_RANGES } from '../../../schemas/console.ts';
import { createHistoryReader } from '../../../src/console/history.ts';
import { addFigures, type CountedSwitch } from '../../../src/console/store/stored-figures.ts';
import { TransactionLists } from '../../../src/console/store/transaction-list.ts';
import { type Database, openAlike } from '../../../src/store/postgres/open-database.ts';
import { FIGURE_SPANS, purge } from '../../../src/store/transactions/purge.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let database: Database;
/** Another gateway process has connections of its own. */
let other: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = testDatabase.database;
  other = openAlike(database, { maxConnections: 4 });
});
afterAll(async () => {
  await other.end();
  await testDatabase.drop();
});
beforeEach(() => database.query('truncate stored_figures'));

const counted = (acquirerId: number, processorId: number, given: Partial<CountedSwitch> = {}): CountedSwitch => ({
  ...{ acquirerId, processorId, outcomes: {}, declines: {}, roundTrips: {} },
  ...given,
});
const read = (own: number | undefined, query: Parameters<ReturnType<typeof createHistoryReader>>[1]) =>
  createHistoryReader(new TransactionLists(database))({ acquirerId: own }, query);

describe('stored figures', () => {
  const counts = (keys: readonly string[]) =>
    fc.dictionary(fc.constantFrom(...keys), fc.integer({ min: 1, max: 1_000_000 }));
  const switches = fc.array(
    fc.record({
      acquirerId: fc.integer({ min: 1, max: 3 }),
      processorId: fc.integer({ min: 1, max: 3 }),
      outcomes: counts(['Approved', 'Declined', 'Indeterminate']),
      declines: counts(['51', '05', 'other']),
      roundTrips: counts(['0.001', '0.05', '+Inf']),
    }),
    { maxLength: 6 },
  );

  test('stored figures of several processes are summed, each tenant sees its own, one switch can be chosen', async () => {
    const adds = fc.array(switches, { minLength: 1, maxLength: 6 });
    const check = async (given: CountedSwitch[][]) => {
      await database.query('truncate stored_figures');
      const reports = given.map((each) => Object.values(Object.fromEntries(each.map((one) => [nameOf(one), one]))));
      await Promise.all(reports.map((report, n) => addFigures(n % 2 === 0 ? database : other, report, 0)));
      const all = reports.flat();
      for (const own of [undefined, 1, 2]) {
        const inSight = all.filter(({ acquirerId }) => own === undefined || acquirerId === own);
        const { points, switches: shown, declines } = await read(own, { range: '30d' });
        expect(total(points.map(({ outcomes }) => outcomes))).toEqual(total(inSight.map(({ outcomes }) => outcomes)));
        expect(Object.fromEntries(declines.map(({ code, count }) => [code, count]))).toEqual(
          total(inSight.map((each) => each.declines)),
        );
        const named = Map.groupBy(inSight.filter(isNotEmpty), nameOf);
        expect(new Set(shown.map(nameOf))).toEqual(new Set(named.keys()));
        for (const each of shown)
          expect(each.outcomes).toEqual(total(named.get(nameOf(each))!.map(({ outcomes }) => outcomes)));
      }
      const chosen = await read(undefined, { range: '1h', acquirer: 1, processor: 2 });
      const ofChosen = all.filter((each) => nameOf(each) === '1 2').map(({ outcomes }) => outcomes);
      expect(total(chosen.points.map(({ outcomes }) => outcomes))).toEqual(total(ofChosen));
    };
    await fc.assert(fc.asyncProperty(adds, check), { numRuns: 25 });
  });

  test('stored figures of another acquirer are out of sight, also for a request that names it', async () => {
    await addFigures(database, [counted(2, 1, { outcomes: { Approved: 7 } })], 0);
    const { points, switches: shown, declines } = await read(1, { range: '1h', acquirer: 2, processor: 1 });
    expect([points, shown, declines]).toEqual([[], [], []]);
  });

  test('are in each range, in as many points as it has spans', async () => {
    await addFigures(database, [counted(1, 1, { outcomes: { Approved: 5 }, roundTrips: { '0.05': 4 } })], 0);
    for (const [range, { minutes, spanMinutes }] of Object.entries(HISTORY_RANGES)) {
      const { points, switches: shown } = await read(undefined, { range: range as keyof typeof HISTORY_RANGES });
      expect(points.length).toBe(minutes / spanMinutes);
      const full = points.filter(({ outcomes, p50 }) => outcomes.Approved !== undefined || p50 !== null);
      expect(full, range).toMatchObject([{ outcomes: { Approved: 5 } }]);
      expect(points.slice(-2), range).toContain(full[0]); // a span may have begun meanwhile
      // All are in the bucket from 20 to 50 ms.
      expect(shown).toMatchObject([{ p50: 35, p99: expect.closeTo(49.7) }]);
    }
  });

  test('stored figures of a time to come are out of sight after the clock of the database was set back, those before remain', async () => {
    await addFigures(database, [counted(1, 1, { outcomes: { Approved: 2 } })], 300);
    await addFigures(database, [counted(1, 1, { outcomes: { Approved: 3 } })], -7_200);
    const { points, switches: shown } = await read(undefined, { range: '1h' });
    expect([points.length, total(points.map(({ outcomes }) => outcomes))]).toEqual([60, { Approved: 2 }]);
    expect(shown).toMatchObject([{ outcomes: { Approved: 2 } }]);
  });

  test('are deleted span by span, after the range that they serve', async () => {
    const insert = `insert into stored_figures
      select 1, 1, minutes, now() - age, '{}', '{}', '{}' from unnest($1::smallint[]) minutes,
      unnest(array[interval '1 hour', '25 hours', '3 days', '9 days', '33 days']) age`;
    await database.query(insert, [FIGURE_SPANS.map(({ minutes }) => minutes)]);
    const retention = { cardDays: 90, auditDays: 2_557, webhookDays: 90, linkDays: 90, messageDays: 30 };
    while ((await purge(database, retention)) === 'more');
    const { rows } = await database.query<{ minutes: number; kept: number }>(
      'select minutes, count(*)::int as kept from stored_figures group by minutes order by minutes',
    );
    expect(rows.map(({ minutes, kept }) => [minutes, kept])).toEqual([
      [1, 1],
      [5, 1],
      [15, 2],
      [60, 3],
      [360, 4],
    ]);
    for (const { minutes, spanMinutes } of Object.values(HISTORY_RANGES)) {
      const span = FIGURE_SPANS.find((each) => each.minutes === spanMinutes)!;
      expect(span.keptDays * 1_440).toBeGreaterThanOrEqual(minutes + span.minutes);
    }
  });
});

function nameOf({ acquirerId, processorId }: { readonly acquirerId: number; readonly processorId: number }): string {
  return `${acquirerId} ${processorId}`;
}

function isNotEmpty({ outcomes, declines, roundTrips }: CountedSwitch): boolean {
  return [outcomes, declines, roundTrips].some((each) => Object.keys(each).length > 0);
}

function total(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const each of all) for (const [key, count] of Object.entries(each)) sums[key] = (sums[key] ?? 0) + count;
  return sums;
}
