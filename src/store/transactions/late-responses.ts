import type pg from 'pg';
import { Disposition } from '../../payments/model/disposition.ts';
import { PinState } from '../../payments/model/pin.ts';
import { ReversalState, type Transaction } from '../../payments/model/transaction.ts';
import type {
  LateRecord,
  LateRecordOutcome,
  RequestKey,
  ResponseIdentity,
  ReversalKey,
} from '../../payments/ports/store-ports.ts';
import { ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import type { Database } from '../postgres/open-database.ts';
import { adjustReservations } from './commit-refunds.ts';
import { findRequests } from './find-requests.ts';
import { GUARDED_COLUMNS, INSERT_ENTRIES } from './guarded-update.ts';
import { changeJobs, type JobsInCommit } from './jobs-in-commit.ts';

/**
 * Limit of different responses of a kind that are stored for one request: one is usual, two indicate a switch fault,
 * and more prove nothing new. The limit is per kind, because earlier responses must not hide an approval.
 */
const MAX_RESPONSES = 8;

const IDENTITY = {
  n: 'integer',
  acquirerId: 'integer',
  processorId: 'integer',
  stan: 'text',
  tid: 'text',
  rrn: 'text',
  transmissionDateTime: 'text',
} as const satisfies ColumnList;
const identities = new ColumnBatch(IDENTITY);

/**
 * The same condition as in the index `transactions_open_to_response`: requests for which a late response can still
 * matter, and later attempts, which were not sent when their row was created. An approved first attempt is found by
 * time.
 */
export const IS_OPEN_TO_RESPONSE = `(t.reversal_state <> ${ReversalState.none} or t.other_disposition = ${Disposition.Declined} or t.pin_state = ${PinState.awaiting} or t.attempt > 1)`;

const DE7 = (sentAt: string) => `to_char(${sentAt} at time zone 'UTC', 'MMDDHH24MISS')`;

// The identity names at most one request of a day. If a year-old one has the same DE7, the newest is meant.
const FIND_REQUESTS_OF_RESPONSES = `
with x as (${identities.rows}),
candidates as (
  select x.n, t.acquirer_id, t.id, t.attempt, t.rrn, t.sent_at, t.route_id
  from x join transactions t on t.acquirer_id = x."acquirerId" and t.tid = x.tid and t.stan = x.stan and ${IS_OPEN_TO_RESPONSE}
  union all
  select x.n, s.acquirer_id, s.transaction_id, s.attempt, s.rrn, s.sent_at, s.route_id
  from x join superseded_attempts s on s.acquirer_id = x."acquirerId" and s.tid = x.tid and s.stan = x.stan
)
select distinct on (x.n) x.n, c.acquirer_id as "acquirerId", c.id, c.attempt
from x join candidates c on c.n = x.n
join routes r on r.acquirer_id = c.acquirer_id and r.id = c.route_id and r.processor_id = x."processorId"
where c.rrn = x.rrn or ${DE7('c.sent_at')} = x."transmissionDateTime"
order by x.n, c.sent_at desc`;

export async function findRequestsOfResponses(
  database: Database,
  responses: readonly ResponseIdentity[],
): Promise<(Transaction | undefined)[]> {
  return readFound(
    database,
    await findKeys<RequestKey>(
      database,
      { name: 'find-requests-of-responses', text: FIND_REQUESTS_OF_RESPONSES },
      responses,
    ),
  );
}

async function readFound(
  database: Database,
  keys: readonly (RequestKey | undefined)[],
): Promise<(Transaction | undefined)[]> {
  const requests = await findRequests(
    database,
    keys.flatMap((key) => key ?? []),
  );
  return keys.map((key) => key && requests.find(({ id, attempt }) => id === key.id && attempt === key.attempt));
}

/**
 * A row is created before its first attempt is sent, by at most the time that a worker has to submit it. The rest is for the
 * clocks of two hosts: one may have created the row, and the other sent the request.
 */
const CREATED_BEFORE_MS = 3 * 60_000;
const CREATED_AFTER_MS = 60_000;

const timed = new ColumnBatch({ ...IDENTITY, fromMs: 'ms', untilMs: 'ms' });

// An index of approved requests by terminal and STAN would make each tap dearer. The response has the time of its request,
// so an index by time, which lists need anyway, leaves what the acquirer has sent in four minutes.
const FIND_APPROVED = `
with x as (${timed.rows})
select distinct on (x.n) x.n, t.acquirer_id as "acquirerId", t.id, t.attempt
from x join transactions t on t.acquirer_id = x."acquirerId" and t.created_at between x."fromMs" and x."untilMs"
  and t.tid = x.tid and t.stan = x.stan and t.attempt = 1 and t.disposition = ${Disposition.Approved}
join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id and r.processor_id = x."processorId"
where t.rrn = x.rrn or ${DE7('t.sent_at')} = x."transmissionDateTime"
order by x.n, t.sent_at desc`;

export async function findApproved(
  database: Database,
  responses: readonly ResponseIdentity[],
): Promise<(Transaction | undefined)[]> {
  const nowMs = Date.now();
  const records = responses.flatMap((response, n) => {
    const { acquirerId, processorId, stan, tid, rrn, transmissionDateTime } = response;
    const sent = sentWithin(response, nowMs);
    const identity = { n, acquirerId, processorId, stan, tid, rrn, transmissionDateTime };
    return sent
      ? [{ ...identity, fromMs: sent.firstMs - CREATED_BEFORE_MS, untilMs: sent.lastMs + CREATED_AFTER_MS }]
      : [];
  });
  if (records.length === 0) return responses.map(() => undefined);
  // Without a name, because the plan must be made for these times.
  const { rows } = await database.query<RequestKey & { n: number }>({
    text: FIND_APPROVED,
    values: timed.values(records),
  });
  const found = new Map(rows.map(({ n, ...key }) => [n, key]));
  return readFound(
    database,
    responses.map((_, n) => found.get(n)),
  );
}

interface SentWithin {
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * When the request was sent, by DE7 (MMDDhhmmss) or by the hour in an RRN of Tapwire; undefined if the response has neither.
 * A switch may respond with a time and a reference of its own. So if the two differ, the reference decides.
 */
function sentWithin({ rrn, stan, transmissionDateTime }: ResponseIdentity, nowMs: number): SentWithin | undefined {
  const sentMs = transmissionDateTime === undefined ? undefined : lastTimeOf(transmissionDateTime, nowMs);
  const hourMs = rrn === undefined ? undefined : lastHourOf(rrn, stan, nowMs);
  const byTime = sentMs === undefined ? undefined : { firstMs: sentMs, lastMs: sentMs + 1_000 };
  if (hourMs === undefined) return byTime;
  const byHour = { firstMs: hourMs, lastMs: hourMs + HOUR_MS };
  return byTime && byTime.lastMs >= byHour.firstMs && byTime.firstMs <= byHour.lastMs ? byTime : byHour;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** RRNs have one digit of the year. A 29 February is at most eight years ago. */
const YEARS = Array.from({ length: 10 }, (_, ago) => ago);

/** The latest time of this date and time that is not in the future; a day for clocks that differ. */
function lastTimeOf(text: string, nowMs: number): number | undefined {
  const [month, day, hours, minutes, seconds] = (/^\d{10}$/.test(text) ? text.match(/../g)! : []).map(Number);
  if (seconds === undefined) return undefined;
  const latestYear = new Date(nowMs + DAY_MS).getUTCFullYear();
  const times = YEARS.map((ago) => Date.UTC(latestYear - ago, month! - 1, day, hours, minutes, seconds));
  return times.find((atMs) => atMs <= nowMs + DAY_MS && new Date(atMs).getUTCMonth() === month! - 1);
}

/** The latest hour of an RRN in the form of `retrievalReference` that is not in the future. */
function lastHourOf(rrn: string, stan: string, nowMs: number): number | undefined {
  const [, year, day, hour] = /^(\d)(\d{3})(\d\d)\d{6}$/.exec(rrn) ?? [];
  if (hour === undefined || !rrn.endsWith(stan)) return undefined;
  const latestYear = new Date(nowMs + DAY_MS).getUTCFullYear();
  const years = YEARS.map((ago) => latestYear - ago).filter((each) => each % 10 === Number(year));
  const hours = years.map((each) => Date.UTC(each, 0, Number(day), Number(hour)));
  return hours.find((atMs) => atMs <= nowMs + DAY_MS);
}

/** The original of an attempt, the current one or a superseded one, has the attempt's STAN as well. */
const SHARES_STAN = `exists (select from transactions t
    where t.acquirer_id = a.acquirer_id and t.id = a.transaction_id and t.attempt = a.attempt and t.stan = a.stan)
  or exists (select from superseded_attempts s
    where s.acquirer_id = a.acquirer_id and s.transaction_id = a.transaction_id and s.attempt = a.attempt and s.stan = a.stan)`;

// DE7 names the attempt, and a different one excludes it: a response to the original may have the form of a 0430.
// Without DE7 the STAN names the attempt if its original has another. If both have the same STAN, a response to one
// cannot be distinguished from a response to the other, at any time.
const FIND_REVERSALS = `
with x as (${identities.rows})
select distinct on (x.n) x.n, a.acquirer_id as "acquirerId", a.transaction_id as id, a.attempt,
  (extract(epoch from a.sent_at) * 1000)::float8 as "sentAtMs"
from x join reversal_attempts a
  on a.acquirer_id = x."acquirerId" and a.tid = x.tid and a.stan = x.stan and a.processor_id = x."processorId"
where ${DE7('a.sent_at')} = x."transmissionDateTime"
  or (x."transmissionDateTime" is null and a.rrn = x.rrn and not (${SHARES_STAN}))
order by x.n, a.sent_at desc`;

export function findReversals(
  database: Database,
  responses: readonly ResponseIdentity[],
): Promise<(ReversalKey | undefined)[]> {
  return findKeys<ReversalKey>(database, { name: 'find-reversals', text: FIND_REVERSALS }, responses);
}

async function findKeys<Key extends object>(
  database: Database,
  statement: { readonly name: string; readonly text: string },
  responses: readonly ResponseIdentity[],
): Promise<(Key | undefined)[]> {
  const records = responses.map(({ acquirerId, processorId, stan, tid, rrn, transmissionDateTime }, n) => {
    return { n, acquirerId, processorId, stan, tid, rrn, transmissionDateTime };
  });
  const { rows } = await database.query<Key & { n: number }>({ ...statement, values: identities.values(records) });
  const found = new Map(rows.map(({ n, ...key }) => [n, key as unknown as Key]));
  return responses.map((_, n) => found.get(n));
}

const batch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromState: 'integer',
  fromAttempt: 'integer',
  fromDisposition: 'integer',
  fromPinState: 'integer',
  isRearmed: 'boolean',
  isContradiction: 'boolean',
  disposition: 'integer',
  needsReview: 'boolean',
  pinState: 'integer',
  pinJob: 'uuid',
  kind: 'text',
  responseCode: 'text',
  authorizationCode: 'text',
});

// The request is locked first, so that the response is recorded and the reversal re-armed together or not at all. A
// response that changes nothing else changes the time of the row: what a person saw before no longer holds. A batch has
// each transaction once, so no row is updated twice.
const RECORD = `
with x as (${batch.rows}),
present as (
  select t.acquirer_id, t.id from transactions t join x on t.acquirer_id = x."acquirerId" and t.id = x.id
  where t.attempt = x.attempt and t.reversal_state = x."fromState" and t.reversal_attempt = x."fromAttempt"
    and t.disposition is not distinct from x."fromDisposition" and t.pin_state = x."fromPinState"
  for update of t
),
superseded as (
  select s.acquirer_id, s.transaction_id as id from superseded_attempts s
  join x on s.acquirer_id = x."acquirerId" and s.transaction_id = x.id
  where s.attempt = x.attempt and s.reversal_state = x."fromState" and s.reversal_attempt = x."fromAttempt"
    and x."fromDisposition" = ${Disposition.Declined} and x."fromPinState" = ${PinState.none}
  for update of s
),
unmoved as (select acquirer_id, id from present union all select acquirer_id, id from superseded),
recorded as (
  insert into late_responses (acquirer_id, transaction_id, attempt, kind, response_code, authorization_code, reversal_attempt)
  select x."acquirerId", x.id, x.attempt, x.kind, x."responseCode", x."authorizationCode", x."fromAttempt"
  from x join unmoved u on u.acquirer_id = x."acquirerId" and u.id = x.id
  where ${MAX_RESPONSES} > (
    select count(*) from late_responses l
    where l.acquirer_id = x."acquirerId" and l.transaction_id = x.id and l.attempt = x.attempt and l.kind = x.kind)
  on conflict do nothing
  returning acquirer_id, transaction_id as id
),
rearmed as (select x.* from x join recorded r on r.acquirer_id = x."acquirerId" and r.id = x.id where x."isRearmed"),
rearmed_present as (
  update transactions t
  set reversal_state = ${ReversalState.owed}, reversal_armed_at = clock_timestamp(), disposition = x.disposition,
    needs_review = t.needs_review or x."needsReview" or x."isContradiction", pin_state = x."pinState", pin_job = x."pinJob", updated_at = clock_timestamp()
  from rearmed x join present p on p.acquirer_id = x."acquirerId" and p.id = x.id
  where t.acquirer_id = x."acquirerId" and t.id = x.id
),
rearmed_superseded as (
  update superseded_attempts s set reversal_state = ${ReversalState.owed}, reversal_armed_at = clock_timestamp()
  from rearmed x where s.acquirer_id = x."acquirerId" and s.transaction_id = x.id and s.attempt = x.attempt
),
noticed as (
  update transactions t
  set needs_review = t.needs_review or x."isContradiction" or (x."isRearmed" and coalesce(x."needsReview", false)),
    updated_at = clock_timestamp()
  from x join recorded r on r.acquirer_id = x."acquirerId" and r.id = x.id
  where t.acquirer_id = x."acquirerId" and t.id = x.id
    and not (x."isRearmed" and exists (select from present p where p.acquirer_id = t.acquirer_id and p.id = t.id))
),
outdated as (
  update reversal_attempts a set counts = false from rearmed x
  where a.acquirer_id = x."acquirerId" and a.transaction_id = x.id and a.attempt = x.attempt and a.counts
),
entries as (
  ${INSERT_ENTRIES}
  select x."acquirerId", x.id, x.attempt, x."auditEntries" from x join recorded r on r.acquirer_id = x."acquirerId" and r.id = x.id
)
select u.id, r.id is not null as "isRecorded"
from unmoved u left join recorded r on r.acquirer_id = u.acquirer_id and r.id = u.id`;

/** Commits late responses: the response, the audit trail and, if it re-arms a reversal, its state and its job. */
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
  const rearmed = records.filter(({ transaction, rearm }) => rearm && unmoved.get(transaction.id));
  const changes = rearmed.flatMap(({ rearm }) => rearm ?? []);
  await changeJobs(
    client,
    jobs,
    changes.map(({ enqueue, remove }) => ({ enqueue, remove: remove.map(({ queue, id }) => ({ queue, ids: [id] })) })),
  );
  await adjustReservations(
    client,
    records.flatMap(({ transaction }) => (unmoved.get(transaction.id) ? transaction : [])),
  );
  return records.map(({ transaction }) => {
    const isRecorded = unmoved.get(transaction.id);
    return isRecorded === undefined ? 'moved' : isRecorded ? 'recorded' : 'known';
  });
}

function toRow({ transaction, late, rearm, isContradiction = false, nowMs }: LateRecord) {
  const { acquirerId, id, attempt, reversalState: fromState, reversalAttempt: fromAttempt } = transaction;
  const { disposition: fromDisposition, pinState: fromPinState } = transaction;
  const at = new Date(nowMs).toISOString();
  const auditEntries = [
    { late: late.kind, responseCode: late.responseCode, at },
    ...(rearm?.auditEntries ?? []).map((step) => ({ ...step, at })),
  ];
  const from = { acquirerId, id, attempt, fromState, fromAttempt, fromDisposition, fromPinState };
  return { ...from, isRearmed: rearm !== undefined, isContradiction, ...rearm?.to, ...late, auditEntries };
}
