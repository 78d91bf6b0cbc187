import type pg from 'pg';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import type { PhoneResponseRecord } from '../../payments/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite, storedEntries, unreportedUpdate } from './guarded-update.ts';
import type { JobsInCommit, SharedJob, SharedTimers } from './jobs-in-commit.ts';

const batch = new ColumnBatch({ ...GUARDED_COLUMNS, fromStatus: 'integer', status: 'integer' });

const UPDATE = {
  rows: batch.rows,
  set: 'status = x.status, updated_at = clock_timestamp()',
  guard: 't.attempt = x.attempt and t.status = x."fromStatus"',
};

const RECORD_RESPONSES = unreportedUpdate(UPDATE);

/**
 * Records which phones got their response, and removes the `overdue` jobs that guarded it. No request waits for this
 * commit. If a crash loses it, only the last status differs: `FailedToRespondToPhone` instead of
 * `RespondedToPhone`. So it does not wait for the disk.
 */
export async function commitResponses(
  client: pg.PoolClient,
  responses: readonly PhoneResponseRecord[],
  jobs: JobsInCommit,
  timers: SharedTimers,
): Promise<true[]> {
  const { own, shared } = timers.jobsWithoutUse(responses.flatMap(({ overdueJob }) => overdueJob ?? []));
  await Promise.all([
    client.query('set local synchronous_commit = off'),
    client.query({ name: 'record-responses', text: RECORD_RESPONSES, values: batch.values(responses.map(rowOf)) }),
    own.length > 0 && jobs.remove(client, 'overdue', own),
  ]);
  const ended = shared.length > 0 ? await findEnded(client, shared) : [];
  if (ended.length > 0) await jobs.remove(client, 'overdue-taps', ended);
  return responses.map(() => true as const);
}

const named = new ColumnBatch({ job: 'uuid', acquirerId: 'integer', id: 'uuid', attempt: 'integer' });

const ENDED = `
with x as (${named.rows}),
needed as materialized (
  select x.job from x join transactions t on t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt
  where t.status in (${MUST_NOT_REST.join()})
)
select distinct x.job as id from x where x.job not in (select needed.job from needed)`;

/** The jobs none of whose taps needs to be moved on. */
async function findEnded(client: pg.PoolClient, shared: readonly SharedJob[]): Promise<string[]> {
  const taps = shared.flatMap(({ id: job, data }) =>
    data.taps.map((tap) => ({ job, acquirerId: data.acquirerId, ...tap })),
  );
  const { rows } = await client.query<{ id: string }>({
    name: 'find-ended-jobs',
    text: ENDED,
    values: named.values(taps),
  });
  return rows.map(({ id }) => id);
}

const ACKNOWLEDGE = guardedUpdate({ ...UPDATE, guard: `${UPDATE.guard} and t.disposition is not null` });

/**
 * Commits acknowledgements of devices and removes the jobs that guarded them; false if the row has changed meanwhile.
 */
export const commitAcknowledgements = guardedWrite({
  name: 'commit-acknowledgements',
  batch,
  text: ACKNOWLEDGE,
  rowOf,
  jobsOf: ({ overdueJob }) => ({ remove: overdueJob === null ? [] : [{ queue: 'overdue', ids: [overdueJob] }] }),
});

function rowOf(record: PhoneResponseRecord) {
  return { ...record, auditEntries: storedEntries(record.auditEntries) };
}
