import type pg from 'pg';
import type { NewAcquirer, StoredAcquirer } from '#schemas/admin-tenants';
import { NotFound } from '../../basics/errors.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { containsText, likeOf, type Page } from './acquirer-settings.ts';
import { type Change, INSTALLATION, inAdminCommit, recordChange } from './admin-commit.ts';
import { shown } from './settings-table.ts';

const SELECT = `select id, name, is_blocked as blocked, created_at as "createdAt", updated_at as "updatedAt" from acquirers`;

/** Numbers of acquirers that one cell may assign, so that two cells never assign the same. */
export const ACQUIRERS_PER_CELL = 1_000_000;

/**
 * The acquirers of the installation, as its operator sees and changes them. They are permanent: an acquirer that left
 * is blocked.
 */
export class Acquirers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Ordered by number. */
  async list({ after = 0, limit, search }: Page): Promise<StoredAcquirer[]> {
    const { rows } = await mapConnectionLoss(
      this.#database.query(
        `${SELECT} where id > $1 and ($3::text is null or ${containsText(['id', 'name'], '$3')}) order by id limit $2`,
        [after, limit, search === undefined ? null : likeOf(search)],
      ),
    );
    return rows.map((row) => shown<StoredAcquirer>(row));
  }

  /** @throws NotFound */
  find(id: number): Promise<StoredAcquirer> {
    return find(this.#database, id);
  }

  add(actor: string, { name, blocked }: NewAcquirer): Promise<StoredAcquirer> {
    return inAdminCommit(this.#database, INSTALLATION, async (client) => {
      const { rows } = await client.query<{ id: number }>(ADD, [name, blocked]);
      const after = await find(client, rows[0]!.id);
      await record(client, { acquirerId: after.id, actor }, null, after);
      return after;
    });
  }

  /** @throws NotFound */
  change({ acquirerId: id, actor }: Change, { name, blocked }: Partial<NewAcquirer>): Promise<StoredAcquirer> {
    return inAdminCommit(this.#database, id, async (client) => {
      const before = await find(client, id);
      await client.query(
        `update acquirers set name = coalesce($2, name), is_blocked = coalesce($3, is_blocked), updated_at = now() where id = $1`,
        [id, name, blocked],
      );
      const after = await find(client, id);
      await record(client, { acquirerId: id, actor }, before, after);
      return after;
    });
  }
}

// Not the column's own sequence, which does not know acquirers that were saved with their numbers. A number is not
// assigned again when its acquirer has moved to another cell.
const ADD = `
with cell as (select coalesce((select first_acquirer from cell_identity), 1) as first),
used as (select id from acquirers union all select acquirer_id from acquirer_cells)
insert into acquirers (id, name, is_blocked)
select coalesce(max(used.id), cell.first - 1) + 1, $1, $2
from cell left join used on used.id >= cell.first and used.id < cell.first + ${ACQUIRERS_PER_CELL} group by cell.first
returning id`;

async function find(client: Pick<pg.ClientBase, 'query'>, id: number): Promise<StoredAcquirer> {
  const { rows } = await mapConnectionLoss(client.query<object>(`${SELECT} where id = $1`, [id]));
  if (!rows[0]) throw new NotFound();
  return shown(rows[0]);
}

function record(client: pg.ClientBase, change: Change, before: StoredAcquirer | null, after: StoredAcquirer) {
  const action = before === null ? 'add' : 'change';
  return recordChange(client, change, { action, kind: 'acquirer', id: after.id, before, after });
}
