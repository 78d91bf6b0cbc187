import type pg from 'pg';
import { Disposition } from '../../payments/model/disposition.ts';
import { claimedLink } from '../../payments/model/link.ts';
import { Status } from '../../payments/model/status.ts';
import { TransactionType } from '../../payments/model/transaction.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import { findUnclaimable, IS_NAMED_LIKE_A_LINK, namedLink, recordClaims } from '../links/link-claims.ts';
import { ColumnBatch, type ColumnList, columnNames, columnValues } from '../postgres/column-batch.ts';
import type { Seal } from '../postgres/group-commit.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite, INSERT_ENTRIES, storedEntries } from './guarded-update.ts';
import { type JobsInCommit, OfferedJobs } from './jobs-in-commit.ts';
import { openAttempts } from './open-attempts.ts';
import { ATTEMPT_COLUMNS, IS_IN_DOUBT } from './transaction-columns.ts';
import { UsedValues } from './used-values.ts';

/**
 * If nothing was stored: `exists`, the merchant has used this reference before; `taken`, another tap holds the link,
 * or it has expired; `named`, the reference belongs to a link, and the tap does not name it; `copied`, another reference
 * has used the chip data or the PIN block. A repeat of a request is `exists` or `copied`.
 */
export type InsertOutcome = 'inserted' | 'exists' | 'taken' | 'named' | 'copied';

/** Never changes afterwards. */
const BIRTH_COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  merchantId: 'text',
  integratorId: 'integer',
  merchantReference: 'text',
  createdAtMs: 'ms',
  timeZone: 'text',
} as const satisfies ColumnList;

const COLUMNS = { ...BIRTH_COLUMNS, ...ATTEMPT_COLUMNS } as const satisfies ColumnList;

/** An attempt with such an end never reached a switch, so another attempt may follow it. */
const NOT_SENT = [Status.BadRequestReceived, Status.ErrorFindingConfig];
const NOT_SENT_DISPOSITIONS = [Disposition.DeclinedOffline, Disposition.UnableToGoOnline];
const RESPONDED = [Status.RespondedToPhone, Status.FailedToRespondToPhone];

const IN = (seconds: string) => `clock_timestamp() + x."${seconds}" * interval '1 s'`;

/** Times that the database computes from its own clock in the statement: their properties, columns and values. */
export const TIMES = {
  seconds: { respondBySeconds: 'float8', deadlineSeconds: 'float8', pinSeconds: 'float8', overdueSeconds: 'float8' },
  names: 'respond_by, deadline_at, deadline_seconds, pin_expires_at',
  values: [IN('respondBySeconds'), IN('deadlineSeconds'), 'x."deadlineSeconds"', IN('pinSeconds')].join(', '),
} as const;

const newTaps = new ColumnBatch({ ...COLUMNS, ...TIMES.seconds, auditEntries: 'jsonb', namedLink: 'uuid' });
const usesOfNewTaps = new UsedValues(newTaps.width);

const INSERT = `
with x as (${newTaps.rows}),
${usesOfNewTaps.queries},
named as materialized (select x.id from x where x."consumerId" is null and x.type = ${TransactionType.Tap} and ${IS_NAMED_LIKE_A_LINK}),
referenced as (
  insert into merchant_references (acquirer_id, merchant_id, merchant_reference, id)
  select x."acquirerId", x."merchantId", x."merchantReference", x.id from x
  where x.id not in (select named.id from named) and x.id not in (select f."usedIn" from foreign_uses f)
  on conflict do nothing
  returning acquirer_id, id
),
inserted as (
  insert into transactions (${columnNames(COLUMNS)}, ${TIMES.names})
  select ${columnValues(COLUMNS)}, ${TIMES.values} from x
  join referenced r on r.acquirer_id = x."acquirerId" and r.id = x.id
  returning acquirer_id, id
),
begun as (
  select i.acquirer_id, i.id, x.attempt, x."auditEntries", x."overdueSeconds"
  from x join inserted i on i.acquirer_id = x."acquirerId" and i.id = x.id
),
${openAttempts('begun')},
entries as (
  ${INSERT_ENTRIES}
  select acquirer_id, id, attempt, "auditEntries" from begun
)
select id, 'inserted' as outcome from inserted union all select id, 'named' from named
union all select distinct f."usedIn", 'copied' from foreign_uses f where f."usedIn" not in (select named.id from named)`;

/**
 * Inserts new transactions with their audit rows and jobs, and claims their links. Two taps with one reference in a
 * batch behave like two in different batches: `on conflict` lets the first one win.
 */
