import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import type { FirstDelivery, JobOutcome, PromptStore, StoredEvent, WebhookEndpoint } from '../../webhooks/ports.ts';
import { findPaymentReferences } from '../links/links.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { GroupCommit } from '../postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import type { JobsInCommit } from '../transactions/jobs-in-commit.ts';
import {
  disableGone,
  EVENT_COLUMNS,
  FINISHED_COLUMNS,
  finish,
  firstEvents,
  INSERT_EVENTS,
  nextJob,
  toRecord,
  type WriteBody,
} from './webhook-deliveries.ts';

/** The job of an event must not start beside a slow delivery, and the event must be visible soon. */
const CLAIM_EVERY_MS = 50;
const LEAVE_EVERY_MS = 10;
/** A result that is lost with its process is repeated, so this is short; nothing waits for it. */
const RECORD_EVERY_MS = 200;

interface Claim {
  readonly first: FirstDelivery;
  readonly event: StoredEvent;
}

interface Left {
  readonly first: FirstDelivery;
  readonly isClaimed: boolean;
}

interface Result {
  readonly first: FirstDelivery;
  readonly outcome: JobOutcome;
}

/**
 * Batched reads and writes of first deliveries. Unlike a job, such a delivery needs no read of its transaction and no event
 * before its attempt: one statement writes the event and the attempt when the receiver has responded.
 */
export class PostgresPromptDeliveries implements PromptStore {
  readonly #endpoints: EndpointReads;
  readonly #writeBody: WriteBody;
  readonly #claims: GroupCommit<Claim, boolean>;
  readonly #results: GroupCommit<Result, true>;
  readonly #left: GroupCommit<Left, true>;

  constructor(database: Database, jobs: JobsInCommit, writeBody: WriteBody) {
    this.#endpoints = new EndpointReads(database);
    this.#writeBody = writeBody;
    const keyOf = ({ first }: { readonly first: FirstDelivery }) => first.job.eventId;
    this.#claims = new GroupCommit<Claim, boolean>(database, { keyOf, write: claim, everyMs: CLAIM_EVERY_MS });
    this.#results = new GroupCommit<Result, true>(database, {
      keyOf,
      write: (client, results) => record(client, results, jobs),
      everyMs: RECORD_EVERY_MS,
    });
    this.#left = new GroupCommit<Left, true>(database, { keyOf, write: leave, everyMs: LEAVE_EVERY_MS });
  }

  async prepare(first: FirstDelivery): Promise<StoredEvent | undefined> {
    const { transaction, job } = first;
    const { endpoint, paymentReference } = await this.#endpoints.read(first);
    if (!endpoint) return undefined;
    return {
      acquirerId: job.acquirerId,
      id: job.eventId,
      body: this.#writeBody(transaction, job.outcome, paymentReference),
      state: 'pending',
      round: job.round,
      delivery: job.delivery,
      dueInSeconds: 0,
      earlyAttempts: 0,
      correlationId: transaction.correlationId,
      endpoint,
    };
  }

  claim(first: FirstDelivery, event: StoredEvent): Promise<boolean> {
    return this.#claims.submit({ first, event });
  }

  async record(first: FirstDelivery, outcome: JobOutcome): Promise<void> {
    await this.#results.submit({ first, outcome });
  }

  async leave(first: FirstDelivery, isClaimed: boolean): Promise<void> {
    await this.#left.submit({ first, isClaimed });
  }
}

const READ_ENDPOINTS = `
select p.acquirer_id as "acquirerId", p.id, p.integrator_id as "integratorId", p.serves, p.url, p.sealed_secret as "sealedSecret",
  case when p.previous_until > clock_timestamp() then p.previous_sealed_secret end as "previousSealedSecret",
  p.disabled_at is not null as "isDisabled"
from unnest($1::integer[], $2::uuid[]) as x(acquirer_id, id) join webhook_endpoints p on p.acquirer_id = x.acquirer_id and p.id = x.id`;

interface ReadEndpoint {
  readonly endpoint: WebhookEndpoint | undefined;
  /** Of the link that the tap paid. */
  readonly paymentReference: string | undefined;
}

interface WaitingRead {
  readonly first: FirstDelivery;
  readonly resolve: (read: ReadEndpoint) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Endpoints as they are now: a URL, a secret or an end of deliveries applies to everything that is sent after it was
 * committed. One statement reads for all deliveries that came while the one before ran.
 */
class EndpointReads {
  readonly #database: Database;
  #waiting: WaitingRead[] = [];
  #isReading = false;

  constructor(database: Database) {
    this.#database = database;
  }

