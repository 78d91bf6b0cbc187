import type { ApiKeyOwner, ApiKeyRecord, ApiKeys } from '../../auth/api-key.ts';
import { NotFound } from '../../basics/errors.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { shown } from '../settings/settings-table.ts';

interface Row {
  readonly id: string;
  readonly mode: ApiKeyRecord['mode'];
  readonly secretHash: Uint8Array;
  readonly acquirerId: number | null;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly scopes: string[];
  readonly name: string;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}

const FIND = `select id, mode, secret_hash as "secretHash", acquirer_id as "acquirerId", integrator_id as "integratorId",
  merchant_id as "merchantId", scopes, name, (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs",
  (extract(epoch from revoked_at) * 1000)::float8 as "revokedAtMs" from api_keys where id = $1`;

export function postgresApiKeys(database: Database, onError: (error: unknown) => void): ApiKeys {
  return {
    async find(id) {
      const { rows } = await mapConnectionLoss(database.query<Row>({ name: 'find-api-key', text: FIND, values: [id] }));
      const row = rows[0];
      return row && { ...row, owner: ownerOf(row) };
    },
    recordUse(id, atMs) {
      database
        .query('update api_keys set last_used_at = to_timestamp($2) where id = $1', [id, atMs / 1000])
        .catch(onError);
    },
  };
}

export async function insertApiKey(
  database: Pick<Database, 'query'>,
  { id, mode, secretHash, owner, scopes, name, expiresAtMs }: ApiKeyRecord,
): Promise<void> {
  const tenant = owner === 'operator' ? undefined : owner;
  await database.query(
    `insert into api_keys (id, mode, secret_hash, acquirer_id, integrator_id, merchant_id, scopes, name, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, to_timestamp($9))`,
    [
      id,
      mode,
      secretHash,
      tenant?.acquirerId ?? null,
      tenant?.integratorId ?? null,
      tenant?.merchantId ?? null,
      scopes,
      name,
      expiresAtMs === null ? null : expiresAtMs / 1000,
    ],
  );
}

function ownerOf({ acquirerId, integratorId, merchantId }: Row): ApiKeyOwner {
  if (acquirerId === null) return 'operator';
  return { acquirerId, ...(integratorId !== null && { integratorId }), ...(merchantId !== null && { merchantId }) };
}

/** A key of the operator for display: times in ISO 8601. */
export interface OperatorKey {
  readonly id: string;
  readonly mode: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly revokedAt: string | null;
}

const SELECT = `select id, mode, name, created_at as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"
  from api_keys where acquirer_id is null`;

/** Normally there are a few: one for each person or machine that operates the installation. */
const MAX_SHOWN = 1_000;

/** Oldest first, including revoked ones. */
export async function listOperatorKeys(database: Database): Promise<OperatorKey[]> {
  const { rows } = await mapConnectionLoss(
    database.query<object>(`${SELECT} order by created_at, id limit ${MAX_SHOWN}`),
  );
  return rows.map((row) => shown<OperatorKey>(row));
}

export function addOperatorKey(database: Database, actor: string, record: ApiKeyRecord): Promise<void> {
  return inAdminCommit(database, INSTALLATION, async (client) => {
    await insertApiKey(client, record);
    const { id, mode, name, scopes } = record;
    const after = { id, mode, name, scopes };
    const change = { acquirerId: INSTALLATION, actor };
    await recordChange(client, change, { action: 'add', kind: 'api key', id, before: null, after });
  });
}

/** The key stops working within 5 s. @throws NotFound also if it is already revoked */
export function revokeOperatorKey(database: Database, actor: string, id: string): Promise<void> {
  return inAdminCommit(database, INSTALLATION, async (client) => {
    const { rows } = await client.query<object>(`${SELECT} and id = $1 and revoked_at is null`, [id]);
    if (!rows[0]) throw new NotFound();
    await client.query('update api_keys set revoked_at = now(), updated_at = now() where id = $1', [id]);
    const change = { acquirerId: INSTALLATION, actor };
    await recordChange(client, change, { action: 'remove', kind: 'api key', id, before: shown(rows[0]), after: null });
  });
}
