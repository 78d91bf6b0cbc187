import { type QueueFigures, queueFigures } from '../jobs/dead-letters.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { FEW_STANS, STANS } from '../store/switches/stan-blocks.ts';
import { OPEN_REVERSAL_STATES } from '../transactions/model/transaction.ts';

/** What waits in the whole installation, the same from each of its processes. */
export interface Backlog {
  readonly queues: readonly QueueFigures[];
  /** Uncertain at a switch: the reversal is under way. */
  readonly reversalsOwed: number;
  /** A person must look. */
  readonly needsReview: number;
  readonly webhooks: readonly PendingWebhooks[];
  /** The scopes of STANs that may run out before their switch cuts over, the fewest first. */
  readonly fewStans: readonly FewStans[];
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

/** A scope of STANs with few left: of an acquirer, or of one of its terminals. */
export interface FewStans {
  /** `<acquirer>` or `<acquirer> <terminal>`. */
  readonly scope: string;
  readonly left: number;
}

/** One row for each scope. Of one that nobody has used for a business day nothing can run out. */
const FEW = `
select scope, greatest(${STANS} - (next_value - day_first), 0)::int as left from stan_blocks
where next_value - day_first > ${STANS - FEW_STANS} and reserved_at > clock_timestamp() - interval '5 days'
order by 2, 1 limit $1`;

/** A scope that runs out is a fault of its own; a hundred of them have one cause. */
const MAX_SCOPES = 100;

/** Partial indexes hold the few rows that these count. */
const MONEY = `
select (select count(*)::int from transactions where reversal_state in (${OPEN_REVERSAL_STATES.join()})) as "reversalsOwed",
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
  const [queues, money, webhooks, few] = await Promise.all([
    queueFigures(database),
    database.query<Pick<Backlog, 'reversalsOwed' | 'needsReview' | 'databaseBytes'>>(MONEY),
    readPendingWebhooks(database),
    database.query<FewStans>(FEW, [MAX_SCOPES]),
  ]);
  return { queues, webhooks, fewStans: few.rows, ...money.rows[0]! };
}

/** Of each endpoint, those that wait for most first. @param acquirerId whose; undefined for all */
export async function readPendingWebhooks(database: Database, acquirerId?: number): Promise<PendingWebhooks[]> {
  const { rows } = await database.query<PendingWebhooks>(WEBHOOKS, [MAX_ENDPOINTS, acquirerId ?? null]);
  return rows;
}
