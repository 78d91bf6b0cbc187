import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { NewAttempt, SingleUse } from '../../../src/payments/ports/store-ports.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { newAttempt } from './new-attempt.ts';
import { rememberJobs } from './remember-jobs.ts';

/** The commits that let a value be used once. */
let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
/** Of another process. */
let otherStore: PostgresTransactionStore;
const { jobs } = rememberJobs();
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  store = new PostgresTransactionStore(testDatabase.database, jobs, failOnBug);
  otherStore = new PostgresTransactionStore(testDatabase.database, jobs, failOnBug);
});
afterAll(() => testDatabase.drop());

function freshUse(): SingleUse {
  return { hash: randomBytes(16).toString('hex') };
}

function tapWith(uses: readonly SingleUse[], changes: Partial<Transaction> = {}): NewAttempt {
  const named = { id: randomUUID(), merchantReference: randomUUID() };
  const transaction = sampleTransaction({ ...named, status: Status.ReadyToSubmitToPaymentProcessor, ...changes });
  return newAttempt(transaction, { uses });
}

/** The row of a tap that reached no switch. */
async function unsent(uses: readonly SingleUse[], changes: Partial<Transaction> = {}): Promise<NewAttempt> {
  const result = { disposition: Disposition.UnableToGoOnline, status: Status.RespondedToPhone };
  const tap = tapWith(uses, { ...result, ...changes });
  expect(await store.insert(tap)).toBe('inserted');
  return tap;
}

function again({ transaction }: NewAttempt, uses: readonly SingleUse[]): NewAttempt {
  return { ...tapWith(uses, { ...transaction, attempt: 2, disposition: null }) };
}

async function storedUses(uses: readonly SingleUse[]): Promise<number> {
  const hashes = uses.map(({ hash }) => hash);
  const { rows } = await testDatabase.database.query<{ count: number }>(
    'select count(*)::integer as count from used_values where hash = any($1::uuid[])',
    [hashes],
  );
  return rows[0]!.count;
}

describe('a value that a tap has used', () => {
  test('is refused to every other reference, of the same and of another acquirer, and nothing of theirs is stored', async () => {
    const use = freshUse();
    expect(await store.insert(tapWith([use]))).toBe('inserted');
    for (const changes of [{}, { merchantId: '1002' }, { acquirerId: 2 }]) {
      const [copy, unused] = [tapWith([], changes), freshUse()];
      expect(await otherStore.insert({ ...copy, uses: [use, unused] })).toBe('copied');
      expect(await store.find(copy.transaction)).toBeUndefined();
      expect(await storedUses([unused])).toBe(0);
    }
  });

  test('is used once by copies in one batch, and in the batches of two processes', async () => {
    const use = freshUse();
    const copies = Array.from({ length: 20 }, (_, n) => tapWith([use], { acquirerId: 1 + (n % 2) }));
    const outcomes = await Promise.all(copies.map((copy, n) => (n % 4 < 2 ? store : otherStore).insert(copy)));
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'copied')).toHaveLength(19);
  });

  test('goes to the same one of the copies in a batch as their other values', async () => {
    for (let round = 0; round < 10; round++) {
      const uses = [freshUse(), freshUse()];
      const copies = Array.from({ length: 40 }, () => tapWith(uses));
      const outcomes = await Promise.all(copies.map((copy) => store.insert(copy)));
      expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1);
    }
  });

  test('does not stop batches that bring the same copies in opposite orders', async () => {
    const uses = Array.from({ length: 40 }, freshUse);
    const outcomes = await Promise.all([
      ...uses.map((use) => store.insert(tapWith([use]))),
      ...uses.toReversed().map((use) => otherStore.insert(tapWith([use]))),
    ]);
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(40);
  });

  test('is found by a hash under an earlier key, which is not recorded itself', async () => {
    const [earlier, current] = [freshUse(), freshUse()];
    expect(await store.insert(tapWith([earlier]))).toBe('inserted');
    const sought = { ...earlier, isOnlySought: true };
    expect(await store.insert(tapWith([current, sought]))).toBe('copied');
    const unknown = { ...freshUse(), isOnlySought: true };
    expect(await store.insert(tapWith([current, unknown]))).toBe('inserted');
    expect(await storedUses([current, unknown])).toBe(1);
  });

  test('is used again under the same reference while nothing reached a switch, also beside an attempt that came first', async () => {
    const use = freshUse();
    const tap = await unsent([use]);
    // The repeat of the request draws a new id.
    expect(['copied', 'exists']).toContain(
      await store.insert(tapWith([use], { ...tap.transaction, id: randomUUID() })),
    );
    const other = freshUse();
    const unborn = tapWith([other], { merchantReference: tap.transaction.merchantReference });
    expect(await store.insert(unborn)).toBe('exists');
    expect(await store.retry(again(tap, [use, other]))).toBe(true);
  });

  test('is refused to the next attempt of another reference', async () => {
    const use = freshUse();
    expect(await store.insert(tapWith([use]))).toBe('inserted');
    const tap = await unsent([freshUse()]);
    expect(await store.retry(again(tap, [use]))).toBe(false);
    expect(await store.retry(again(tap, [freshUse()]))).toBe(true);
  });
});

test('a row that a cell receives for a value that it has, is left out', async () => {
  const use = freshUse();
  expect(await store.insert(tapWith([use]))).toBe('inserted');
  const client = await testDatabase.database.connect();
  try {
    await client.query('set session_replication_role = replica');
    const insert =
      'insert into public.used_values (hash, used_by, acquirer_id) values ($1::uuid, gen_random_uuid(), 2)';
    // As in a process of replication.
    await client.query('set search_path = pg_catalog');
    expect((await client.query(insert, [use.hash])).rowCount).toBe(0);
    expect((await client.query(insert, [freshUse().hash])).rowCount).toBe(1);
  } finally {
    client.release(true);
  }
});
