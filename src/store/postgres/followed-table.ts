import { shareRuns } from '../../basics/limits/concurrency-limit.ts';
import type { Database } from './open-database.ts';

/** For all pools of the process: a connection must not see the same name with another text. */
const names = new Map<string, string>();

/**
 * A statement under a name of its own, so that each connection parses it once, and plans it once if it has no values.
 * For texts of which there are few, because every connection keeps each of them.
 */
export function namedStatement(text: string): { readonly name: string; readonly text: string } {
  let name = names.get(text);
  if (name === undefined) {
    name = `statement-${names.size}`;
    names.set(text, name);
  }
  return { name, text };
}

/**
 * Number of parts of which each has a hash. Of ten thousand rows, forty have the part of a changed row and are read again, and
 * the hashes of a comparison are a few kilobytes of text.
 */
const PARTS = 256;

interface Part {
  readonly part: number;
  /** Null for a part without rows. */
  readonly hash: string | null;
}

/**
 * The difference between two reads. A changed row is in both lists, in its old and its new version. So are the other
 * rows of its part.
 */
export interface RowChanges<Row> {
  readonly gone: readonly Row[];
  readonly present: readonly Row[];
}

/**
 * Like `FollowedRows`, for a large table: its rows are divided into parts by key, and only parts with a change are read
 * again.
 */
export class FollowedTable<Row> {
  readonly #database: Database;
  readonly #take: (changes: RowChanges<Row>) => void;
  readonly #hashWhole: string;
  readonly #findChanged: string;
  readonly #read: string;
  #whole: string | undefined;
  readonly #hashes: (string | null)[] = Array.from({ length: PARTS }, () => null);
  readonly #rows: (readonly Row[])[] = Array.from({ length: PARTS }, () => []);
  /** Passes the changes since the last look-up to `take`, if there are any. Calls are shared as in `FollowedRows`. */
  readonly look = shareRuns(() => this.#look());

  /**
   * @param select its values must be representable in JSON, as in `FollowedRows`; no order
   * @param key a text expression over the selected columns of `x`: rows with an equal value are in one part
   * @param version a text expression, which changes with each change of a row, for rows that are large
   */
  constructor(
    database: Database,
    select: string,
    key: string,
    take: (changes: RowChanges<Row>) => void,
    version = 'x::text',
  ) {
    this.#database = database;
    this.#take = take;
    const part = `(hashtextextended(${key}, 0) & ${PARTS - 1})::integer`;
    const hash = `concat(count(*), ' ', sum(hashtextextended(${version}, 0))) as hash`;
    this.#hashWhole = `select ${hash} from (${select}) x`;
    this.#findChanged = `
      with now as (select ${part} as part, ${hash} from (${select}) x group by 1)
      select part, now.hash from generate_series(0, ${PARTS - 1}) as all_parts(part) left join now using (part)
      where now.hash is distinct from ($1::text[])[part + 1]`;
    this.#read = `select ${part} as part, json_agg(x) as rows from (${select}) x where ${part} = any($1::integer[]) group by 1`;
  }

  async #look(): Promise<void> {
    // Most reads find no change, and hashing the whole table costs the database a third of hashing its parts.
    const { rows: whole } = await this.#database.query<{ hash: string }>(namedStatement(this.#hashWhole));
    if (whole[0]!.hash === this.#whole) return;
    const { rows: changed } = await this.#database.query<Part>(this.#findChanged, [this.#hashes]);
    const read = await this.#readParts(changed.filter(({ hash }) => hash !== null));
    const gone = changed.flatMap(({ part }) => this.#rows[part]!);
    if (changed.length > 0) this.#take({ gone, present: changed.flatMap(({ part }) => read.get(part) ?? []) });
    // Rows may be newer than their hash if one changed in between. They are then read once more.
    for (const { part, hash } of changed) {
      this.#hashes[part] = hash;
      this.#rows[part] = read.get(part) ?? [];
    }
    this.#whole = whole[0]!.hash;
  }

  async #readParts(parts: readonly Part[]): Promise<ReadonlyMap<number, Row[]>> {
    const values = [parts.map(({ part }) => part)];
    const { rows } = await this.#database.query<{ part: number; rows: Row[] }>(this.#read, values);
    return new Map(rows.map(({ part, rows: those }) => [part, those]));
  }
}

interface Look<Row> {
  readonly hash: string;
  /** Null if they equal those of the last read. */
  readonly rows: Row[] | null;
}

/**
 * Rows that are read often and change rarely. The statement compares them in the database with those read last, and
 * sends them only if they differ. Reading ten thousand rows into this process takes 20 ms, during which no tap is
 * processed.
 */
export class FollowedRows<Row> {
  readonly #database: Database;
  readonly #text: string;
  readonly #take: (rows: readonly Row[]) => void;
  #hash: string | null = null;
  /** Passes the rows to `take` if they have changed. Calls at the same time share a look that began after them. */
  readonly look = shareRuns(() => this.#look());

  /** @param select its values must be representable in JSON: texts, booleans, numbers below 2^53, lists and JSON */
  constructor(database: Database, select: string, take: (rows: readonly Row[]) => void) {
    this.#database = database;
    this.#take = take;
    this.#text = `
      select now.hash, case when now.hash is distinct from $1 then coalesce((select json_agg(x) from (${select}) x), '[]') end as rows
      from (select concat(count(*), ' ', sum(hashtextextended(x::text, 0))) as hash from (${select}) x) now`;
  }

  async #look(): Promise<void> {
    const [found] = (await this.#database.query<Look<Row>>({ ...namedStatement(this.#text), values: [this.#hash] }))
      .rows;
    if (!found?.rows) return;
    this.#take(found.rows);
    this.#hash = found.hash;
  }
}
