import { listDeadLetters } from '../../jobs/dead-letters.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { createBacklogReader } from '../backlog.ts';
import type { ConsoleBacklog, DatabaseState, OwedReversals } from './frame.ts';

/** Partial indexes hold the few rows that these count. */
const OWED = `
select acquirer_id as "acquirerId", sum(owed)::int as "reversalsOwed", sum(review)::int as "needsReview" from (
  select acquirer_id, 1 as owed, 0 as review from transactions where reversal_state in (1, 2, 4, 5)
  union all select acquirer_id, 0, 1 from transactions where needs_review) each group by 1 order by 1`;

const STATE = `
select pg_database_size(current_database()) as bytes, count(*)::int as connections,
  (count(*) filter (where state = 'active'))::int as active, current_setting('max_connections')::int as "mostConnections"
from pg_stat_activity where datname = current_database()`;

/** However many consoles look, the database is asked no more than this. */
const TRUSTED_FOR_MS = 4_000;

/** A reader of what waits in the installation, and of what the database says of itself. */
export function createConsoleBacklog(database: Database): () => Promise<ConsoleBacklog> {
  const readBacklog = createBacklogReader(database);
  let last: { readonly atMs: number; readonly backlog: Promise<ConsoleBacklog> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last !== undefined && nowMs - last.atMs < TRUSTED_FOR_MS) return last.backlog;
    const backlog = read(database, readBacklog);
    last = { atMs: nowMs, backlog };
    backlog.catch(() => {
      last = undefined;
    });
    return backlog;
  };
}

async function read(database: Database, readBacklog: ReturnType<typeof createBacklogReader>): Promise<ConsoleBacklog> {
  const [{ queues, webhooks }, owed, deadLetters, state] = await Promise.all([
    readBacklog(),
    database.query<OwedReversals>(OWED),
    listDeadLetters(database),
    database.query<DatabaseState>(STATE),
  ]);
  return { queues, webhooks, owed: owed.rows, deadLetters, database: state.rows[0] ?? null };
}
