import type pg from 'pg';
import type { JobRequest } from '../../transactions/jobs.ts';
import type { NewAttempt } from '../../transactions/ports.ts';
import { TransactionType } from '../../transactions/transaction.ts';
import { findUnclaimable, IS_NAMED_LIKE_A_LINK, namedLink, recordClaims } from '../links/link-claims.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { ATTEMPT_COLUMNS, base64, type ColumnList, recordset } from './transaction-columns.ts';

/**
 * Where nothing was stored: `exists`, the merchant has used this reference before; `taken`, another tap holds the link, or its
 * time is over; `named`, the reference is that of a link, and the tap does not know it.
 */
export type InsertOutcome = 'inserted' | 'exists' | 'taken' | 'named';

const BIRTH_COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  merchantId: 'text',
  integratorId: 'integer',
  merchantReference: 'text',
  createdAtMs: 'ms',
} as const satisfies ColumnList;

const ALL = { ...BIRTH_COLUMNS, ...ATTEMPT_COLUMNS } as const satisfies ColumnList;
const { record, names, values } = recordset(ALL);

/** Times that the database counts from its own clock, at the statement: what they are made of, their columns, their values. */
export const TIMES = {
  record: '"answerBySeconds" float8, "deadlineSeconds" float8, "pinSeconds" float8',
  names: 'answer_by, deadline_at, pin_expires_at',
  values: ['answerBySeconds', 'deadlineSeconds', 'pinSeconds']
    .map((seconds) => `clock_timestamp() + x."${seconds}" * interval '1 s'`)
    .join(', '),
} as const;

const INSERT = `
with x as (select * from json_to_recordset($1::text::json) as x(${record}, ${TIMES.record}, moves jsonb, "namedLink" uuid)),
named as materialized (select x.id from x where x."consumerId" is null and x.type = ${TransactionType.Tap} and ${IS_NAMED_LIKE_A_LINK}),
born as (
  insert into transactions (${names}, ${TIMES.names})
  select ${values}, ${TIMES.values} from x where x.id not in (select named.id from named)
  on conflict (acquirer_id, merchant_id, merchant_reference) do nothing
  returning acquirer_id, id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.moves from x join born on born.acquirer_id = x."acquirerId" and born.id = x.id
)
select id, 'inserted' as outcome from born union all select id, 'named' from named`;

/**
 * Inserts new transactions with their audit rows and jobs, and claims the links of those that have one. Within the batch two
 * taps under one reference are told apart like two in different batches: `on conflict` lets the first one win.
 */
export async function insertTaps(
  client: pg.PoolClient,
  taps: readonly NewAttempt[],
  jobs: JobsInCommit,
): Promise<InsertOutcome[]> {
  const unclaimable = await findUnclaimable(client, taps);
  const admitted = unclaimable.size === 0 ? taps : taps.filter((tap) => !unclaimable.has(tap));
  const { rows } = await client.query<{ id: string; outcome: 'inserted' | 'named' }>({
    name: 'insert-taps',
    text: INSERT,
    values: [JSON.stringify(admitted.map(toBirthRecord))],
  });
  const outcomes = new Map(rows.map(({ id, outcome }) => [id, outcome]));
  const born = admitted.filter(({ transaction }) => outcomes.get(transaction.id) === 'inserted');
  await recordClaims(client, born);
  await enqueueAll(client, jobs, born);
  return taps.map((tap) => (unclaimable.has(tap) ? 'taken' : (outcomes.get(tap.transaction.id) ?? 'exists')));
}

function toBirthRecord(tap: NewAttempt): Record<string, unknown> {
  const record = toRecord(tap);
  record.namedLink = namedLink(tap.transaction.merchantReference);
  return record;
}

const attempt = recordset(ATTEMPT_COLUMNS);

const RETRY = `
with x as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, id uuid, ${attempt.record}, ${TIMES.record}, moves jsonb)),
retried as (
  update transactions t
  set (${attempt.names}, ${TIMES.names}) = row(${attempt.values}, ${TIMES.values})
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt - 1 and t.original_id is null
    and (t.status in (0, 2) or t.disposition in (2, 3)) and t.status in (0, 2, 8, 9) and t.pin_fingerprint is null
  returning t.acquirer_id, t.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.moves from x join retried on retried.acquirer_id = x."acquirerId" and retried.id = x.id
)
select id from retried`;

/**
 * Starts the next attempt of transactions of which nothing reached a switch; false where somebody was faster, or the link is
 * not free any more.
 */
export async function retryTaps(
  client: pg.PoolClient,
  taps: readonly NewAttempt[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const unclaimable = await findUnclaimable(client, taps);
  const { rows } = await client.query<{ id: string }>({
    name: 'retry-taps',
    text: RETRY,
    values: [JSON.stringify(taps.filter((tap) => !unclaimable.has(tap)).map(toRecord))],
  });
  const retried = new Set(rows.map(({ id }) => id));
  const again = taps.filter(({ transaction }) => retried.has(transaction.id));
  await recordClaims(client, again);
  await enqueueAll(client, jobs, again);
  return taps.map(({ transaction }) => retried.has(transaction.id));
}

/** An attempt on its way to the database, under the names of its columns. */
export function toRecord({
  transaction,
  moves,
  answerBySeconds,
  pinSeconds,
  handover,
}: NewAttempt): Record<string, unknown> {
  const record: Record<string, unknown> = {
    ...transaction,
    sealedCard: base64(transaction.sealedCard),
    chipTags: base64(transaction.chipTags),
    handover: base64(handover),
    answerBySeconds,
    pinSeconds,
    moves,
  };
  // What is absent reads as null: half of the properties need not travel.
  for (const property in record) if (record[property] === null) record[property] = undefined;
  return record;
}

async function enqueueAll(client: pg.ClientBase, jobs: JobsInCommit, taps: readonly NewAttempt[]): Promise<void> {
  const requests: JobRequest[] = [];
  for (const { enqueue } of taps) requests.push(...enqueue);
  if (requests.length > 0) await jobs.enqueue(client, requests);
}
