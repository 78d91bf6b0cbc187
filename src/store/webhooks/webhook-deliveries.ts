import type pg from 'pg';
import type { JobPayloads, WebhookOutcome } from '#schemas/jobs';
import type { StorableJob } from '../../payments/model/decision.ts';
import type { Transaction, TransactionKey } from '../../payments/model/transaction.ts';
import type {
  DeliveryStore,
  Forwarded,
  ForwardRequest,
  JobOutcome,
  StoredEvent,
  WaitingDeliveries,
  WebhookEndpoint,
} from '../../webhooks/ports.ts';
import { findPaymentReferences } from '../links/links.ts';
import { ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { GroupCommit, inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { findTransactions } from '../transactions/find-transactions.ts';
import type { JobsInCommit } from '../transactions/jobs-in-commit.ts';

type WebhookJob = JobPayloads['webhook'];
type FirstJob = WebhookJob & { readonly outcome: WebhookOutcome };

/** Builds the body of an event from the current row, and from the paymentReference of the link that it paid. */
export type WriteBody = (transaction: Transaction, outcome: WebhookOutcome, paymentReference?: string) => string;

/** Repeated deliveries are not urgent: reads are gathered for this long, and writes for longer. */
const GATHER_MS = 10;
const RECORD_EVERY_MS = 50;

/**
 * Batched reads and writes of deliveries. None of them waits for the disk: a job is removed in the commit of its
 * result, so after a crash the lost work is repeated with the same event id.
 */
export class PostgresWebhookDeliveries implements DeliveryStore {
  readonly #writes: GroupCommit<FirstJob, StoredEvent | undefined>;
  readonly #reads: GroupCommit<WebhookJob, StoredEvent | undefined>;
  readonly #outcomes: GroupCommit<JobOutcome, true>;

  constructor(database: Database, jobs: JobsInCommit, writeBody: WriteBody) {
    this.#writes = new GroupCommit(database, {
      keyOf: ({ eventId }) => eventId,
      write: (client, firsts) => writeEvents(client, firsts, writeBody),
      everyMs: GATHER_MS,
    });
    this.#reads = new GroupCommit(database, {
      keyOf: ({ eventId }) => eventId,
      write: readEvents,
      everyMs: GATHER_MS,
    });
    this.#outcomes = new GroupCommit(database, {
      keyOf: ({ event }) => event.id,
      write: (client, outcomes) => finish(client, outcomes, jobs),
      everyMs: RECORD_EVERY_MS,
    });
  }

  write(job: FirstJob): Promise<StoredEvent | undefined> {
    return this.#writes.submit(job);
  }

  open(job: WebhookJob): Promise<StoredEvent | undefined> {
    return this.#reads.submit(job);
  }

  async finish(outcome: JobOutcome): Promise<void> {
    await this.#outcomes.submit(outcome);
  }
}

const EVENT = 'acquirer_id, id, endpoint_id, transaction_id, body, state, round, delivery, next_at, early_attempts';

/** Events `e` with their endpoints, each with the names of an `EventRow`. */
const WITH_ENDPOINT = `
select e.acquirer_id as "acquirerId", e.id, e.body, e.state, e.round, e.delivery, e.endpoint_id as "endpointId",
  greatest(extract(epoch from e.next_at - clock_timestamp()), 0)::float8 as "dueInSeconds", e.early_attempts as "earlyAttempts",
  p.integrator_id as "integratorId", p.serves, p.url, p.sealed_secret as "sealedSecret",
  case when p.previous_until > clock_timestamp() then p.previous_sealed_secret end as "previousSealedSecret",
  p.disabled_at is not null as "isDisabled", t.correlation_id as "correlationId"
from e join webhook_endpoints p on p.acquirer_id = e.acquirer_id and p.id = e.endpoint_id
left join transactions t on t.acquirer_id = e.acquirer_id and t.id = e.transaction_id`;

export const EVENT_COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  integratorId: 'integer',
  endpointId: 'uuid',
  transactionId: 'uuid',
  type: 'text',
  body: 'text',
} as const satisfies ColumnList;
export const firstEvents = new ColumnBatch(EVENT_COLUMNS);

/** Writes events that do not exist yet, as pending and due. */
export const INSERT_EVENTS = `
insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, next_at)
select "acquirerId", id, "integratorId", "endpointId", "transactionId", type, body, clock_timestamp() from x
on conflict do nothing`;

// An existing event keeps its body, even if its transaction has changed.
const WRITE = `
with x as (${firstEvents.rows}),
written as (${INSERT_EVENTS}
  returning ${EVENT}
),
e as (
  select ${EVENT} from written union all
  select ${EVENT} from webhook_events where (acquirer_id, id) in (select "acquirerId", id from x)
)
${WITH_ENDPOINT}`;

