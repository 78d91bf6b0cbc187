import type pg from 'pg';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { type AdminEvent, type Change, INSTALLATION, inAdminCommit, type Reach, recordChange } from './admin-commit.ts';
import { assignmentsOf, type Removal, type SettingsTable, selectionOf, shown, statementsIn } from './settings-table.ts';

type Id = number | string;

/** Called with what a change of settings leaves behind. */
export type OnLeftBehind = (left: Removal) => void;

/** A page of a list: the rows after the one named in `after`. */
export interface Page {
  readonly after?: Id | undefined;
  readonly limit: number;
  /** Only rows that contain this text in what names them. */
  readonly search?: string | undefined;
}

/** The condition that one of the columns contains a text, in upper or lower case; `$n` is the text as `likeOf` writes it. */
export function containsText(columns: readonly string[], parameter: string): string {
  return `concat_ws(chr(10), ${columns.join(', ')}) ilike ${parameter}`;
}

export function likeOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
}

/**
 * Settings of acquirers, as their administrators see and remove them. Changes of one acquirer run one after another, and
 * each is recorded in its own commit.
 */
export class StoredSettings<Settings extends object, Stored extends object> {
  readonly #database: Database;
  readonly #table: SettingsTable<Settings, Stored>;
  readonly #select: string;

  constructor(database: Database, table: SettingsTable<Settings, Stored>) {
    this.#database = database;
    this.#table = table;
    this.#select = selectionOf(table);
  }

