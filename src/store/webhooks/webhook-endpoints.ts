import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { UnaddressedEvent, WebhookOrigin } from '../../payments/model/decision.ts';
import type {
  EndpointStore,
  Integrator,
  RegisteredCallback,
  Registration,
  SecretOverlap,
  SigningEndpoint,
} from '../../webhooks/ports.ts';
import { LOCKS } from '../cells/advisory-locks.ts';
import type { Database } from '../postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../settings/admin-commit.ts';

// A new endpoint waits for the commits that have found none, and is visible to all that look for it afterwards. So each
// outcome that is committed after the registration received a response has an event. Existing endpoints need no wait.
const REGISTER = `
with commits_without_endpoint as materialized (
  select pg_advisory_xact_lock(${LOCKS.newEndpoints}, $1)
  where not exists (select from webhook_endpoints where acquirer_id = $1 and integrator_id = $3 and serves = $4)
)
insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret)
select $1, $2, $3, $4, $5, $6 from (select count(*) from commits_without_endpoint) as ended
on conflict (acquirer_id, integrator_id, serves) do update set url = excluded.url, disabled_at = null, updated_at = now()`;

const FIND = `
select id, url, (extract(epoch from disabled_at) * 1000)::float8 as "disabledAtMs"
from webhook_endpoints where acquirer_id = $1 and integrator_id = $2 and serves = $3`;

const FIND_SIGNING = `
select id, url, sealed_secret as "sealedSecret", case when previous_until > now() then previous_sealed_secret end as "previousSealedSecret"
from webhook_endpoints where acquirer_id = $1 and integrator_id = $2 and serves = $3`;

const DISABLE = `
update webhook_endpoints set disabled_at = now(), updated_at = now()
where acquirer_id = $1 and integrator_id = $2 and serves = $3 and disabled_at is null`;

// A secret that was never shown cannot be in use, so it needs no overlap. While an overlap runs, another replacement would
// end the first secret before its time. Only a caller who states that a secret is compromised ends all earlier secrets.
const REPLACE_SECRET = `
update webhook_endpoints
set sealed_secret = $3, secret_shown_at = now(), updated_at = now(),
  previous_sealed_secret = case when secret_shown_at is not null and $4 > 0 then sealed_secret end,
  previous_until = case when secret_shown_at is not null and $4 > 0 then now() + $4 * interval '1 s' end
where acquirer_id = $1 and id = $2 and ($5 or previous_until is null or previous_until <= now())
returning (extract(epoch from previous_until) * 1000)::float8 as "previousEndsAtMs"`;

/** Endpoints in the database, each by owner. */
export class PostgresWebhookEndpoints implements EndpointStore {
  readonly #database: Pick<Database, 'query'>;

  /** @param database or one of its clients, within a running commit */
  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  async register({ acquirerId, id, integratorId, serves, url, sealedSecret }: Registration): Promise<void> {
    await this.#database.query(REGISTER, [acquirerId, id, integratorId, serves, url, sealedSecret]);
  }

  async find({ acquirerId, integratorId }: Integrator, serves: WebhookOrigin): Promise<RegisteredCallback | undefined> {
    const { rows } = await this.#database.query<RegisteredCallback>(FIND, [acquirerId, integratorId, serves]);
    return rows[0];
  }

