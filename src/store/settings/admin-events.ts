import type { Database } from '../postgres/open-database.ts';
import { whileUp } from '../postgres/while-up.ts';
import type { AdminEvent } from './admin-commit.ts';
import { shown } from './settings-table.ts';

/** A row of the record of changes. */
export interface RecordedChange extends AdminEvent {
  readonly number: number;
  /** 0 is the installation itself. */
  readonly acquirerId: number;
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string;
}

const SELECT = `
select id::float8 as number, acquirer_id as "acquirerId", at, actor, action, kind, subject_id as id, before, after
from admin_events`;

/** Who changed what, newest first, of one acquirer or of all. */
export async function listAdminEvents(
  database: Database,
  { acquirerId, limit }: { readonly acquirerId?: number | undefined; readonly limit: number },
): Promise<RecordedChange[]> {
  const { rows } = await whileUp(
    database.query<object>(
      `${SELECT} where $1::integer is null or acquirer_id = $1 order by admin_events.id desc limit $2`,
      [acquirerId ?? null, limit],
    ),
  );
  return rows.map((row) => shown<RecordedChange>(row));
}