async function writeEvents(
  client: pg.ClientBase,
  firsts: readonly FirstJob[],
  writeBody: WriteBody,
): Promise<(StoredEvent | undefined)[]> {
  await client.query('set local synchronous_commit = off');
  const keys: TransactionKey[] = firsts.map(({ acquirerId, outcome }) => ({ acquirerId, id: outcome.transactionId }));
  const rows = await findTransactions(client, keys);
  const transactions = new Map(rows.map((row) => [row.id, row]));
  const references = await findPaymentReferences(client, rows);
  const records = firsts.flatMap(({ acquirerId, eventId: id, endpointId, outcome }) => {
    const transaction = transactions.get(outcome.transactionId);
    if (!transaction) return [];
    const { transactionId, type } = outcome;
    const { integratorId } = transaction;
    const body = writeBody(transaction, outcome, references.get(transactionId));
    return [{ acquirerId, id, integratorId, endpointId, transactionId, type, body }];
  });
  const values = firstEvents.values(records);
  const written = await client.query<EventRow>({ name: 'write-webhook-events', text: WRITE, values });
  return inOrder(firsts, written.rows);
}

const READ = `
with e as (select ${EVENT} from webhook_events where (acquirer_id, id) in (select * from unnest($1::integer[], $2::uuid[])))
${WITH_ENDPOINT}`;

async function readEvents(client: pg.ClientBase, jobs: readonly WebhookJob[]): Promise<(StoredEvent | undefined)[]> {
  const values = [jobs.map(({ acquirerId }) => acquirerId), jobs.map(({ eventId }) => eventId)];
  const { rows } = await client.query<EventRow>({ name: 'read-webhook-events', text: READ, values });
  return inOrder(jobs, rows);
}

type EventRow = Omit<StoredEvent, 'endpoint'> & Omit<WebhookEndpoint, 'id'> & { readonly endpointId: string };

function inOrder(jobs: readonly WebhookJob[], rows: readonly EventRow[]): (StoredEvent | undefined)[] {
  const events = new Map(rows.map((row) => [row.id, eventOf(row)]));
  return jobs.map(({ eventId }) => events.get(eventId));
}

function eventOf(row: EventRow): StoredEvent {
  const { acquirerId, id, body, state, round, delivery, dueInSeconds, earlyAttempts, correlationId, ...rest } = row;
  const { endpointId, ...endpoint } = rest;
  const event = { acquirerId, id, body, state, round, delivery, dueInSeconds, earlyAttempts, correlationId };
  return { ...event, endpoint: { ...endpoint, acquirerId, id: endpointId } };
}

export const FINISHED_COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  round: 'integer',
  delivery: 'integer',
  state: 'text',
  nextDelivery: 'integer',
  nextAfterSeconds: 'float8',
  notEarlyForSeconds: 'float8',
  earlyAttempts: 'integer',
  atMs: 'ms',
  url: 'text',
  status: 'integer',
  error: 'text',
  durationMs: 'integer',
  response: 'text',
} as const satisfies ColumnList;
const finishedDeliveries = new ColumnBatch(FINISHED_COLUMNS);

// The job of the next delivery starts at now(), and so does its delay. When it is taken, next_at has therefore
// passed, unless it was brought forward. If an attempt is recorded second (after an expired claim, or a replay in
// between), it is stored and decides nothing.
const SETTLE = `
with x as (${finishedDeliveries.rows}),
held as (
  select e.acquirer_id, e.id, e.round = x.round and e.delivery = x.delivery and e.state = 'pending' as decides
  from webhook_events e join x on e.acquirer_id = x."acquirerId" and e.id = x.id
  order by e.acquirer_id, e.id for update of e
),
settled as (
  update webhook_events e
  set attempts = e.attempts + ("atMs" is not null)::integer,
    state = case when decides then x.state else e.state end,
    delivery = case when decides then coalesce("nextDelivery", e.delivery) else e.delivery end,
    next_at = case when decides then now() + "nextAfterSeconds" * interval '1 s' else e.next_at end,
    early_attempts = case when decides then coalesce(x."earlyAttempts", 0) else e.early_attempts end,
    not_early_before = case when decides then now() + x."notEarlyForSeconds" * interval '1 s' else e.not_early_before end
  from x join held on held.acquirer_id = x."acquirerId" and held.id = x.id
  where e.acquirer_id = x."acquirerId" and e.id = x.id
  returning e.acquirer_id, e.id, e.attempts as number, decides
),
kept as (
  insert into webhook_attempts (acquirer_id, event_id, number, at, url, status, error, duration_ms, response)
  select x."acquirerId", x.id, number, "atMs", url, status, error, "durationMs", response
  from x join settled on settled.acquirer_id = x."acquirerId" and settled.id = x.id where "atMs" is not null
)
select id from settled where decides`;

// An endpoint that has another URL by now is not the one that responded with 410.
const DISABLE = `
update webhook_endpoints p set disabled_at = now(), updated_at = now()
from unnest($1::integer[], $2::uuid[], $3::text[]) as x(acquirer_id, id, url)
where p.acquirer_id = x.acquirer_id and p.id = x.id and p.url = x.url and p.disabled_at is null`;

