import type { Database } from '../postgres/open-database.ts';

/**
 * Numbers of new rows of this process after which the table may have changed its size so much that plans must be made
 * again. After the last, autovacuum has analyzed the table.
 */
const MILESTONES = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];

/**
 * Has Postgres analyze a table as it grows. Batches run by plans that are made once for each connection
 * (batch-settings.ts). For a table with a page or two, the scan of any index looks as cheap as a search by key, and such
 * a plan remains until the next ANALYZE, which autovacuum begins up to a minute later. A table that was analyzed while
 * it was empty has the same plans. ANALYZE makes all connections plan again.
 */
export class FirstStatistics {
  readonly #database: Database;
  readonly #table: string;
  #inserted = 0;
  #reached = 0;
  #running: Promise<unknown> = Promise.resolve();

  /** @param table with rows that batches search by key */
  constructor(database: Database, table: 'transactions' | 'reversal_attempts' | 'superseded_attempts') {
    this.#database = database;
    this.#table = table;
  }

  /** Counts one new row. */
  count(): void {
    this.#inserted++;
    const milestone = MILESTONES[this.#reached];
    if (milestone === undefined || this.#inserted < milestone) return;
    this.#reached++;
    // Without it, batches are slow until autovacuum does the same.
    this.#running = this.#running.then(() => this.#analyze(milestone)).catch(() => {});
  }

  async #analyze(milestone: number): Promise<void> {
    const { rows } = await this.#database.query<{ isKnown: boolean }>(
      'select reltuples >= $1 as "isKnown" from pg_class where oid = $2::regclass',
      [milestone, this.#table],
    );
    if (!rows[0]!.isKnown) await this.#database.query(`analyze ${this.#table}`);
  }

  /** Resolves when no analysis is running. */
  async close(): Promise<void> {
    await this.#running;
  }
}
