import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UnfitValue } from '../../../src/basics/errors.ts';
import { ColumnBatch } from '../../../src/store/postgres/column-batch.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const ID = '8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60';

const batch = new ColumnBatch({
  n: 'integer',
  amountMinor: 'bigint',
  seconds: 'float8',
  words: 'text',
  id: 'uuid',
  moves: 'jsonb',
  isDone: 'boolean',
  sealed: 'bytes',
  movedAtMs: 'ms',
  never: 'text',
});

describe('rows in a statement', () => {
  let testDatabase: TestDatabase;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
  });
  afterAll(() => testDatabase.drop());

  const through = async (rows: Parameters<typeof batch.values>[0]) => {
    const text = `with x as (${batch.rows}) select *, "movedAtMs"::text as moved from x`;
    return (await testDatabase.database.query({ text, values: batch.values(rows) })).rows;
  };

  test('arrive unchanged, of every type, with nulls between', async () => {
    const full = {
      n: -7,
      amountMinor: 999_999_999_999,
      seconds: 0.25,
      words: `Zoë's "café" \\ {a,b} 🪙`,
      id: ID.toUpperCase(),
      moves: [{ from: null, to: 'RequestReceived' }, `ü"`],
      isDone: true,
      sealed: Uint8Array.of(0, 255, 92, 39),
      movedAtMs: Date.UTC(1999, 11, 31, 23, 59, 59, 999),
    };
    const [first, empty, last] = await through([
      full,
      { n: 1, moves: null },
      { ...full, n: 2 ** 31 - 1, amountMinor: -1, isDone: false, words: '', movedAtMs: 1_795_206_182_485 },
    ]);
    expect(first).toMatchObject({
      n: -7,
      amountMinor: 999_999_999_999,
      seconds: 0.25,
      words: full.words,
      id: ID,
      moves: full.moves,
      isDone: true,
      sealed: Buffer.of(0, 255, 92, 39),
      moved: '1999-12-31 23:59:59.999+00',
      never: null,
    });
    expect(empty).toMatchObject({ n: 1, amountMinor: null, words: null, id: null, moves: null, sealed: null });
    expect(last).toMatchObject({
      n: 2 ** 31 - 1,
      amountMinor: -1,
      isDone: false,
      words: '',
      moved: '2026-11-20 20:23:02.485+00',
    });
  });

  test('are empty without rows', async () => {
    expect(await through([])).toEqual([]);
  });

  test.each([
    ['an integer beyond 32 bits', { n: 2 ** 31 }, '22003'],
    ['a broken number', { n: 1.5 }, '22003'],
    ['an amount beyond 53 bits', { amountMinor: 2 ** 53 }, '22003'],
    ['an invalid time', { movedAtMs: Number.NaN }, '22003'],
    ['a short uuid', { id: ID.slice(1) }, '22P02'],
    ['a uuid with another letter', { id: ID.replace('f', 'g') }, '22P02'],
    ['a uuid of other characters', { id: 'é'.repeat(36) }, '22P02'],
  ])('%s is a fault of its row, described without its value', (_, row, code) => {
    const refused = expect(() => batch.values([row]));
    refused.toThrow(UnfitValue);
    refused.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(/a value does not fit a column of \w+$/) }),
    );
  });

  test('text that Postgres cannot store is refused by it, as a fault of one row', async () => {
    await expect(through([{ words: 'a\0b' }])).rejects.toMatchObject({ code: '22021' });
  });
});
