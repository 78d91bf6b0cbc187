import { afterAll, beforeAll, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import { countedBetween, FiguresRecorder } from '../../../src/console/figures-recorder.ts';
import type { ProcessFigures } from '../../../src/observe/figures.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

/** Only what is recorded. */
function figures(approved: number, declined: number, slow: number): ProcessFigures {
  const outcome = (processor: string, disposition: string, count: number) => ({
    ...{ processor, disposition, count },
    scheme: 'Visa',
  });
  return {
    outcomes: [
      outcome('1 2', 'Approved', approved),
      outcome('1 2', 'Declined', declined),
      outcome('', 'UnableToGoOnline', approved),
    ],
    declines: [{ processor: '1 2', code: '51', count: declined }],
    switches: [{ name: '1 2', roundTrips: { bounds: [0.1, 1], counts: [approved, 0, slow] } }],
  } as unknown as ProcessFigures;
}

test('what was counted since the last reading, without taps that no switch saw', () => {
  expect(countedBetween(undefined, figures(3, 0, 0))).toEqual([
    { acquirerId: 1, processorId: 2, outcomes: { Approved: 3 }, declines: {}, roundTrips: { '0.1': 3 } },
  ]);
  expect(countedBetween(figures(3, 0, 0), figures(3, 2, 1))).toEqual([
    { acquirerId: 1, processorId: 2, outcomes: { Declined: 2 }, declines: { 51: 2 }, roundTrips: { '+Inf': 1 } },
  ]);
  expect(countedBetween(figures(3, 2, 1), figures(3, 2, 1))).toEqual([]);
});

test('the connections of a switch that were opened again count from zero', () => {
  expect(countedBetween(figures(9, 0, 7), figures(9, 0, 2))).toEqual([]);
});

test('nothing is lost while the database is down, and nothing is stored twice when its response is lost', async () => {
  const { database } = testDatabase;
  let now = figures(0, 0, 0);
  let fault: 'before' | 'after' | undefined;
  const connect = async () => {
    if (fault === 'before') throw new Error('down');
    const client = await database.connect();
    const lost = fault === 'after';
    return new Proxy(client, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'query' || !lost) return value.bind(target);
        return async (...args: [string]) => {
          const result = await target.query(...args);
          if (args[0] === 'commit') throw new Error('the response is lost');
          if (args[0] === 'rollback') throw new Error('as is this one');
          return result;
        };
      },
    });
  };
  const errors: unknown[] = [];
  const recorder = new FiguresRecorder({
    database: { connect } as unknown as Database,
    read: async () => now,
    onError: (error) => errors.push(error),
  });
  const record = (approved: number, with_?: typeof fault) => {
    now = figures(approved, 0, 0);
    fault = with_;
    return recorder.record();
  };
  await record(1);
  await expect(record(3, 'before')).rejects.toThrow(StoreUnavailable);
  await record(4);
  await expect(record(6, 'after')).rejects.toMatchObject({ mayBeStored: true });
  await record(7);
  now = figures(9, 0, 0);
  await recorder.stop();
  expect(errors).toEqual([]);
  const { rows } = await database.query(`select outcomes from stored_figures where minutes = 360`);
  const sum = rows.reduce((all, { outcomes }) => all + outcomes.Approved, 0);
  expect(sum).toBe(9);
});
