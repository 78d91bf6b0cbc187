import type pg from 'pg';
import { jobPayloads, type QueueName } from '#schemas/jobs';
import { isUuid } from '../basics/uuid.ts';

/**
 * Every queue with its retry limits. pg-boss retries a job whose worker died or threw. Schedules that concern money
 * (reversals) do not use that: their next attempt is a separate job, committed with its start time.
 */
interface QueuePolicy {
  /** A job that a worker holds longer than this counts as orphaned and is given to another one. */
  readonly expireInSeconds: number;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly retryBackoff: boolean;
  readonly retryDelayMax?: number;
}

/** Retries until the cause is removed: the job keeps a transaction from remaining in a transient status. */
const UNTIL_DONE = { retryLimit: 10_000, retryDelay: 1, retryBackoff: true, retryDelayMax: 60 } as const;

export const QUEUES: Readonly<Record<QueueName, QueuePolicy>> = {
  // At most two tries fit before respond_by; then the attempt is overdue.
  authorize: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  refund: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  'expire-pin': { expireInSeconds: 15, ...UNTIL_DONE },
  'expire-link': { expireInSeconds: 15, ...UNTIL_DONE },
  // Longer than any switch's deadline, so that a repeat is not sent while the first one waits for its response.
  reverse: { expireInSeconds: 150, ...UNTIL_DONE },
  complete: { expireInSeconds: 150, ...UNTIL_DONE },
  // A batch takes seconds on a busy database; a second one at the same time would do no harm.
  purge: { expireInSeconds: 300, ...UNTIL_DONE },
  // Longer than an attempt and the wait for its turn. The worker that takes over an orphaned job sends the event
  // again, with its id.
  webhook: { expireInSeconds: 60, ...UNTIL_DONE },
  // Longer than an attempt. The schedule of a push is separate, and ends before a till has given up the payment.
  push: { expireInSeconds: 30, retryLimit: 3, retryDelay: 5, retryBackoff: false },
};

/** A queue that may hold a hundred thousand jobs has its own table, so that scanning it does not affect the others. */
export const STANDS_APART: ReadonlySet<QueueName> = new Set<QueueName>(['webhook']);

export const QUEUE_NAMES = Object.keys(jobPayloads) as QueueName[];

/** What workers look for: jobs of a queue, or attempts that are overdue (overdue-attempts.ts). */
export type WorkName = QueueName | 'overdue';
export const WORK_NAMES: readonly WorkName[] = [...QUEUE_NAMES, 'overdue'];

/**
 * The frequent question whether an attempt is overdue covers this much time. During a backup of an hour, Postgres keeps the
 * deleted rows of that hour, and an unlimited search reads all of them.
 */
export const RECENT_MINUTES = 10;

/**
 * Receives jobs whose payload is invalid or whose retries are used up. A person examines them and may redrive them.
 */
export const DEAD_LETTERS = 'dead-letters';

/** The rows that a job concerns. */
export interface PayloadNames {
  readonly [name: string]: string | number;
}

/** No count or id of the gateway is larger, and every card number is. */
const LARGEST_NUMBER = 2 ** 31;

/**
 * The numbers and ids of a payload under their field names in the queue's schema, for logs and operators. An unreadable
 * payload may contain anything else, which is omitted.
 */
export function namesInPayload(queue: string, payload: unknown): PayloadNames {
  const known = queue === 'overdue' ? jobPayloads.authorize : jobPayloads[queue as QueueName];
  if (known === undefined || typeof payload !== 'object' || payload === null) return {};
  const given = new Map<string, unknown>(Object.entries(payload));
  const names: Record<string, PayloadNames[string]> = {};
  for (const name of Object.keys(known.shape)) {
    const value = given.get(name);
    if (isId(value) || isNumber(value)) names[name] = value;
  }
  return names;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && isUuid(value);
}

function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < LARGEST_NUMBER;
}

/** One screen. An operator with more of one kind redrives the whole queue. */
export const MAX_LISTED = 100;

/** Numbers of a queue. */
export interface QueueFigures {
  readonly queue: WorkName;
  /** Due, and not taken yet. */
  readonly ready: number;
  /** Taken by a worker. */
  readonly active: number;
  /** Due later, for the first time. */
  readonly waiting: number;
  /** Due for another try after a failure. */
  readonly retry: number;
  /** Given up: among the dead letters. */
  readonly dead: number;
  /** Seconds for which the oldest job has been due; null if none is. */
  readonly oldestReadySeconds: number | null;
}

/** A job that was given up. Of its payload, only names of rows are shown. */
export interface DeadLetter {
  readonly id: string;
  readonly queue: string;
  /** Why it was given up: what is wrong with its payload, or the kind of the last failure. */
  readonly reason: string;
  readonly names: PayloadNames;
  /** Tries after the first. */
  readonly retries: number;
  readonly enqueuedAt: Date;
  readonly diedAt: Date;
}

const FIGURES = `
select coalesce(source_name, name) as queue,
  count(*) filter (where source_name is null and state = 'created' and start_after <= now())::int as ready,
  count(*) filter (where source_name is null and state = 'active')::int as active,
  count(*) filter (where source_name is null and state = 'created' and start_after > now())::int as waiting,
  count(*) filter (where source_name is null and state = 'retry')::int as retry,
  count(*) filter (where source_name is not null)::int as dead,
  extract(epoch from now() - min(start_after) filter (where source_name is null and state < 'active' and start_after <= now()))::float8 as "oldestReadySeconds"
from pgboss.job where state < 'completed' group by 1
union all
select 'overdue', count(*) filter (where due_at <= now())::int, 0, count(*) filter (where due_at > now())::int, 0, 0,
  extract(epoch from now() - min(due_at) filter (where due_at <= now()))::float8
from open_attempts`;

/** Every queue, including those without a job. Open attempts count as one: those that are overdue are ready. */
export async function queueFigures(database: pg.Pool): Promise<QueueFigures[]> {
  const { rows } = await database.query<QueueFigures>(FIGURES);
  const none = { ready: 0, active: 0, waiting: 0, retry: 0, dead: 0, oldestReadySeconds: null };
  return WORK_NAMES.map((queue) => rows.find((row) => row.queue === queue) ?? { queue, ...none });
}

// For a failure the reason is the pump's text; for an expired claim it is pg-boss's message.
const LIST = `
select id, source_name as queue, coalesce(source_output ->> 'reason', source_output ->> 'message', 'unknown') as reason,
  data, source_retry_count as retries, source_created_on as "enqueuedAt", created_on as "diedAt"
from pgboss.job where name = $1 and state < 'active' and ($2::text is null or source_name = $2)
  and ($3::integer is null or data -> 'acquirerId' = to_jsonb($3::integer))
order by created_on desc, id limit $4`;

/**
 * Newest first, at most `MAX_LISTED`.
 *
 * @param acquirerId owner of the jobs; jobs without an acquirer belong to none
 */
export async function listDeadLetters(
  database: pg.Pool,
  queue?: QueueName,
  acquirerId?: number,
): Promise<DeadLetter[]> {
  const { rows } = await database.query(LIST, [DEAD_LETTERS, queue ?? null, acquirerId ?? null, MAX_LISTED]);
  return rows.map(({ data, ...letter }) => ({ ...letter, names: namesInPayload(letter.queue, data) }));
}