export async function insertTaps(
  client: pg.ClientBase,
  taps: readonly NewAttempt[],
  jobs: JobsInCommit,
): Promise<InsertOutcome[]> {
  const unclaimable = await findUnclaimable(client, taps);
  const admitted = unclaimable.size === 0 ? taps : taps.filter((tap) => !unclaimable.has(tap));
  const written = client.query<{ id: string; outcome: 'inserted' | 'named' | 'copied' }>({
    name: 'insert-taps',
    text: INSERT,
    values: [...newTaps.values(admitted.map(toNamedRow)), ...usesOfNewTaps.values(admitted)],
  });
  const offered = new OfferedJobs(
    client,
    jobs,
    admitted.map(({ enqueue }) => enqueue),
  );
  const outcomes = new Map((await written).rows.map(({ id, outcome }) => [id, outcome]));
  const isInserted = ({ transaction }: NewAttempt) => outcomes.get(transaction.id) === 'inserted';
  await offered.keep(admitted.map(isInserted));
  await recordClaims(client, admitted.filter(isInserted));
  return taps.map((tap) => (unclaimable.has(tap) ? 'taken' : (outcomes.get(tap.transaction.id) ?? 'exists')));
}

function toNamedRow(tap: NewAttempt) {
  const { timeZone = null, transaction } = tap;
  return { ...toRow(tap), timeZone, namedLink: namedLink(transaction.merchantReference) };
}

const attempts = new ColumnBatch({
  ...GUARDED_COLUMNS,
  merchantId: 'text',
  merchantReference: 'text',
  namedLink: 'uuid',
  ...ATTEMPT_COLUMNS,
  ...TIMES.seconds,
});
const usesOfAttempts = new UsedValues(attempts.width);

// A reference may have become that of a link since the first attempt, and the link may have been paid: a tap without
// a link then does not start again.
const RETRY = guardedUpdate({
  rows: attempts.rows,
  queries: usesOfAttempts.queries,
  set: `(${columnNames(ATTEMPT_COLUMNS)}, ${TIMES.names}) = row(${columnValues(ATTEMPT_COLUMNS)}, ${TIMES.values})`,
  guard: `t.attempt = x.attempt - 1 and t.original_id is null
    and (t.status in (${NOT_SENT.join()}) or t.disposition in (${NOT_SENT_DISPOSITIONS.join()}))
    and t.status in (${[...NOT_SENT, ...RESPONDED].join()}) and t.pin_fingerprint is null
    and not ${IS_IN_DOUBT('t')}
    and (x."consumerId" is not null or not ${IS_NAMED_LIKE_A_LINK})
    and x.id not in (select f."usedIn" from foreign_uses f)`,
  attempts: 'open',
});

/** The purge has not come so far yet: cards are kept for ten days at least (environment.ts). */
const CERTAINLY_UNPURGED_MS = 24 * 3_600_000;

// The purge looks for cards by the age of their row, once. An old row that gets a card again is one that it must return to.
const HOLD_CARDS = `insert into purge_held_cards (acquirer_id, transaction_id)
  select * from unnest($1::integer[], $2::uuid[]) on conflict do nothing`;

function isOld({ transaction: { createdAtMs, updatedAtMs } }: NewAttempt): boolean {
  return updatedAtMs - createdAtMs > CERTAINLY_UNPURGED_MS;
}

async function recordRetries(client: pg.ClientBase, taps: readonly NewAttempt[]): Promise<void> {
  await recordClaims(client, taps);
  const old = taps.filter(isOld).map(({ transaction }) => transaction);
  if (old.length === 0) return;
  const values = [old.map(({ acquirerId }) => acquirerId), old.map(({ id }) => id)];
  await client.query({ name: 'hold-cards', text: HOLD_CARDS, values });
}

const writeRetries = guardedWrite({
  name: 'retry-taps',
  batch: attempts,
  text: RETRY,
  rowOf: (tap: NewAttempt) => ({ ...toNamedRow(tap), id: tap.transaction.id }),
  furtherValues: (taps) => usesOfAttempts.values(taps),
  jobsOf: ({ enqueue }) => ({ enqueue }),
  isFollowed: (tap) => claimedLink(tap.transaction) !== undefined || isOld(tap),
  afterwards: recordRetries,
});

/**
 * Starts the next attempt of transactions that never reached a switch; false if another attempt was faster, the link is
 * no longer available, or another reference has used the chip data.
 */
export async function retryTaps(
  client: pg.PoolClient,
  taps: readonly NewAttempt[],
  jobs: JobsInCommit,
  seal: Seal,
): Promise<boolean[]> {
  const unclaimable = await findUnclaimable(client, taps);
  const claimable = taps.filter((tap) => !unclaimable.has(tap));
  const outcomes = await writeRetries(client, claimable, jobs, seal);
  const retried = new Set(claimable.filter((_, n) => outcomes[n]));
  return taps.map((tap) => retried.has(tap));
}

/** An attempt on its way to the database, with the names of its columns. */
export function toRow({ transaction, auditEntries, ...times }: NewAttempt) {
  const { respondBySeconds, pinSeconds, overdueSeconds, handover } = times;
  const stored = storedEntries(auditEntries);
  return { ...transaction, handover, respondBySeconds, pinSeconds, overdueSeconds, auditEntries: stored };
}
