import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { NotFound } from '../../basics/errors.ts';
import type { WebhookOrigin } from '../../payments/model/jobs.ts';
import type {
  EndpointStore,
  Integrator,
  RegisteredCallback,
  Registration,
  SecretOverlap,
} from '../../webhooks/ports.ts';
import type { Database } from '../postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { PostgresWebhookEndpoints } from './webhook-endpoints.ts';

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