  read(first: FirstDelivery): Promise<ReadEndpoint> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ first, resolve, reject });
      if (!this.#isReading) void this.#readAll();
    });
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    // All deliveries of a commit begin in one turn of the event loop.
    await setImmediate();
    while (this.#waiting.length > 0) await this.#readOnce(this.#waiting.splice(0));
    this.#isReading = false;
  }

  async #readOnce(waiting: readonly WaitingRead[]): Promise<void> {
    try {
      const keys = new Map(waiting.map(({ first: { job } }) => [job.endpointId, job.acquirerId]));
      const values = [[...keys.values()], [...keys.keys()]];
      const transactions = waiting.map(({ first }) => first.transaction);
      const [{ rows }, references] = await mapConnectionLoss(
        Promise.all([
          this.#database.query<WebhookEndpoint>({ name: 'read-webhook-endpoints', text: READ_ENDPOINTS, values }),
          findPaymentReferences(this.#database, transactions),
        ]),
      );
      const endpoints = new Map(rows.map((row) => [row.id, row]));
      for (const { first, resolve } of waiting) {
        const endpoint = endpoints.get(first.job.endpointId);
        resolve({ endpoint, paymentReference: references.get(first.transaction.id) });
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

const WRITE_CLAIMED = `with x as (${firstEvents.rows}) ${INSERT_EVENTS}`;

// As pg-boss takes a job: an orphaned one is given to another process when the claim expires.
const CLAIM = `
update pgboss.job set state = 'active', started_on = now()
where name = 'webhook' and id = any($1::uuid[]) and state = 'created' returning id`;

async function claim(client: pg.ClientBase, claims: readonly Claim[]): Promise<boolean[]> {
  await client.query('set local synchronous_commit = off');
  const events = firstEvents.values(claims.map(({ first, event }) => toEvent(first, event)));
  await client.query({ name: 'write-claimed-webhook-events', text: WRITE_CLAIMED, values: events });
  const values = [claims.map(({ first }) => first.jobId)];
  const { rows } = await client.query<{ id: string }>({ name: 'claim-webhook-jobs', text: CLAIM, values });
  const claimed = new Set(rows.map(({ id }) => id));
  return claims.map(({ first }) => claimed.has(first.jobId));
}

const recorded = new ColumnBatch({ ...EVENT_COLUMNS, ...FINISHED_COLUMNS });

// The job of the next delivery starts at now(), and so does its delay.
const RECORD = `
with x as (${recorded.rows}),
written as (
  insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state, delivery, attempts,
    next_at, not_early_before)
  select "acquirerId", id, "integratorId", "endpointId", "transactionId", type, body, state, coalesce("nextDelivery", delivery), 1,
    now() + "nextAfterSeconds" * interval '1 s', now() + "notEarlyForSeconds" * interval '1 s' from x
  on conflict do nothing
  returning id
),
kept as (
  insert into webhook_attempts (acquirer_id, event_id, number, at, url, status, error, duration_ms, response)
  select "acquirerId", id, 1, "atMs", url, status, error, "durationMs", response from x where id in (select id from written)
)
select id from written`;

/** An event that exists already was claimed, or its job has started nevertheless. */
async function record(client: pg.ClientBase, results: readonly Result[], jobs: JobsInCommit): Promise<true[]> {
  const values = recorded.values(
    results.map(({ first, outcome }) => ({ ...toRecord(outcome), ...toEvent(first, outcome.event) })),
  );
  const [, { rows }] = await Promise.all([
    client.query('set local synchronous_commit = off'),
    client.query<{ id: string }>({ name: 'record-webhooks', text: RECORD, values }),
    jobs.remove(
      client,
      'webhook',
      results.map(({ first }) => first.jobId),
    ),
  ]);
  const ids = new Set(rows.map(({ id }) => id));
  const outcomes = results.map(({ outcome }) => outcome);
  const written = outcomes.filter(({ event }) => ids.has(event.id));
  const following = written.flatMap(nextJob);
  if (following.length > 0) await jobs.enqueue(client, following);
  await disableGone(client, written);
  if (written.length < outcomes.length) {
    const others = outcomes.filter(({ event }) => !ids.has(event.id));
    await finish(client, others, jobs);
  }
  return results.map(() => true as const);
}

function toEvent({ job }: FirstDelivery, { body, endpoint }: StoredEvent) {
  const { acquirerId, eventId: id, outcome } = job;
  const { transactionId, type } = outcome;
  return { acquirerId, id, integratorId: endpoint.integratorId, endpointId: endpoint.id, transactionId, type, body };
}

// A job that is active without a claim of this process belongs to another one: the lease had ended. So does one whose claim
// lapsed, which has counted a retry.
const LEAVE = `
update pgboss.job set state = 'created', started_on = null, start_after = now()
from unnest($1::uuid[], $2::boolean[]) as x(id, is_claimed)
where name = 'webhook' and job.id = x.id and retry_count = 0 and (state = 'created' or state = 'active' and is_claimed)`;

async function leave(client: pg.ClientBase, left: readonly Left[]): Promise<true[]> {
  await client.query('set local synchronous_commit = off');
  const values = [left.map(({ first }) => first.jobId), left.map(({ isClaimed }) => isClaimed)];
  await client.query({ name: 'leave-webhook-jobs', text: LEAVE, values });
  return left.map(() => true as const);
}
