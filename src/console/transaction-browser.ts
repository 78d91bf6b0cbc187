import type { ListPosition, TransactionListFilter } from '#schemas/console-transactions';
import type { PortalSession } from '../auth/portal/portal-session.ts';
import { RequestRejected } from '../basics/errors.ts';
import type { TransactionKey } from '../payments/model/transaction.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../store/settings/admin-commit.ts';
import { actorOf } from './acts.ts';
import { readWanted } from './read-wanted.ts';
import { acquirersInSight } from './store/console-names.ts';
import { needsPeriod } from './store/list-conditions.ts';
import type { FoundPage, ListQuery, TransactionLists } from './store/transaction-list.ts';
import { CSV_TITLES, type TransactionRow, transactionCsvLine, transactionRow } from './transaction-rows.ts';

/** The page says "more than": counting a day of a busy acquirer would take longer than a person waits. */
const MAX_COUNTED = 10_000;
/** The page says "99+ new". */
const MAX_NEW = 99;
/** What no index has is searched in this many days unless the person chooses a period. */
const SEARCHED_DAYS = 7;
const DAY_MS = 86_400_000;
/**
 * Rows of one file, 20 MB. Reading them takes seconds of the database that serves the taps, and the browser keeps the file
 * in memory. A file is complete or refused: a person would not notice that a file lacks rows.
 */
const MAX_EXPORTED = 100_000;
/** Rows of one statement: few enough to end within its limit, also with a busy disk. */
const EXPORT_BATCH = 2_000;

export interface TransactionBrowserParts {
  readonly lists: TransactionLists;
  readonly database: Database;
  /** Reads that may take long. */
  readonly reports: Database;
  readonly directory: Directory;
  readonly panHashes: (pan: string) => readonly string[];
}

interface Prepared {
  readonly query: ListQuery;
  /** Start of the period that was chosen because the person chose none; null if none was needed. */
  readonly searchedFrom: Date | null;
}

type Viewer = Pick<PortalSession, 'user' | 'acquirerId'>;

/** The lists of transactions for people at consoles: pages, totals, changes, and files. */
export class TransactionBrowser {
  readonly #parts: TransactionBrowserParts;

  constructor(parts: TransactionBrowserParts) {
    this.#parts = parts;
  }

  /** @throws what TransactionLists.page does */
  async page(viewer: Viewer, filter: TransactionListFilter, after: ListPosition | undefined, rows: number) {
    const { query, searchedFrom } = await this.#prepare(viewer, filter);
    // One more row shows whether another page follows.
    const found = await this.#listsOf(viewer).page(query, after, rows + 1);
    return {
      rows: found.rows.slice(0, rows).map((row) => this.#shown(row)),
      next: found.rows.length > rows ? found.rows[rows - 1]!.position : null,
      by: found.by,
      searchedFrom: searchedFrom?.toISOString() ?? null,
    };
  }

  /** @returns null for a total that takes too long to count */
  async count(viewer: Viewer, filter: TransactionListFilter) {
    const { query } = await this.#prepare(viewer, filter);
    return (await this.#listsOf(viewer).count(query, MAX_COUNTED)) ?? null;
  }

  async changes(
    viewer: Viewer,
    filter: TransactionListFilter,
    newest: ListPosition | undefined,
    shown: readonly TransactionKey[],
  ) {
    const { query } = await this.#prepare(viewer, filter);
    const { newer, rows } = await this.#listsOf(viewer).changes(query, newest, shown, MAX_NEW);
    return { newer, rows: rows.map((row) => this.#shown(row)) };
  }

  /**
   * All rows of the filter as CSV. The export is recorded before its first row is read.
   *
   * @throws RequestRejected EXPORT_TOO_LARGE, SEARCH_TOO_SLOW
   */
  async export(viewer: Viewer, filter: TransactionListFilter): Promise<AsyncGenerator<string>> {
    const { query } = await this.#prepare(viewer, filter);
    const total = await this.#listsOf(viewer).count(query, MAX_EXPORTED);
    if (total === undefined) throw new RequestRejected('SEARCH_TOO_SLOW');
    if (total.isMore) throw new RequestRejected('EXPORT_TOO_LARGE');
    await this.#record(viewer, filter, total.count);
    return this.#lines(this.#listsOf(viewer), query);
  }

  async *#lines(lists: TransactionLists, query: ListQuery): AsyncGenerator<string> {
    let after: ListPosition | undefined;
    let page: FoundPage;
    yield CSV_TITLES;
    do {
      page = await lists.page(query, after, EXPORT_BATCH);
      if (page.rows.length > 0) yield page.rows.map((row) => transactionCsvLine(this.#shown(row))).join('');
      const last = page.rows.at(-1)?.position.split('_');
      after = last && { micros: last[0]!, id: last[1]! };
    } while (page.rows.length === EXPORT_BATCH);
  }

  #listsOf({ acquirerId }: Viewer): TransactionLists {
    return this.#parts.lists.of(acquirerId);
  }

  #shown(row: Parameters<typeof transactionRow>[0]): TransactionRow {
    return transactionRow(row, this.#parts.directory);
  }

  async #prepare({ acquirerId: own }: Viewer, { q, acquirer, ...filter }: TransactionListFilter): Promise<Prepared> {
    const { reports, panHashes } = this.#parts;
    const inSight = own === undefined ? undefined : [own];
    const chosen = acquirer === undefined ? (inSight ?? (await acquirersInSight(reports))) : [acquirer];
    const acquirerIds = chosen.filter((id) => own === undefined || id === own);
    const wanted = q ? readWanted(q, panHashes) : [];
    if (filter.from || !needsPeriod(filter, wanted))
      return { query: { acquirerIds, filter, wanted }, searchedFrom: null };
    const from = new Date((filter.to?.getTime() ?? Date.now()) - SEARCHED_DAYS * DAY_MS);
    return { query: { acquirerIds, filter: { ...filter, from }, wanted }, searchedFrom: from };
  }

  /** In the audit of the acquirer whose transactions the file has, or of the installation for several. */
  #record(viewer: Viewer, filter: TransactionListFilter, rows: number): Promise<void> {
    const acquirerId = viewer.acquirerId ?? filter.acquirer ?? INSTALLATION;
    const after = { did: 'exportTransactions', filter: withoutTerm(filter), rows };
    return inAdminCommit(this.#parts.database, acquirerId, (client) =>
      recordChange(
        client,
        { acquirerId, actor: actorOf(viewer) },
        { action: 'act', kind: 'transactions', id: 'list', before: null, after },
      ),
    );
  }
}

/** A search term may be a card number, which must not be stored. */
function withoutTerm({ q, ...filter }: TransactionListFilter): object {
  return q ? { ...filter, q: '[withheld]' } : filter;
}
