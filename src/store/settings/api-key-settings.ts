import type { NewApiKey, StoredApiKey } from '#schemas/admin-credentials';
import { type ApiKeyMode, createApiKey } from '../../auth/api-key.ts';
import { RequestRejected } from '../../basics/errors.ts';
import type { Secret } from '../../codecs/bytes/secret.ts';
import type { Database } from '../postgres/open-database.ts';
import { AcquirerSettings, type Page } from './acquirer-settings.ts';
import { type Change, inAdminCommit, type Reach } from './admin-commit.ts';
import { findOwner } from './find-owner.ts';
import type { Removal, SettingsTable } from './settings-table.ts';

/** One or two for each merchant of a large acquirer. */
const MAX_KEYS = 200_000;
const HOUR_MS = 3_600_000;

interface KeyRow extends NewApiKey {
  readonly id: string;
  readonly mode: ApiKeyMode;
  readonly secretHash: Uint8Array;
}

const API_KEYS: SettingsTable<KeyRow, StoredApiKey> = {
  kind: 'api key',
  table: 'api_keys',
  key: { name: 'id', column: 'id', from: 'settings' },
  most: MAX_KEYS,
  columns: {
    id: 'id',
    mode: 'mode',
    name: 'name',
    scopes: 'scopes',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    expiresAt: 'expires_at',
    secretHash: { column: 'secret_hash', as: null },
  },
  reads: { revokedAt: 'revoked_at', lastUsedAt: 'last_used_at' },
  removed: { column: 'revoked_at', isShown: true },
};

/** A stored key and its text, which is never shown again. */
export interface IssuedKey {
  readonly stored: StoredApiKey;
  readonly text: Secret<string>;
}

/** The API keys of acquirers, their integrators and merchants. */
export class ApiKeySettings {
  readonly #database: Database;
  readonly #mode: ApiKeyMode;
  readonly #rows: AcquirerSettings<KeyRow, StoredApiKey>;

  constructor(database: Database, mode: ApiKeyMode) {
    this.#database = database;
    this.#mode = mode;
    this.#rows = new AcquirerSettings(database, API_KEYS);
  }

  /** Ordered by id, revoked keys included. @throws NotFound for an unknown acquirer */
  list(reach: Reach, page: Page): Promise<StoredApiKey[]> {
    return this.#rows.list(reach, page);
  }

  /** @throws NotFound */
  find(reach: Reach, id: string): Promise<StoredApiKey> {
    return this.#rows.find(reach, id);
  }

  /** @throws NotFound, RequestRejected, AuthError FORBIDDEN: as `findOwner` */
  add(change: Change, wanted: NewApiKey): Promise<IssuedKey> {
    return inAdminCommit(this.#database, change.acquirerId, async (client) => {
      const owner = await findOwner(client, change, wanted);
      const { text, row } = this.#make(change, { ...wanted, ...owner });
      return { stored: await this.#rows.addIn(client, change, row), text };
    });
  }

  /**
   * Issues a copy of a key. The old key keeps working for `overlapHours`; the new one has the same lifetime as the old
   * one had.
   *
   * @throws NotFound; RequestRejected (API_KEY_EXPIRED)
   */
  rotate(change: Change, id: string, overlapHours: number): Promise<IssuedKey> {
    return inAdminCommit(this.#database, change.acquirerId, async (client) => {
      const old = await this.#rows.findIn(client, change, id);
      const nowMs = Date.now();
      const oldEndsAtMs = old.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(old.expiresAt);
      if (old.revokedAt !== null || oldEndsAtMs <= nowMs) throw new RequestRejected('API_KEY_EXPIRED');
      const endsAtMs = Math.min(oldEndsAtMs, nowMs + overlapHours * HOUR_MS);
      await this.#rows.changeIn(client, change, id, { expiresAt: iso(endsAtMs) });
      const lifetimeMs = oldEndsAtMs - Date.parse(old.createdAt);
      const expiresAt = old.expiresAt === null ? null : iso(nowMs + lifetimeMs);
      const { name, scopes, integratorId, merchantId } = old;
      const { text, row } = this.#make(change, {
        ...{ name, integratorId, merchantId, expiresAt },
        scopes: scopes as NewApiKey['scopes'],
      });
      return { stored: await this.#rows.addIn(client, change, row), text };
    });
  }

  /** Revokes the key: it stops working within 5 s. @throws NotFound also for a revoked key */
  remove(change: Change, id: string): Promise<Removal | undefined> {
    return this.#rows.remove(change, id);
  }

  #make({ acquirerId }: Change, wanted: NewApiKey): { readonly text: Secret<string>; readonly row: KeyRow } {
    const { name, scopes, integratorId, merchantId, expiresAt } = wanted;
    const owner = { acquirerId, integratorId: integratorId ?? undefined, merchantId: merchantId ?? undefined };
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    const { text, record } = createApiKey({ mode: this.#mode, owner, scopes, name, expiresAtMs });
    return { text, row: { ...wanted, id: record.id, mode: this.#mode, secretHash: record.secretHash } };
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
