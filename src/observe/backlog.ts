import { type QueueFigures, queueFigures } from '../jobs/queues.ts';
import { OPEN_REVERSAL_STATES } from '../payments/model/transaction.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { STANS } from '../store/switches/business-dates.ts';
import { FEW_STANS } from '../store/switches/stan-blocks.ts';
import { readRestore } from '../store/transactions/lost-window.ts';

/** Pending work of the whole installation; every process reports the same. */
export interface Backlog {
  readonly queues: readonly QueueFigures[];
  /** The outcome at a switch is uncertain and a reversal is in progress. */
  readonly reversalsOwed: number;
  /** A person must resolve these transactions. */
  readonly needsReview: number;
  /** The reversal of each switch that has been required for longest, oldest first. */
  readonly oldestReversals: readonly OldestReversal[];
  /** References that are held after a restore; undefined if no lost window is open. */
  readonly held: number | undefined;
  readonly webhooks: readonly PendingWebhooks[];
  /** Scopes whose STANs may run out before the switch's cut-over, fewest first. */
  readonly fewStans: readonly FewStans[];
  readonly databaseBytes: number;
}

/** How long the switch of a processor has owed the acknowledgement of a reversal. */
interface OldestReversal {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly seconds: number;
}

/** Events that an endpoint has not accepted yet. */
export interface PendingWebhooks {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly serves: string;
  readonly isDisabled: boolean;
  readonly pending: number;
  /** Age of the oldest of these events. */
  readonly oldestSeconds: number;
}

/** A scope with few STANs left: an acquirer, or one of its terminals. */
interface FewStans {
  /** `<acquirer>` or `<acquirer> <terminal>`. */
  readonly scope: string;
  readonly left: number;
}

/** One row per scope. A scope that was unused for a business day cannot run out. */
const FEW = `
select scope, greatest(${STANS} - (next_value - day_first), 0)::int as left from stan_blocks
where next_value - day_first > ${STANS - FEW_STANS} and reserved_at > clock_timestamp() - interval '5 days'
order by 2, 1 limit $1`;

/** One exhausted scope is a fault of its own; a hundred have a common cause. */
const MAX_SCOPES = 100;

/** Partial indexes contain the few rows that these queries count. */
const MONEY = `
select (select count(*)::int from transactions where reversal_state in (${OPEN_REVERSAL_STATES.join()})) as "reversalsOwed",
  (select count(*)::int from transactions where needs_review) as "needsReview",
  pg_database_size(current_database()) as "databaseBytes"`;

/** A reversal is required from the deadline of its tap, or from the void or late approval that requested it. */
const OLDEST = `
select t.acquirer_id as "acquirerId", processor_id as "processorId",
  greatest(0, extract(epoch from clock_timestamp() - min(coalesce(t.reversal_armed_at, t.deadline_at, t.created_at))))::float8 as seconds
from transactions t join routes on routes.acquirer_id = t.acquirer_id and routes.id = t.route_id
where reversal_state in (${OPEN_REVERSAL_STATES.join()}) group by 1, 2 order by seconds desc limit $1`;

/** A reversal at one switch is a fault of its own; at a hundred, they have a common cause. */
const MAX_PROCESSORS = 100;

/** A pending event has a live job; the jobs of delivered events are deleted. */
const WEBHOOKS = `
select endpoint.acquirer_id as "acquirerId", endpoint.integrator_id as "integratorId", serves, disabled_at is not null as "isDisabled",
  coalesce(waiting.pending, 0)::int as pending,
  coalesce(extract(epoch from clock_timestamp() - waiting.oldest), 0)::float8 as "oldestSeconds"
from webhook_endpoints endpoint left join (
  select (data ->> 'endpointId')::uuid as id, count(*) as pending, min(created_on) as oldest from pgboss.job where name = 'webhook' and state < 'completed' group by 1
) waiting on waiting.id = endpoint.id
where $2::integer is null or endpoint.acquirer_id = $2
order by pending desc, 1, 2, 3 limit $1`;

/** Endpoints with the most pending events matter; the others would fill a page with zeros. */
const MAX_ENDPOINTS = 100;
/** Scrapers and consoles can ask at any rate; the database is queried at most at this interval. */
const TRUSTED_FOR_MS = 5_000;

/** Reads the backlog with a cache, which limits the load on the database. */
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
  const [queues, money, oldest, restore, webhooks, few] = await Promise.all([
    queueFigures(database),
    database.query<Pick<Backlog, 'reversalsOwed' | 'needsReview' | 'databaseBytes'>>(MONEY),
    database.query<OldestReversal>(OLDEST, [MAX_PROCESSORS]),
    readRestore(database),
    readPendingWebhooks(database),
    database.query<FewStans>(FEW, [MAX_SCOPES]),
  ]);
  const held = restore?.held;
  return { queues, oldestReversals: oldest.rows, held, webhooks, fewStans: few.rows, ...money.rows[0]! };
}

/** Counts per endpoint, most pending first. @param acquirerId undefined for all acquirers */
export async function readPendingWebhooks(database: Database, acquirerId?: number): Promise<PendingWebhooks[]> {
  const { rows } = await database.query<PendingWebhooks>(WEBHOOKS, [MAX_ENDPOINTS, acquirerId ?? null]);
  return rows;
}
