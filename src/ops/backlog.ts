import { type QueueFigures, queueFigures } from '../jobs/dead-letters.ts';
import type { Database } from '../store/postgres/open-database.ts';

/** What waits in the whole installation, the same from each of its processes. */
export interface Backlog {
  readonly queues: readonly QueueFigures[];
  /** Uncertain at a switch: the reversal is under way. */
  readonly reversalsOwed: number;
  /** A person must look. */
  readonly needsReview: number;
  readonly webhooks: readonly PendingWebhooks[];
  readonly databaseBytes: number;
}

/** Events that an endpoint has not taken yet. */
export interface PendingWebhooks {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly serves: string;
  readonly isDisabled: boolean;
  readonly pending: number;
}

/** Partial indexes hold the few rows that these count. */
const MONEY = `
select (select count(*)::int from transactions where reversal_state in (1, 2, 4, 5)) as "reversalsOwed",
  (select count(*)::int from transactions where needs_review) as "needsReview",
  pg_database_size(current_database()) as "databaseBytes"`;

/** Of an event that is pending a job lives, and jobs of events that were delivered are gone. */
const WEBHOOKS = `
select endpoint.acquirer_id as "acquirerId", endpoint.integrator_id as "integratorId", serves, disabled_at is not null as "isDisabled",
  coalesce(waiting.pending, 0)::int as pending
from webhook_endpoints endpoint left join (
  select (data ->> 'endpointId')::uuid as id, count(*) as pending from pgboss.job where name = 'webhook' and state < 'completed' group by 1
) waiting on waiting.id = endpoint.id
where $2::integer is null or endpoint.acquirer_id = $2
order by pending desc, 1, 2, 3 limit $1`;

/** Those that wait longest matter; the rest would be a page of zeros. */
const MAX_ENDPOINTS = 100;
/** Scrapers and consoles ask as often as they like; the database is asked no more than this. */
const TRUSTED_FOR_MS = 5_000;

/** A reader of the backlog that spares the database. */
export function createBacklogReader(database: Database, monotonicMs = () => performance.now()): () => Promise<Backlog> {
  let last: { readonly atMs: number; readonly backlog: Promise<Backlog> } | undefined;
  return () => {
    const nowMs = monotonicMs();
    if (last !== undefined && nowMs - last.atMs < TRUSTED_FOR_MS) return last.backlog;
    const backlog = readBacklog(database);
    last = { atMs: nowMs, backlog };
    backlog.catch(() => {
      last = undefined;
    });
    return backlog;
  };
}

async function readBacklog(database: Database): Promise<Backlog> {
  const [queues, money, webhooks] = await Promise.all([
    queueFigures(database),
    database.query<Pick<Backlog, 'reversalsOwed' | 'needsReview' | 'databaseBytes'>>(MONEY),
    readPendingWebhooks(database),
  ]);
  return { queues, webhooks, ...money.rows[0]! };
}

/** Of each endpoint, those that wait for most first. @param acquirerId whose; undefined for all */
export async function readPendingWebhooks(database: Database, acquirerId?: number): Promise<PendingWebhooks[]> {
  const { rows } = await database.query<PendingWebhooks>(WEBHOOKS, [MAX_ENDPOINTS, acquirerId ?? null]);
  return rows;
}
