import { NotFound } from '../../basics/errors.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { shown } from '../settings/settings-table.ts';

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
const MOST_SHOWN = 1_000;

/** Oldest first, including revoked ones. */
export async function listOperatorKeys(database: Database): Promise<OperatorKey[]> {
  const { rows } = await mapConnectionLoss(
    database.query<object>(`${SELECT} order by created_at, id limit ${MOST_SHOWN}`),
  );
  return rows.map((row) => shown<OperatorKey>(row));
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