  async findSigning(
    { acquirerId, integratorId }: Integrator,
    serves: WebhookOrigin,
  ): Promise<SigningEndpoint | undefined> {
    const values = [acquirerId, integratorId, serves];
    return (await this.#database.query<SigningEndpoint>(FIND_SIGNING, values)).rows[0];
  }

  async disable({ acquirerId, integratorId }: Integrator, serves: WebhookOrigin): Promise<boolean> {
    const { rowCount } = await this.#database.query(DISABLE, [acquirerId, integratorId, serves]);
    return rowCount === 1;
  }

  async replaceSecret(
    { acquirerId, id }: { acquirerId: number; id: string },
    sealed: Uint8Array,
    { overlapSeconds, isCompromised }: SecretOverlap,
  ): Promise<number | null> {
    const values = [acquirerId, id, sealed, overlapSeconds, isCompromised];
    const { rows } = await this.#database.query<{ previousEndsAtMs: number | null }>(REPLACE_SECRET, values);
    if (!rows[0]) throw new RequestRejected('SECRET_OVERLAP_RUNNING');
    return rows[0].previousEndsAtMs;
  }
}

const EXCLUDE_NEW = `select pg_advisory_xact_lock_shared(${LOCKS.newEndpoints}, acquirer_id) from unnest($1::integer[]) as x(acquirer_id)`;

// A statement of its own: only that sees what was committed before the lock was granted.
const FIND_OF_EVENTS = `
select x.n::integer as n, p.id from unnest($1::integer[], $2::integer[], $3::text[]) with ordinality as x(acquirer_id, integrator_id, serves, n)
join webhook_endpoints p on p.acquirer_id = x.acquirer_id and p.integrator_id = x.integrator_id and p.serves = x.serves`;

/** Finds the ids of endpoints that other processes have registered meanwhile, in the commit of the events. */
export async function findEndpoints<Event extends UnaddressedEvent>(
  client: pg.ClientBase,
  events: readonly Event[],
): Promise<ReadonlyMap<Event, string>> {
  if (events.length === 0) return new Map();
  const acquirers = events.map(({ data }) => data.acquirerId);
  const owners = [events.map((event) => event.endpointOf.integratorId), events.map((event) => event.endpointOf.serves)];
  const inOrder = [...new Set(acquirers)].sort((one, other) => one - other); // so that two commits cannot deadlock
  const [, { rows }] = await Promise.all([
    client.query({ name: 'exclude-new-endpoints', text: EXCLUDE_NEW, values: [inOrder] }),
    client.query<{ n: number; id: string }>({
      name: 'find-endpoints-of-events',
      text: FIND_OF_EVENTS,
      values: [acquirers, ...owners],
    }),
  ]);
  return new Map(rows.map(({ n, id }) => [events[n - 1]!, id]));
}

/** Endpoints that an administrator sets for integrators. Each change is recorded in its own commit. */
export class RecordedWebhookEndpoints implements EndpointStore {
  readonly #database: Database;
  readonly #actor: string;

  constructor(database: Database, actor: string) {
    this.#database = database;
    this.#actor = actor;
  }

  /** @throws NotFound if the integrator does not exist */
  register(registration: Registration): Promise<void> {
    return this.#record(registration, registration.serves, async (endpoints, client) => {
      const { acquirerId, integratorId } = registration;
      const known = await client.query('select from integrators where acquirer_id = $1 and id = $2', [
        acquirerId,
        integratorId,
      ]);
      if (known.rowCount === 0) throw new NotFound();
      await endpoints.register(registration);
    });
  }

  find(owner: Integrator, serves: WebhookOrigin): Promise<RegisteredCallback | undefined> {
    return new PostgresWebhookEndpoints(this.#database).find(owner, serves);
  }

  /** Only a test needs the secrets here, so it is recorded. */
  findSigning(owner: Integrator, serves: WebhookOrigin): Promise<SigningEndpoint | undefined> {
    const { acquirerId } = owner;
    return inAdminCommit(this.#database, acquirerId, async (client) => {
      const found = await new PostgresWebhookEndpoints(client).findSigning(owner, serves);
      const event = { action: 'act', kind: 'callback', before: null, after: { did: 'testCallback' } } as const;
      if (found) await recordChange(client, { acquirerId, actor: this.#actor }, { ...event, id: found.id });
      return found;
    });
  }

  disable(owner: Integrator, serves: WebhookOrigin): Promise<boolean> {
    return this.#record(owner, serves, (endpoints) => endpoints.disable(owner, serves));
  }

  replaceSecret(
    key: { readonly acquirerId: number; readonly id: string },
    sealed: Uint8Array,
    overlap: SecretOverlap,
  ): Promise<number | null> {
    return inAdminCommit(this.#database, key.acquirerId, async (client) => {
      const previousEndsAtMs = await new PostgresWebhookEndpoints(client).replaceSecret(key, sealed, overlap);
      await recordChange(
        client,
        { acquirerId: key.acquirerId, actor: this.#actor },
        {
          action: 'change',
          kind: 'callback',
          id: key.id,
          before: null,
          after: { secret: 'replaced', previousUntilMs: previousEndsAtMs, isCompromised: overlap.isCompromised },
        },
      );
      return previousEndsAtMs;
    });
  }

  #record<Result>(
    owner: Integrator,
    serves: WebhookOrigin,
    act: (endpoints: PostgresWebhookEndpoints, client: pg.ClientBase) => Promise<Result>,
  ): Promise<Result> {
    return inAdminCommit(this.#database, owner.acquirerId, async (client) => {
      const endpoints = new PostgresWebhookEndpoints(client);
      const before = (await endpoints.find(owner, serves)) ?? null;
      const result = await act(endpoints, client);
      const after = (await endpoints.find(owner, serves)) ?? null;
      if (after === null || isDeepStrictEqual(before, after)) return result; // nothing changed
      await recordChange(
        client,
        { acquirerId: owner.acquirerId, actor: this.#actor },
        { action: before === null ? 'add' : 'change', kind: 'callback', id: after.id, before, after },
      );
      return result;
    });
  }
}
