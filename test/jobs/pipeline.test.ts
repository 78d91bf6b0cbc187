import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobTable } from '../../src/jobs/job-table.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { outcomeOf } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { jobsOf, storedTransaction, trailOf, untilAnswered, untilStatus } from '../support/transactions.ts';

let installation: Installation;
let jobs: JobTable;
beforeAll(async () => {
  installation = await startInstallation();
  jobs = await JobTable.open(installation.database, failOnBug);
});
afterAll(async () => {
  await expectSoundStates(installation.database);
  await jobs.close();
  await installation.stop();
});

/**
 * An approved tap in the state after its process died before it recorded the response: 7, with its job due in a second.
 */
async function unrecordedTap(): Promise<string> {
  const { database } = installation;
  const answer = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  const { id } = await untilAnswered(database, answer.serviceReference);
  await inTransaction(database, async (client) => {
    await client.query('update transactions set status = 7 where id = $1', [id]);
    await jobs.enqueue(client, [{ queue: 'overdue', data: { acquirerId: 1, id, attempt: 1 }, startAfterSeconds: 1 }]);
  });
  return id;
}

test('an outcome that no phone took comes to rest as FailedToRespondToPhone, and its job is removed', async () => {
  const { database } = installation;
  const id = await unrecordedTap();
  await untilStatus(database, id, 'FailedToRespondToPhone');
  expect((await trailOf(database, id)).at(-1)).toBe('FailedToRespondToPhone');
  await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
});

test('the job that lets a transaction rest exists until its record is committed', async () => {
  const { database } = installation;
  const holder = await database.connect();
  let id = '';
  try {
    await holder.query('begin');
    id = await unrecordedTap();
    await holder.query('select from transactions where id = $1 for update', [id]);
    // The record waits for the row, and the job is active by now.
    await eventually(async () => {
      const { rows } = await database.query('select from pg_locks where not granted');
      expect(rows.length).toBeGreaterThan(0);
    });
    await expectSoundStates(database);
    expect(await storedTransaction(database, id)).toMatchObject({ status: 'ResponseReceivedFromPaymentProcessor' });
  } finally {
    await holder.query('commit');
    holder.release();
  }
  await untilStatus(database, id, 'FailedToRespondToPhone');
});
