import type pg from 'pg';
import type { LateRecord, LateRecordOutcome, OriginalFacts, ResponseIdentity } from '../../transactions/ports.ts';
import { ReversalState, type Transaction } from '../../transactions/transaction.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import type { Database } from '../postgres/open-database.ts';
import { findTransactions } from './find-transactions.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

/** Different answers to one request that are kept: one is usual, two are a switch in trouble, and more prove nothing new. */
const MAX_ANSWERS = 8;

const identities = new ColumnBatch({
  n: 'integer',
  acquirerId: 'integer',
  processorId: 'integer',
  stan: 'text',
  tid: 'text',
  rrn: 'text',
  transmissionDateTime: 'text',
});

// The identity names at most one request of a day; should a year-old one have the same DE7, the newest is meant.
const FIND_UNCERTAIN = `
select distinct on (x.n) x.n, t.acquirer_id as "acquirerId", t.id
from (${identities.rows}) as x
join transactions t on t.acquirer_id = x."acquirerId" and t.tid = x.tid and t.stan = x.stan and t.reversal_state <> 0
join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id and r.processor_id = x."processorId"
where t.rrn = x.rrn or to_char(t.sent_at at time zone 'UTC', 'MMDDHH24MISS') = x."transmissionDateTime"
order by x.n, t.created_at desc`;

export async function findUncertain(
  database: Database,
  responses: readonly ResponseIdentity[],
): Promise<(Transaction | undefined)[]> {
  const records = responses.map(({ acquirerId, processorId, stan, tid, rrn, transmissionDateTime }, n) => {
    return { n, acquirerId, processorId, stan, tid, rrn, transmissionDateTime };
  });
  const { rows } = await database.query<{ n: number; acquirerId: number; id: string }>({
    name: 'find-uncertain',
    text: FIND_UNCERTAIN,
    values: identities.values(records),
  });
  const transactions = new Map((await findTransactions(database, rows)).map((found) => [found.id, found]));
  const ids = new Map(rows.map(({ n, id }) => [n, id]));
  return responses.map((_, n) => transactions.get(ids.get(n) ?? ''));
}

const FIND_ORIGINAL_FACTS = `
select extract(epoch from clock_timestamp() - t.deadline_at)::float8 as "sinceDeadlineSeconds",
  t.response_code is not null or exists (select from late_responses l where l.acquirer_id = t.acquirer_id and l.transaction_id = t.id and l.attempt = t.attempt) as "wasAnswered",
  coalesce(greatest(extract(epoch from t.completing_until - clock_timestamp()), 0), 0)::float8 as "completingSeconds",
  a.authorization_code is not null as "wasApprovedLate", nullif(a.authorization_code, '') as "lateAuthorizationCode"
from transactions t
left join lateral (
  select authorization_code from late_responses l
  where l.acquirer_id = t.acquirer_id and l.transaction_id = t.id and l.attempt = t.attempt and l.kind = 'approved'
  order by came_at limit 1
) a on true
where t.acquirer_id = $1 and t.id = $2`;

export async function findOriginalFacts(database: Database, { acquirerId, id }: Transaction): Promise<OriginalFacts> {
  const { rows } = await database.query<OriginalFacts>({
    name: 'find-original-facts',
    text: FIND_ORIGINAL_FACTS,
    values: [acquirerId, id],
  });
  return rows[0]!;
}

// The row is locked first, so that the answer is recorded and the reversal re-armed together or not at all.
const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromState: 'integer',
  fromAttempt: 'integer',
  isRearmed: 'boolean',
  kind: 'text',
  responseCode: 'text',
  authorizationCode: 'text',
  told: 'jsonb',
});

const RECORD = `
with x as (${batch.rows}),
unmoved as (
  select t.acquirer_id, t.id from transactions t join x on t.acquirer_id = x."acquirerId" and t.id = x.id
  where t.attempt = x.attempt and t.reversal_state = x."fromState" and t.reversal_attempt = x."fromAttempt"
  for update of t
),
recorded as (
  insert into late_responses (acquirer_id, transaction_id, attempt, kind, response_code, authorization_code, reversal_attempt)
  select x."acquirerId", x.id, x.attempt, x.kind, x."responseCode", x."authorizationCode", x."fromAttempt"
  from x join unmoved u on u.acquirer_id = x."acquirerId" and u.id = x.id
  where ${MAX_ANSWERS} > (
    select count(*) from late_responses l
    where l.acquirer_id = x."acquirerId" and l.transaction_id = x.id and l.attempt = x.attempt)
  on conflict do nothing
  returning acquirer_id, transaction_id
),
rearmed as (
  update transactions t set reversal_state = ${ReversalState.owed}, updated_at = clock_timestamp()
  from x join recorded r on r.acquirer_id = x."acquirerId" and r.transaction_id = x.id
  where x."isRearmed" and t.acquirer_id = x."acquirerId" and t.id = x.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.told from x join recorded r on r.acquirer_id = x."acquirerId" and r.transaction_id = x.id
)
select u.id, r.transaction_id is not null as "isRecorded"
from unmoved u left join recorded r on r.acquirer_id = u.acquirer_id and r.transaction_id = u.id`;

/** Commits what came too late: the answer, the audit trail and, where it re-arms a reversal, its state and its job. */
export async function commitLateResponses(
  client: pg.PoolClient,
  records: readonly LateRecord[],
  jobs: JobsInCommit,
): Promise<LateRecordOutcome[]> {
  const { rows } = await client.query<{ id: string; isRecorded: boolean }>({
    name: 'record-late-responses',
    text: RECORD,
    values: batch.values(records.map(toRow)),
  });
  const unmoved = new Map(rows.map(({ id, isRecorded }) => [id, isRecorded]));
  const enqueue = records.flatMap(({ transaction, rearm }) =>
    rearm && unmoved.get(transaction.id) ? rearm.enqueue : [],
  );
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  return records.map(({ transaction }) => {
    const isRecorded = unmoved.get(transaction.id);
    return isRecorded === undefined ? 'moved' : isRecorded ? 'recorded' : 'known';
  });
}

function toRow({ transaction, late, rearm, nowMs }: LateRecord) {
  const { acquirerId, id, attempt, reversalState: fromState, reversalAttempt: fromAttempt } = transaction;
  const at = new Date(nowMs).toISOString();
  const told = [
    { late: late.kind, responseCode: late.responseCode, at },
    ...(rearm?.told ?? []).map((step) => ({ ...step, at })),
  ];
  return { acquirerId, id, attempt, fromState, fromAttempt, isRearmed: rearm !== undefined, ...late, told };
}
