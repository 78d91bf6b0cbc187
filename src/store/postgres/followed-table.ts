import type { Database } from './open-database.ts';

/** Of ten thousand rows forty are read again with one that has changed, and what is compared each time is a page of text. */
const PARTS = 256;

interface Part {
  readonly part: number;
  /** Null for one that has no rows any more. */
  readonly hash: string | null;
}

/** What a look has found: rows that have changed are in both, as they were and as they are. So are their neighbours. */
export interface RowChanges<Row> {
  readonly gone: readonly Row[];
  readonly present: readonly Row[];
}

/**
 * As `FollowedRows`, for a table that can be large: its rows are parted by their keys, and only parts in which something has
 * changed are read again.
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

  /**
   * @param select of values that JSON has, as in `FollowedRows`; in no order
   * @param key an expression over the selected columns of `x`, as text: rows that are equal in it are in one part
   */
  constructor(database: Database, select: string, key: string, take: (changes: RowChanges<Row>) => void) {
    this.#database = database;
    this.#take = take;
    const part = `(hashtextextended(${key}, 0) & ${PARTS - 1})::integer`;
    const hash = `concat(count(*), ' ', sum(hashtextextended(x::text, 0))) as hash`;
    this.#hashWhole = `select ${hash} from (${select}) x`;
    this.#findChanged = `
      with now as (select ${part} as part, ${hash} from (${select}) x group by 1)
      select part, now.hash from generate_series(0, ${PARTS - 1}) as all_parts(part) left join now using (part)
      where now.hash is distinct from ($1::text[])[part + 1]`;
    this.#read = `select ${part} as part, json_agg(x) as rows from (${select}) x where ${part} = any($1::integer[]) group by 1`;
  }

  /** Hands on what has changed since the last look, if anything has. */
  async look(): Promise<void> {
    // Most looks find nothing, and to hash a table whole takes the database a third of the time that its parts take.
    const { rows: whole } = await this.#database.query<{ hash: string }>(this.#hashWhole);
    if (whole[0]!.hash === this.#whole) return;
    const { rows: changed } = await this.#database.query<Part>(this.#findChanged, [this.#hashes]);
    const read = await this.#readParts(changed.filter(({ hash }) => hash !== null));
    const gone = changed.flatMap(({ part }) => this.#rows[part]!);
    if (changed.length > 0) this.#take({ gone, present: changed.flatMap(({ part }) => read.get(part) ?? []) });
    // Rows may be newer than their hash, if one changed in between: they are then read once more.
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
