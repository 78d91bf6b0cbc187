import { listDeadLetters } from '../jobs/queues.ts';
import { createBacklogReader, readPendingWebhooks } from '../observe/backlog.ts';
import { OPEN_REVERSAL_STATES } from '../payments/model/transaction.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { ConsoleBacklog, DatabaseState, OwedReversals } from './frame.ts';

/** Partial indexes contain the few rows that these queries count. */
const OWED = `
select acquirer_id as "acquirerId", sum(owed)::int as "reversalsOwed", sum(review)::int as "needsReview" from (
  select acquirer_id, 1 as owed, 0 as review from transactions where reversal_state in (${OPEN_REVERSAL_STATES.join()})
  union all select acquirer_id, 0, 1 from transactions where needs_review) each
where $1::integer is null or acquirer_id = $1 group by 1 order by 1`;

/** More than an operator reads on the screen; `tapwire cell status` shows all. */
const MAX_MOVED = 20;

const STATE = `
select pg_database_size(current_database()) as bytes, count(*)::int as connections,
  (select name from cell_identity) as cell,
  (select coalesce(json_agg(m), '[]') from (
    select acquirer_id as "acquirerId", state, peer from acquirer_cells where state <> 'serving'
    order by changed_at desc limit ${MAX_MOVED}) m) as moved,
  (count(*) filter (where state = 'active'))::int as active, current_setting('max_connections')::int as "mostConnections"
from pg_stat_activity where datname = current_database()`;

/** The database is queried at most at this interval for each acquirer that is viewed, for any number of consoles. */
const TRUSTED_FOR_MS = 4_000;

/** The pending work of one acquirer. With undefined: of the installation, with the state of the database. */
export type ReadConsoleBacklog = (acquirerId: number | undefined) => Promise<ConsoleBacklog>;

export function createConsoleBacklog(database: Database): ReadConsoleBacklog {
  const readWhole = createBacklogReader(database);
  const kept = new Map<number | undefined, { readonly atMs: number; readonly backlog: Promise<ConsoleBacklog> }>();
  return (acquirerId) => {
    const nowMs = performance.now();
    for (const [id, { atMs }] of kept) if (nowMs - atMs >= TRUSTED_FOR_MS) kept.delete(id);
    const known = kept.get(acquirerId);
    if (known) return known.backlog;
    const backlog =
      acquirerId === undefined ? readInstallation(database, readWhole) : readAcquirer(database, acquirerId);
    kept.set(acquirerId, { atMs: nowMs, backlog });
    backlog.catch(() => kept.delete(acquirerId));
    return backlog;
  };
}

async function readInstallation(
  database: Database,
  readWhole: ReturnType<typeof createBacklogReader>,
): Promise<ConsoleBacklog> {
  const [{ queues, webhooks }, owed, deadLetters, state] = await Promise.all([
    readWhole(),
    readOwed(database),
    listDeadLetters(database),
    database.query<DatabaseState>(STATE),
  ]);
  return { queues, webhooks, owed, deadLetters, database: state.rows[0] ?? null };
}

/** The acquirer's own rows are queried, because a list of all acquirers is limited and may lack them. */
async function readAcquirer(database: Database, acquirerId: number): Promise<ConsoleBacklog> {
  const [webhooks, owed, deadLetters] = await Promise.all([
    readPendingWebhooks(database, acquirerId),
    readOwed(database, acquirerId),
    listDeadLetters(database, undefined, acquirerId),
  ]);
  return { queues: [], webhooks, owed, deadLetters, database: null };
}

async function readOwed(database: Database, acquirerId?: number): Promise<OwedReversals[]> {
  return (await database.query<OwedReversals>(OWED, [acquirerId ?? null])).rows;
}
