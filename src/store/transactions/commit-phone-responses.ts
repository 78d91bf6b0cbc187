import type pg from 'pg';
import type { PhoneResponseRecord } from '../../payments/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite, storedEntries, unreportedUpdate } from './guarded-update.ts';

const batch = new ColumnBatch({ ...GUARDED_COLUMNS, fromStatus: 'integer', status: 'integer' });

const UPDATE = {
  rows: batch.rows,
  set: 'status = x.status, updated_at = clock_timestamp()',
  guard: 't.attempt = x.attempt and t.status = x."fromStatus"',
  attempts: 'close',
} as const;

const RECORD_RESPONSES = unreportedUpdate(UPDATE);

/**
 * Records which phones got their response: their transactions rest. No request waits for this commit. If a crash loses
 * it, only the last status differs: `FailedToRespondToPhone` instead of `RespondedToPhone`. So it does not wait for the
 * disk.
 */
export async function commitResponses(
  client: pg.PoolClient,
  responses: readonly PhoneResponseRecord[],
): Promise<true[]> {
  await Promise.all([
    client.query('set local synchronous_commit = off'),
    client.query({ name: 'record-responses', text: RECORD_RESPONSES, values: batch.values(responses.map(rowOf)) }),
  ]);
  return responses.map(() => true as const);
}

const ACKNOWLEDGE = guardedUpdate({ ...UPDATE, guard: `${UPDATE.guard} and t.disposition is not null` });

/** Commits acknowledgements of devices; false if the row has changed meanwhile. */
export const commitAcknowledgements = guardedWrite({
  name: 'commit-acknowledgements',
  batch,
  text: ACKNOWLEDGE,
  rowOf,
  jobsOf: () => ({}),
});

function rowOf(record: PhoneResponseRecord) {
  return { ...record, auditEntries: storedEntries(record.auditEntries) };
}
