import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { OpenAttempts } from '../../../src/store/transactions/open-attempts.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
/** Of two workers. */
let one: OpenAttempts;
let other: OpenAttempts;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  one = new OpenAttempts(testDatabase.database);
  other = new OpenAttempts(testDatabase.database);
});
afterAll(() => testDatabase.drop());
beforeEach(() => testDatabase.database.query('delete from open_attempts'));

/** @param dueSeconds from now; negative: overdue */
async function open(dueSeconds: number, acquirerId = 1) {
  const id = randomUUID();
  await testDatabase.database.query(
    `insert into open_attempts values ($1, $2, 1, clock_timestamp() + $3 * interval '1 s')`,
    [acquirerId, id, dueSeconds],
  );
  return { acquirerId, id, attempt: 1 };
}

async function letTimePass(seconds: number): Promise<void> {
  await testDatabase.database.query(`update open_attempts set due_at = due_at - $1 * interval '1 s'`, [seconds]);
}

test('an overdue attempt is given to one worker at a time, the one that has waited longest first', async () => {
  const [later, first] = [await open(-10), await open(-60)];
  await open(60);
  const both = await Promise.all([one.takeOverdue(1), other.takeOverdue(1)]);
  expect(both.flat().map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, later.id]));
  expect(await one.takeOverdue(64)).toEqual([]);
});

test('an attempt of a worker that died is given to another one', async () => {
  const attempt = await open(-1);
  expect(await one.takeOverdue(64)).toEqual([attempt]);
  await letTimePass(14);
  expect(await other.takeOverdue(64)).toEqual([]);
  await letTimePass(1);
  expect(await other.takeOverdue(64)).toEqual([attempt]);
});

test('a worker neither closes nor postpones the next attempt of a transaction', async () => {
  const attempt = await open(-1);
  await one.takeOverdue(64);
  await testDatabase.database.query('update open_attempts set attempt = 2, due_at = clock_timestamp()');
  await one.close(attempt);
  await one.postpone(attempt, 60);
  expect(await other.takeOverdue(64)).toEqual([{ ...attempt, attempt: 2 }]);
});

test('attempts of an acquirer that another cell serves are copies, and do not delay the others', async () => {
  const { database } = testDatabase;
  const [moved, own] = [await open(-60, 7), await open(-1, 1)];
  await database.query(`insert into acquirer_cells (acquirer_id, generation, state, peer) values (7, 1, 'gone', 'b')`);
  expect(await one.takeOverdue(1)).toEqual([own]);
  await database.query(`update acquirer_cells set state = 'serving'`);
  expect(await one.takeOverdue(64)).toEqual([moved]);
});
