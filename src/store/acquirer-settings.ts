import type pg from 'pg';
import { NotFound, StoreUnavailable, TapwireError } from '../errors.ts';
import { conflict } from '../transactions/check-routing.ts';
import type { Database } from './open-database.ts';
import { whileUp } from './while-up.ts';

/** Who changes what: `actor` stands in the record of changes, `key 0123…` or `cli user@host`. */
export interface Change {
  readonly acquirerId: number;
  readonly actor: string;
}

/** One kind of thing that acquirers configure: its table, and the rules that its changes obey. */
export interface SettingsTable<Settings, Stored extends { readonly id: number }> {
  readonly kind: 'processor' | 'route';
  readonly table: 'processors' | 'routes';
  /** How many of them an acquirer may have. */
  readonly most: number;
  /** What a row shows besides its id and times: column by name. */
  readonly columns: Readonly<Record<keyof Settings & string, string>>;
  /** Of both new and changed settings: do they name what is there? */
  checkReferences?(client: pg.ClientBase, acquirerId: number, settings: Settings): Promise<void>;
  checkChange(before: Stored, settings: Settings): void;
  checkRemoval?(client: pg.ClientBase, acquirerId: number, id: number): Promise<void>;
}

interface Row {
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Settings of acquirers, as their administrators see and change them; gateways follow by the directory. Changes of one
 * acquirer wait for one another, and each is recorded in its own commit. What is removed keeps its row and its id.
 */
export class AcquirerSettings<Settings extends object, Stored extends { readonly id: number }> {
  readonly #database: Database;
  readonly #table: SettingsTable<Settings, Stored>;
  readonly #select: string;

  constructor(database: Database, table: SettingsTable<Settings, Stored>) {
    this.#database = database;
    this.#table = table;
    const columns = Object.entries(table.columns).map(([name, column]) => `${column} as "${name}"`);
    this.#select = `select id, ${columns.join(', ')}, created_at as "createdAt", updated_at as "updatedAt"
      from ${table.table} where acquirer_id = $1 and removed_at is null`;
  }

  /** By id. @throws NotFound for an unknown acquirer */
  async list(acquirerId: number): Promise<Stored[]> {
    const known = await whileUp(this.#database.query('select from acquirers where id = $1', [acquirerId]));
    if (known.rowCount === 0) throw new NotFound();
    const { rows } = await whileUp(this.#database.query<Stored & Row>(`${this.#select} order by id`, [acquirerId]));
    return rows.map(shown);
  }

  /** @throws NotFound */
  find(acquirerId: number, id: number): Promise<Stored> {
    return this.#find(this.#database, acquirerId, id);
  }

  /** @throws NotFound for an unknown acquirer; RequestRefused for one too many, and for what the settings name in vain */
  add(change: Change, settings: Settings): Promise<Stored> {
    const { acquirerId } = change;
    return this.#inCommit(change, async (client) => {
      await this.#table.checkReferences?.(client, acquirerId, settings);
      const id = await this.#nextId(client, acquirerId);
      const names = Object.values(this.#table.columns);
      await client.query(
        `insert into ${this.#table.table} (acquirer_id, id, ${names.join(', ')})
         values ($1, $2, ${names.map((_, at) => `$${at + 3}`).join(', ')})`,
        [acquirerId, id, ...this.#valuesOf(settings)],
      );
      const after = await this.#find(client, acquirerId, id);
      await this.#record(client, change, 'add', { id, before: null, after });
      return after;
    });
  }

  /** @throws NotFound; RequestRefused as above, and where the rules of the kind forbid it */
  change(change: Change, id: number, settings: Settings): Promise<Stored> {
    const { acquirerId } = change;
    return this.#inCommit(change, async (client) => {
      const before = await this.#find(client, acquirerId, id);
      this.#table.checkChange(before, settings);
      await this.#table.checkReferences?.(client, acquirerId, settings);
      const assignments = Object.values(this.#table.columns).map((column, at) => `${column} = $${at + 3}`);
      await client.query(
        `update ${this.#table.table} set ${assignments.join(', ')}, updated_at = now() where acquirer_id = $1 and id = $2`,
        [acquirerId, id, ...this.#valuesOf(settings)],
      );
      const after = await this.#find(client, acquirerId, id);
      await this.#record(client, change, 'change', { id, before, after });
      return after;
    });
  }

  /** @throws NotFound; RequestRefused 409 while something needs it */
  remove(change: Change, id: number): Promise<void> {
    const { acquirerId } = change;
    return this.#inCommit(change, async (client) => {
      const before = await this.#find(client, acquirerId, id);
      await this.#table.checkRemoval?.(client, acquirerId, id);
      await client.query(`update ${this.#table.table} set removed_at = now() where acquirer_id = $1 and id = $2`, [
        acquirerId,
        id,
      ]);
      await this.#record(client, change, 'remove', { id, before, after: null });
    });
  }

  async #inCommit<Result>({ acquirerId }: Change, act: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    const client = await whileUp(this.#database.connect());
    try {
      await client.query('begin');
      const locked = await client.query('select from acquirers where id = $1 for update', [acquirerId]);
      if (locked.rowCount === 0) throw new NotFound();
      const result = await act(client);
      await client.query('commit').catch((cause) => {
        throw new StoreUnavailable(true, { cause });
      });
      return result;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      if (error instanceof TapwireError) throw error;
      return await whileUp(Promise.reject(error));
    } finally {
      client.release();
    }
  }

  async #find(client: Pick<pg.ClientBase, 'query'>, acquirerId: number, id: number): Promise<Stored> {
    const { rows } = await whileUp(client.query<Stored & Row>(`${this.#select} and id = $2`, [acquirerId, id]));
    if (!rows[0]) throw new NotFound();
    return shown(rows[0]);
  }

  async #nextId(client: pg.ClientBase, acquirerId: number): Promise<number> {
    const { table, most } = this.#table;
    const { rows } = await client.query<{ next: number; live: number }>(
      `select coalesce(max(id), 0) + 1 as next, count(*) filter (where removed_at is null) as live
       from ${table} where acquirer_id = $1`,
      [acquirerId],
    );
    if (rows[0]!.live >= most) throw conflict(`The acquirer has ${most} ${table}, and may have no more.`);
    return rows[0]!.next;
  }

  async #record(
    client: pg.ClientBase,
    { acquirerId, actor }: Change,
    action: 'add' | 'change' | 'remove',
    { id, before, after }: { readonly id: number; readonly before: Stored | null; readonly after: Stored | null },
  ): Promise<void> {
    await client.query(
      `insert into admin_events (acquirer_id, actor, action, kind, subject_id, before, after)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [acquirerId, actor, action, this.#table.kind, id, before, after],
    );
  }

  #valuesOf(settings: Settings): unknown[] {
    return Object.keys(this.#table.columns).map((name) => settings[name as keyof Settings]);
  }
}

/** A row as it is shown: times in ISO 8601. */
function shown<Stored>({ createdAt, updatedAt, ...row }: Stored & Row): Stored {
  return { ...row, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() } as Stored;
}
