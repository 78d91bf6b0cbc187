import type pg from 'pg';
import type { WebhookAttemptView, WebhookEventView } from '#schemas/webhook';
import type { StorableJob } from '../../payments/model/decision.ts';
import type { EventFilter, EventReader, EventReplayer, Integrator, Replay } from '../../webhooks/ports.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import type { JobsInCommit } from '../transactions/jobs-in-commit.ts';

interface EventRow extends Omit<WebhookEventView, 'payload' | 'createdAt' | 'nextAttemptAt'> {
  readonly body: string;
  readonly createdAt: Date;
  readonly nextAttemptAt: Date | null;
}

// Newest first. Among events written in one statement the id decides, so that a page has a definite end.
const LIST = `
select id, type, transaction_id as "serviceReference", state, attempts, body, created_at as "createdAt",
  case when state = 'pending' then next_at end as "nextAttemptAt"
from webhook_events e
where acquirer_id = $1 and integrator_id = $2
  and ($3::text is null or type = $3) and ($4::text is null or state = $4)
  and ($5::uuid is null or transaction_id = $5)
  and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
  and ($8::uuid is null or (created_at, id) < (select created_at, id from webhook_events where acquirer_id = $1 and integrator_id = $2 and id = $8))
order by created_at desc, id desc limit $9`;

const OWNED = 'select attempts from webhook_events where acquirer_id = $1 and integrator_id = $2 and id = $3';

/** Attempts that are shown. Each has up to 3 KB, which the receiver chooses. */
const ATTEMPTS_SHOWN = 100;

const ATTEMPTS = `
select number, at, url, status, error, duration_ms as "durationMs", response
from webhook_attempts where acquirer_id = $1 and event_id = $2 order by number desc limit ${ATTEMPTS_SHOWN}`;

/** An event with more attempts is not replayed: a receiver that has refused a hundred rounds refuses the next one. */
const MAX_ATTEMPTS = 1_000;

// Starts a new round: the jobs of the current one then do nothing. An event that is due has a job already, and a replay in
// a loop would add one each time.
const BEGIN_ROUND = `
update webhook_events set round = round + 1, delivery = 1, state = 'pending', next_at = now(), early_attempts = 0,
  not_early_before = null
where acquirer_id = $1 and integrator_id = $2 and attempts < ${MAX_ATTEMPTS}
  and not (state = 'pending' and next_at <= now())`;
const BEGUN = 'returning acquirer_id as "acquirerId", id as "eventId", endpoint_id as "endpointId", round';

interface BegunRound {
  readonly acquirerId: number;
  readonly eventId: string;
  readonly endpointId: string;
  readonly round: number;
}

/** Jobs per statement: a replay of thousands must not lock the job table for long. */
const JOBS_PER_STATEMENT = 1_000;

/** An integrator's view of its events. */
export class PostgresEventReader implements EventReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list({ acquirerId, integratorId }: Integrator, filter: EventFilter): Promise<WebhookEventView[]> {
    const { type, state, serviceReference, from, to, after, limit } = filter;
    const values = [acquirerId, integratorId, type, state, serviceReference, from, to, after, limit];
    const { rows } = await this.#database.query<EventRow>(LIST, values);
    return rows.map(({ body, createdAt, nextAttemptAt, ...row }) => ({
      ...row,
      createdAt: createdAt.toISOString(),
      nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      payload: JSON.parse(body),
    }));
  }

  async attempts({ acquirerId, integratorId }: Integrator, eventId: string): Promise<WebhookAttemptView[] | undefined> {
    const { rowCount } = await this.#database.query(OWNED, [acquirerId, integratorId, eventId]);
    if (rowCount === 0) return undefined;
    const { rows } = await this.#database.query<Omit<WebhookAttemptView, 'at'> & { at: Date }>(ATTEMPTS, [
      acquirerId,
      eventId,
    ]);
    return rows.map((row) => ({ ...row, at: row.at.toISOString() })).reverse();
  }
}

/** The same, with replays. */
export class PostgresWebhookEvents extends PostgresEventReader implements EventReplayer {
  readonly #database: Database;
  readonly #jobs: JobsInCommit;

  constructor(database: Database, jobs: JobsInCommit) {
    super(database);
    this.#database = database;
    this.#jobs = jobs;
  }

  async replay({ acquirerId, integratorId }: Integrator, eventId: string): Promise<Replay | undefined> {
    const owned = [acquirerId, integratorId, eventId];
    if ((await this.#begin(`${BEGIN_ROUND} and id = $3 ${BEGUN}`, owned)) === 1) return 'scheduled';
    const { rows } = await this.#database.query<{ attempts: number }>(OWNED, owned);
    return rows[0] && (rows[0].attempts < MAX_ATTEMPTS ? 'scheduled' : 'exhausted');
  }

  /** Replays these events, except those that were delivered or begun again meanwhile. @returns how many */
  replayUndelivered({ acquirerId, integratorId }: Integrator, eventIds: readonly string[]): Promise<number> {
    const isUndelivered = `and id = any($3::uuid[]) and state in ('failed', 'stopped')`;
    return this.#begin(`${BEGIN_ROUND} ${isUndelivered} ${BEGUN}`, [acquirerId, integratorId, eventIds]);
  }

  async replayRange(
    { acquirerId, integratorId }: Integrator,
    { from, to, includeDelivered }: { from: string; to: string; includeDelivered: boolean },
    limit: number,
  ): Promise<number | undefined> {
    const range = `and created_at >= $3 and created_at < $4 and ($5 or state <> 'delivered')`;
    const values = [acquirerId, integratorId, from, to, includeDelivered];
    const counted = `select from webhook_events where acquirer_id = $1 and integrator_id = $2 ${range} limit ${limit + 1}`;
    const { rowCount } = await this.#database.query(counted, values);
    if ((rowCount ?? 0) > limit) return undefined;
    return this.#begin(`${BEGIN_ROUND} ${range} ${BEGUN}`, values);
  }

  #begin(sql: string, values: readonly unknown[]): Promise<number> {
    return inTransaction(this.#database, async (client) => {
      const { rows } = await client.query<BegunRound>(sql, [...values]);
      await this.#enqueue(client, rows);
      return rows.length;
    });
  }

  async #enqueue(client: pg.ClientBase, rounds: readonly BegunRound[]): Promise<void> {
    const jobs = rounds.map((round): StorableJob => ({ queue: 'webhook', data: { ...round, delivery: 1 } }));
    for (let at = 0; at < jobs.length; at += JOBS_PER_STATEMENT) {
      await this.#jobs.enqueue(client, jobs.slice(at, at + JOBS_PER_STATEMENT));
    }
  }
}
