import type { RecordedChange } from '#schemas/admin-audit';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';
import { shown } from './settings-table.ts';

/** A page of admin events. */
export interface ChangePage {
  /** Only events older than the one with this number. */
  readonly after?: number | undefined;
  readonly limit: number;
}

const SELECT = `
select id::float8 as number, acquirer_id as "acquirerId", at, actor, action, kind, subject_id as id, before, after
from admin_events`;

/** Admin events of one acquirer or of all, newest first. */
export async function listAdminEvents(
  database: Database,
  { acquirerId, after, limit }: ChangePage & { readonly acquirerId?: number | undefined },
): Promise<RecordedChange[]> {
  const { rows } = await mapConnectionLoss(
    database.query<object>(
      `${SELECT} where ($1::integer is null or acquirer_id = $1) and ($2::bigint is null or admin_events.id < $2)
       order by admin_events.id desc limit $3`,
      [acquirerId ?? null, after ?? null, limit],
    ),
  );
  return rows.map((row) => shown<RecordedChange>(row));
}
