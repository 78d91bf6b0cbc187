import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobTable } from '../../src/jobs/job-table.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, trailOf, untilResponded, untilStatus } from '../support/transactions.ts';

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

/** An approved tap in the state after its process died before it recorded the response: 7, overdue in a second. */
async function unrecordedTap(): Promise<string> {
  const { database } = installation;
  const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  const { id } = await untilResponded(database, response.serviceReference);
  await inTransaction(database, async (client) => {
    await client.query('update transactions set status = 7 where id = $1', [id]);
    await client.query(`insert into open_attempts values (1, $1, 1, clock_timestamp() + interval '1 s')`, [id]);
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

test('attempts that are overdue together come to rest as well, each from its own state', async () => {
  const { database } = installation;
  const ids: string[] = [];
  for (let tap = 0; tap < 3; tap++) {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    ids.push((await untilResponded(database, response.serviceReference)).id);
  }
  const [unrecorded, withoutResponse, responded] = ids as [string, string, string];
  const absent = randomUUID();
  await inTransaction(database, async (client) => {
    await client.query('update transactions set status = 7 where id = $1', [unrecorded]);
    const submitted = `status = 4, disposition = null, response_code = null, deadline_at = clock_timestamp() - interval '1 minute'`;
    await client.query(`update transactions set ${submitted} where id = $1`, [withoutResponse]);
    const overdue = `insert into open_attempts select 1, id, 1, clock_timestamp() from unnest($1::uuid[]) id`;
    await client.query(overdue, [[absent, ...ids]]);
  });
  await untilStatus(database, unrecorded, 'FailedToRespondToPhone');
  await untilStatus(database, withoutResponse, 'NoResponseFromPaymentProcessor');
  expect(await storedTransaction(database, responded)).toMatchObject({ status: 'RespondedToPhone' });
  await eventually(async () => {
    const { rows } = await database.query('select id from open_attempts');
    expect(rows).toEqual([{ id: withoutResponse }]); // until its phone may have disconnected
  });
});
