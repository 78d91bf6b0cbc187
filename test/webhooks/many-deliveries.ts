import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { readConfig } from '../../src/start/config.ts';
import { openKeyRing } from '../../src/start/open-key-ring.ts';
import { createSecretVault, createWebhookSecret } from '../../src/webhooks/webhook-signature.ts';
import { eventually } from '../support/eventually.ts';
import type { Installation } from '../support/installation.ts';

const ACQUIRER = 1;
const FIRST_INTEGRATOR = 1_000;

interface Figures {
  readonly delivered: number;
  readonly pending: number;
  readonly leastAttempts: number;
  readonly mostAttempts: number;
}

/** Thousands of endpoints and events, as an installation writes them, without their taps. */
export class ManyDeliveries {
  readonly #installation: Pick<Installation, 'database' | 'environment'>;

  constructor(installation: Pick<Installation, 'database' | 'environment'>) {
    this.#installation = installation;
  }

  /** An endpoint for each URL, each of its own integrator. @returns their ids */
  async saveEndpoints(urls: readonly string[]): Promise<string[]> {
    const { database } = this.#installation;
    const vault = createSecretVault(await openKeyRing(readConfig(this.#installation.environment())));
    const ids = urls.map(() => randomUUID());
    const secret = createWebhookSecret();
    const next = 'select greatest(max(id) + 1, $1)::int as first from integrators';
    const { rows } = await database.query<{ first: number }>(next, [FIRST_INTEGRATOR]);
    const { first } = rows[0]!;
    await database.query(
      `insert into integrators (acquirer_id, id, name) select $1, $2 + n, 'Many' from generate_series(0, $3 - 1) n`,
      [ACQUIRER, first, urls.length],
    );
    await database.query(
      `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret)
       select $1, id, $2 + n - 1, 'taps', url, sealed
       from unnest($3::uuid[], $4::text[], $5::bytea[]) with ordinality as x(id, url, sealed, n)`,
      [ACQUIRER, first, ids, urls, ids.map((id) => vault.seal(id, secret))],
    );
    return ids;
  }

  /** Events as if their outcomes were committed now, `each` for every endpoint, in rotation. */
  async addEvents(endpoints: readonly string[], each: number): Promise<void> {
    await this.#installation.database.query(
      `with events as (
         insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, next_at)
         select $1, gen_random_uuid(), p.integrator_id, p.id, gen_random_uuid(), 'transaction.completed',
           json_build_object('number', n)::text, now()
         from generate_series(1, $3::integer) n cross join unnest($2::uuid[]) with ordinality as x(id, at)
         join webhook_endpoints p on p.acquirer_id = $1 and p.id = x.id order by n, at
         returning id, endpoint_id
       )
       insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until)
       select 'webhook',
         jsonb_build_object('acquirerId', $1::integer, 'eventId', id, 'endpointId', endpoint_id, 'round', 1, 'delivery', 1),
         10000, 60, 3600, now() + interval '1 day' from events`,
      [ACQUIRER, endpoints, each],
    );
  }

  /** Simulates that the receiver was down for longer: what waits is at the third step of the schedule or later. */
  async waitLonger(endpoints: readonly string[]): Promise<void> {
    await this.#installation.database.query(
      `with longer as (
         update pgboss.job set start_after = now() + interval '30 minutes'
         where name = 'webhook' and state = 'created' and (data ->> 'endpointId')::uuid = any($1) returning data
       )
       update webhook_events set next_at = now() + interval '30 minutes'
       where id in (select (data ->> 'eventId')::uuid from longer)`,
      [endpoints],
    );
  }

  async figures(endpoints: readonly string[]): Promise<Figures> {
    const { rows } = await this.#installation.database.query<Figures>(
      `select count(*) filter (where state = 'delivered')::int as delivered, count(*) filter (where state = 'pending')::int as pending,
         min(attempts)::int as "leastAttempts", max(attempts)::int as "mostAttempts"
       from webhook_events where endpoint_id = any($1)`,
      [endpoints],
    );
    return rows[0]!;
  }

  until(endpoints: readonly string[], wanted: Partial<Figures>): Promise<void> {
    return eventually(async () => {
      expect(await this.figures(endpoints)).toMatchObject(wanted);
    });
  }
}