/** Records what followed from jobs, and replaces each with the job of its next delivery, if there is one. */
export async function finish(
  client: pg.ClientBase,
  outcomes: readonly JobOutcome[],
  jobs: JobsInCommit,
): Promise<true[]> {
  await client.query('set local synchronous_commit = off');
  const { rows } = await client.query<{ id: string }>({
    name: 'settle-webhooks',
    text: SETTLE,
    values: finishedDeliveries.values(outcomes.map(toRecord)),
  });
  const deciding = new Set(rows.map(({ id }) => id));
  const following = outcomes.filter(({ event }) => deciding.has(event.id)).flatMap(nextJob);
  if (following.length > 0) await jobs.enqueue(client, following);
  await jobs.remove(
    client,
    'webhook',
    outcomes.map(({ jobId }) => jobId),
  );
  await disableGone(client, outcomes);
  return outcomes.map(() => true as const);
}

export async function disableGone(client: pg.ClientBase, outcomes: readonly JobOutcome[]): Promise<void> {
  const gone = outcomes.filter(({ disablesEndpoint }) => disablesEndpoint).map(({ event }) => event.endpoint);
  if (gone.length === 0) return;
  const columns = [gone.map(({ acquirerId }) => acquirerId), gone.map(({ id }) => id), gone.map(({ url }) => url)];
  await client.query(DISABLE, columns);
}

export function toRecord({ event, attempt, state, next }: JobOutcome) {
  const { acquirerId, id, round, delivery } = event;
  const nextDelivery = next?.delivery ?? null;
  return {
    ...attempt,
    acquirerId,
    id,
    round,
    delivery,
    state,
    nextDelivery,
    nextAfterSeconds: next?.afterSeconds ?? null,
    notEarlyForSeconds: next?.notEarlyForSeconds ?? null,
    earlyAttempts: next?.earlyAttempts ?? null,
  };
}

export function nextJob({ event, next }: JobOutcome): StorableJob[] {
  if (!next) return [];
  const { acquirerId, id: eventId, round, endpoint } = event;
  const data = { acquirerId, eventId, endpointId: endpoint.id, round, delivery: next.delivery };
  return [{ queue: 'webhook', data, startAfterSeconds: next.afterSeconds }];
}

/** Only one run in the whole installation: a second one at the same time would find the same deliveries. */
const LOCK = `select pg_try_advisory_xact_lock(hashtext('bring webhook deliveries forward')) as "isOurs"`;

/** A delivery that is due this soon need not be brought forward. */
const SOON = `interval '1 s'`;

// Oldest events first, then those that may not be early yet. A job that a worker has taken meanwhile is left
// unchanged.
const BRING_FORWARD = `
with wanted as (select * from unnest($1::integer[], $2::text[], $3::integer[]) as w(acquirer_id, endpoint_id, most)),
waiting as materialized (
  select job.id, w.endpoint_id, w.most, coalesce(e.not_early_before, '-infinity') as allowed_at,
    row_number() over (partition by w.endpoint_id order by coalesce(e.not_early_before, '-infinity') > now(), e.created_at, e.id) as place
  from wanted w
  join pgboss.job on job.data ->> 'endpointId' = w.endpoint_id
  join webhook_events e on e.acquirer_id = w.acquirer_id and e.id = (job.data ->> 'eventId')::uuid
  where job.name = 'webhook' and job.state = 'created' and job.start_after > now() + ${SOON}
),
moved as (
  update pgboss.job set start_after = now() + random() * $4::float8 * interval '1 s'
  from waiting
  where job.name = 'webhook' and job.id = waiting.id and place <= most and allowed_at <= now()
    and job.state = 'created' and job.start_after > now()
  returning waiting.endpoint_id
)
select w.endpoint_id as "endpointId", (select count(*) from moved where moved.endpoint_id = w.endpoint_id)::int as moved,
  (select extract(epoch from min(allowed_at) - now()) from waiting
    where waiting.endpoint_id = w.endpoint_id and allowed_at > now())::float8 as "laterSeconds"
from wanted w`;

/** Deliveries that wait for a later time, in the job table. */
export class PostgresWaitingDeliveries implements WaitingDeliveries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  bringForward(
    wanted: readonly ForwardRequest[],
    withinSeconds: number,
  ): Promise<ReadonlyMap<string, Forwarded> | undefined> {
    return inTransaction(this.#database, async (client) => {
      const { rows } = await client.query<{ isOurs: boolean }>(LOCK);
      return rows[0]!.isOurs ? bringForward(client, wanted, withinSeconds) : undefined;
    });
  }
}

async function bringForward(client: pg.ClientBase, wanted: readonly ForwardRequest[], withinSeconds: number) {
  const { rows } = await client.query<Forwarded & { endpointId: string }>(BRING_FORWARD, [
    wanted.map(({ acquirerId }) => acquirerId),
    wanted.map(({ endpointId }) => endpointId),
    wanted.map(({ most }) => most),
    withinSeconds,
  ]);
  return new Map(rows.map(({ endpointId, moved, laterSeconds }) => [endpointId, { moved, laterSeconds }]));
}