  /** Ordered by key. @throws NotFound for an unknown acquirer */
  async list(reach: Reach, { after, limit, search }: Page): Promise<Stored[]> {
    const { acquirerId } = reach;
    const known = await mapConnectionLoss(this.#database.query('select from acquirers where id = $1', [acquirerId]));
    if (known.rowCount === 0 && acquirerId !== INSTALLATION) throw new NotFound();
    const { key, namedBy = [] } = this.#table;
    const { column } = key;
    const values: unknown[] = [acquirerId, limit];
    const behind = after === undefined ? '' : ` and ${column} > $${values.push(after)}`;
    const found =
      search === undefined ? '' : ` and ${containsText([column, ...namedBy], `$${values.push(likeOf(search))}`)}`;
    const text = `${this.#select}${within(reach, values)}${behind}${found} order by ${column} limit $2`;
    const { rows } = await mapConnectionLoss(this.#database.query(text, values));
    return rows.map((row) => shown<Stored>(row));
  }

  /** @throws NotFound */
  find(reach: Reach, id: Id): Promise<Stored> {
    return this.findIn(this.#database, reach, id);
  }

  /**
   * Adds within a running commit.
   *
   * @throws RequestRejected if the limit is reached, the row exists, or the settings name something that does not exist
   */
  async addIn(client: pg.ClientBase, change: Change, settings: Settings): Promise<Stored> {
    this.#table.check?.(settings, change.acquirerId);
    await this.#table.checkReferences?.(client, change, settings);
    await this.#checkCount(client, change.acquirerId);
    const consequences = await this.#table.consequencesOf?.(client, change.acquirerId, settings);
    const id = await this.#insert(client, change.acquirerId, settings, consequences);
    const after = await this.findIn(client, change, id);
    await this.#record(client, change, { action: 'add', id, before: null, after });
    return after;
  }

  /**
   * Changes within a running commit.
   *
   * @param settings those to change; the others keep their values
   * @param onLeftBehind called with what the change leaves behind, if anything, before the commit
   * @throws NotFound; RequestRejected as above, and if the rules of the table forbid the change
   */
  async changeIn(
    client: pg.ClientBase,
    change: Change,
    id: Id,
    settings: Partial<Settings>,
    onLeftBehind?: OnLeftBehind,
  ): Promise<Stored> {
    const before = await this.findIn(client, change, id);
    const all = { ...before, ...settings } as unknown as Settings;
    this.#table.check?.(all, change.acquirerId);
    this.#table.checkChange?.(before, all);
    await this.#table.checkReferences?.(client, change, all);
    const consequences = await this.#table.consequencesOf?.(client, change.acquirerId, all, before);
    await this.#update(client, change.acquirerId, id, settings, consequences);
    const after = await this.findIn(client, change, id);
    const left = await this.#table.leftBehind?.(client, change.acquirerId, before, after);
    if (left) onLeftBehind?.(left);
    const recorded = { ...after, ...statementsIn(this.#table, settings), ...left };
    await this.#record(client, change, { action: 'change', id, before, after: recorded });
    return after;
  }

  /**
   * Deletes the row, or marks it as removed or revoked, as its table says.
   *
   * @returns what the removal leaves behind, if anything
   * @throws NotFound; RequestRejected (IN_USE)
   */
  remove(change: Change, id: Id): Promise<Removal | undefined> {
    return this.inCommit(change, async (client) => {
      const { acquirerId } = change;
      const { table, key, removed } = this.#table;
      const before = await this.findIn(client, change, id);
      const removal = await this.#table.checkRemoval?.(client, acquirerId, id);
      const row = `acquirer_id = $1 and ${key.column} = $2`;
      const statement = removed
        ? `update ${table} set ${removed.column} = now(), updated_at = now() where ${row} and ${removed.column} is null`
        : `delete from ${table} where ${row}`;
      const { rowCount } = await client.query(statement, [acquirerId, id]);
      if (rowCount === 0) throw new NotFound();
      const after = removed?.isShown ? await this.findIn(client, change, id) : (removal ?? null);
      await this.#record(client, change, { action: 'remove', id, before, after });
      return removal;
    });
  }

  /** @throws NotFound for an unknown acquirer */
  protected inCommit<Result>(change: Change, act: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return inAdminCommit(this.#database, change.acquirerId, act);
  }

  /** Finds an entry within a running commit. */
  async findIn(client: Pick<pg.ClientBase, 'query'>, reach: Reach, id: Id): Promise<Stored> {
    const values: unknown[] = [reach.acquirerId, id];
    const text = `${this.#select} and ${this.#table.key.column} = $2${within(reach, values)}`;
    const { rows } = await mapConnectionLoss(client.query<object>(text, values));
    if (!rows[0]) throw new NotFound();
    return shown(rows[0]);
  }

  async #checkCount(client: pg.ClientBase, acquirerId: number): Promise<void> {
    const { table, most, removed } = this.#table;
    const live = removed ? ` and ${removed.column} is null` : '';
    const { rows } = await client.query<{ live: number }>(
      `select count(*)::integer as live from ${table} where acquirer_id = $1${live}`,
      [acquirerId],
    );
    if (rows[0]!.live >= most) throw new RequestRejected('SETTING_LIMIT_REACHED');
  }

  async #insert(client: pg.ClientBase, acquirerId: number, settings: Settings, consequences = {}): Promise<Id> {
    const { table, key } = this.#table;
    const given = [...assignmentsOf(this.#table, settings), ...Object.entries<unknown>(consequences)];
    const assignments: [string, unknown][] = [['acquirer_id', acquirerId], ...given];
    if (key.from === 'count') assignments.push([key.column, await this.#nextId(client, acquirerId)]);
    const { rows } = await client.query<{ id: Id }>(
      `insert into ${table} (${assignments.map(([column]) => column).join(', ')})
       values (${assignments.map((_, at) => `$${at + 1}`).join(', ')}) on conflict do nothing returning ${key.column} as id`,
      assignments.map(([, value]) => value),
    );
    if (!rows[0]) throw new RequestRejected('NAME_TAKEN');
    return rows[0].id;
  }

  /** A removed row that is kept also keeps its number. */
  async #nextId(client: pg.ClientBase, acquirerId: number): Promise<number> {
    const { table, key } = this.#table;
    const { rows } = await client.query<{ next: number }>(
      `select coalesce(max(${key.column}), 0) + 1 as next from ${table} where acquirer_id = $1`,
      [acquirerId],
    );
    return rows[0]!.next;
  }

  async #update(
    client: pg.ClientBase,
    acquirerId: number,
    id: Id,
    settings: Partial<Settings>,
    consequences = {},
  ): Promise<void> {
    const { table, key } = this.#table;
    const assignments = [...assignmentsOf(this.#table, settings), ...Object.entries<unknown>(consequences)];
    const changes = assignments.map(([column], at) => `${column} = $${at + 3}`);
    await client.query(
      `update ${table} set ${[...changes, 'updated_at = now()'].join(', ')} where acquirer_id = $1 and ${key.column} = $2`,
      [acquirerId, id, ...assignments.map(([, value]) => value)],
    );
  }

  #record(client: pg.ClientBase, change: Change, event: Omit<AdminEvent, 'kind'>): Promise<void> {
    return recordChange(client, change, { kind: this.#table.kind, ...event });
  }
}

/** Settings that their administrators also add and change as they are. Gateways read them through the directory. */
export class AcquirerSettings<Settings extends object, Stored extends object> extends StoredSettings<Settings, Stored> {
  /** @throws NotFound for an unknown acquirer; RequestRejected as `addIn` */
  add(change: Change, settings: Settings): Promise<Stored> {
    return this.inCommit(change, (client) => this.addIn(client, change, settings));
  }

  /** @throws NotFound; RequestRejected as `changeIn` */
  change(change: Change, id: Id, settings: Partial<Settings>, onLeftBehind?: OnLeftBehind): Promise<Stored> {
    return this.inCommit(change, (client) => this.changeIn(client, change, id, settings, onLeftBehind));
  }
}

/** Restricts the rows to those of an integrator; integrators may read only tables that have the column. */
function within({ integratorId }: Reach, values: unknown[]): string {
  return integratorId === undefined ? '' : ` and integrator_id = $${values.push(integratorId)}`;
}
