import { expect } from 'vitest';
import { Status, type StatusName, statusName } from '../../src/payments/model/status.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../../src/payments/model/time-limits.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { readEntries, type StoredEntry } from '../../src/store/transactions/guarded-update.ts';
import { eventually } from './eventually.ts';

/** The columns of a transaction that tests read. */
export interface StoredTransaction {
  readonly id: string;
  readonly attempt: number;
  readonly status: StatusName;
  readonly disposition: number | null;
  readonly responseCode: string | null;
  readonly stan: string | null;
  readonly rrn: string | null;
  readonly reversalState: number;
  readonly reversalAttempt: number;
  readonly needsReview: boolean;
}

export async function storedTransactions(database: Database): Promise<StoredTransaction[]> {
  const { rows } = await database.query(
    `select id, attempt, status, disposition, response_code as "responseCode", stan, rrn,
       reversal_state as "reversalState", reversal_attempt as "reversalAttempt", needs_review as "needsReview"
     from transactions order by created_at, id`,
  );
  return rows.map((row) => ({ ...row, status: statusName(row.status) }));
}

/** @throws if it does not exist */
export async function storedTransaction(database: Database, id: string): Promise<StoredTransaction> {
  const found = (await storedTransactions(database)).find((transaction) => transaction.id === id);
  if (!found) throw new Error(`no transaction ${id}`);
  return found;
}

/** Waits until a transaction has reached a status; returns the row. */
export function untilStatus(
  database: Database,
  id: string,
  status: StatusName,
  withinMs?: number,
): Promise<StoredTransaction> {
  return eventually(async () => {
    const found = await storedTransaction(database, id);
    expect(found.status).toBe(status);
    return found;
  }, withinMs);
}

/** The audit trail in words: `RequestReceived`, ..., `PIN awaiting`, `reversal sent 1`. */
export async function trailOf(database: Database, id: string): Promise<string[]> {
  const { rows } = await database.query<{ moves: StoredEntry[] }>(
    `select moves from transaction_events where transaction_id = $1 order by id`,
    [id],
  );
  const entries = rows.flatMap(({ moves }) => readEntries(moves) as AnyEntry[]);
  return entries.map(({ to, pin, late, void: asked, reversal, reversalResponse, resolution, attempt }) => {
    if (resolution !== undefined) return `resolution ${resolution}`;
    if (asked !== undefined) return 'void';
    if (reversalResponse !== undefined) return `response ${reversalResponse} ${attempt}`;
    return to ?? (pin && `PIN ${pin}`) ?? (late && `late ${late}`) ?? `reversal ${reversal} ${attempt}`;
  });
}

interface AnyEntry {
  readonly to?: string;
  readonly pin?: string;
  readonly late?: string;
  readonly void?: string;
  readonly reversal?: string;
  readonly reversalResponse?: string;
  readonly resolution?: string;
  readonly attempt?: number;
}

/** A job that will still run. */
export interface LiveJob {
  readonly queue: string;
  readonly startsAtMs: number;
  /** From when it was inserted. */
  readonly waitsSeconds: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The live jobs of one transaction and its open attempt, ordered by queue and start. */
export async function jobsOf(database: Database, id: string): Promise<LiveJob[]> {
  const { rows } = await database.query<LiveJob>(
    `select name as queue, (extract(epoch from start_after) * 1000)::float8 as "startsAtMs",
       extract(epoch from start_after - created_on)::float8 as "waitsSeconds", data
     from pgboss.job where state < 'completed' and data ->> 'id' = $1::text
     union all
     select 'overdue', (extract(epoch from o.due_at) * 1000)::float8, extract(epoch from o.due_at - t.created_at)::float8,
       jsonb_build_object('acquirerId', o.acquirer_id, 'id', o.id, 'attempt', o.attempt)
     from open_attempts o join transactions t on t.acquirer_id = o.acquirer_id and t.id = o.id where o.id = $1::uuid
     order by queue, "startsAtMs"`,
    [id],
  );
  return rows;
}

/**
 * Lets time pass for one transaction: moves all its times, past and due, back by that many seconds. Waits that use the
 * database's clock become shorter by the same amount.
 */
export async function letTimePass(database: Database, id: string, seconds: number): Promise<void> {
  const earlier = (columns: readonly string[]) =>
    columns.map((column) => `${column} = ${column} - $2 * interval '1 s'`).join(', ');
  const times = [
    'created_at',
    'updated_at',
    'sent_at',
    'respond_by',
    'deadline_at',
    'pin_expires_at',
    'reversal_armed_at',
  ];
  await database.query(`update transactions set ${earlier(times)} where id = $1`, [id, seconds]);
  // sent_at of a reversal is its DE7, with which the switch identifies it: it does not change.
  await database.query(
    `update reversal_attempts set ${earlier(['deadline_at', 'responded_at'])} where transaction_id = $1`,
    [id, seconds],
  );
  await database.query(`update pgboss.job set ${earlier(['start_after'])} where data ->> 'id' = $1::text`, [
    id,
    seconds,
  ]);
  await database.query(`update open_attempts set ${earlier(['due_at'])} where id = $1`, [id, seconds]);
}

/** Waits until a reversal has a doubtful acknowledgement, and lets the time pass until it is requested again. */
export async function letDoubtPass(database: Database, id: string): Promise<void> {
  await eventually(async () =>
    expect((await storedTransaction(database, id)).reversalState).toBe(ReversalState.confirming),
  );
  await letTimePass(database, id, REVERSAL_CONFIRMED_AFTER_SECONDS);
}

/**
 * Lets the time pass for which confirmations of all transactions wait. A job that has already found its reversal
 * confirming was postponed to the end of that time: it is due now.
 */
export async function letAllDoubtsPass(database: Database): Promise<void> {
  await database.query(
    `update reversal_attempts set responded_at = responded_at - $1 * interval '1 s'
     where responded_at > clock_timestamp() - $1 * interval '1 s'`,
    [REVERSAL_CONFIRMED_AFTER_SECONDS],
  );
  await database.query(
    `update pgboss.job set start_after = clock_timestamp()
     where name = 'reverse' and state = 'created' and start_after > clock_timestamp()
       and data ->> 'id' in (select id::text from transactions where reversal_state = $1)`,
    [ReversalState.confirming],
  );
}

/** Waits until the response to the phone is recorded, with any outcome. */
export function untilResponded(database: Database, id: string): Promise<StoredTransaction> {
  return untilStatus(database, id, statusName(Status.RespondedToPhone));
}
