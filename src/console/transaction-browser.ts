import { setTimeout as sleep } from 'node:timers/promises';
import type { ListPosition, TransactionListFilter } from '#schemas/console-transactions';
import { mayContainPan } from '#schemas/reason';
import { actorOf, type PortalSession } from '../auth/portal/portal-session.ts';
import { RequestRejected } from '../basics/errors.ts';
import { isUuid } from '../basics/uuid.ts';
import { isLuhnValid } from '../codecs/emv/card.ts';
import { amountOf } from '../http/transaction-view.ts';
import { dispositionName } from '../payments/model/disposition.ts';
import { statusName } from '../payments/model/status.ts';
import { TRANSACTION_TYPE_NAMES, type TransactionKey } from '../payments/model/transaction.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../store/settings/admin-commit.ts';
import { acquirersInSight } from './store/console-names.ts';
import { needsPeriod, type Wanted } from './store/list-conditions.ts';
import type { FoundPage, ListedTransaction, ListQuery, TransactionLists } from './store/transaction-list.ts';
import { CSV_TITLES, transactionCsvLine } from './transactions-csv.ts';

/** ISO/IEC 7812-1 allows 8 to 19 digits; issued card numbers have at least 13. */
const PAN = /^\d{13,19}$/;
/** Digits in groups, with the separators of any alphabet. */
const GROUPED_DIGITS = /^\d(?:[\d\p{Z}\p{P}]*\d)?$/u;
/** Digits that follow one another, such as a PAN before its expiry date. */
const DIGITS = /\d{13,}/g;
const MASKED_PAN = /^\d{0,6}\*{3,15}\d{0,4}$/;
const PAN_HASH = /^[\w-]{1,64}:[\w-]{43}$/;
const RRN = /^\d{12}$/;
const STAN = /^\d{6}$/;
const LAST_FOUR = /^\d{4}$/;
/** `000123 T100`, in any order. */
const STAN_FIRST = /^(?<stan>\d{6})[\s,/]+(?<terminal>\S{1,64})$/;
const TERMINAL_FIRST = /^(?<terminal>\S{1,64})[\s,/]+(?<stan>\d{6})$/;
/** `10.00`, `ZAR 10`, `10,5 ZAR`: digits alone are an amount only with a currency. */
const AMOUNT = /^(?<before>[a-z]{3})?\s*(?<major>\d{1,9}(?:[.,]\d{1,4})?)\s*(?<after>[a-z]{3})?$/i;
const HAS_DECIMALS = /[.,]/;
const HAS_LETTER = /\p{L}/u;

/**
 * All possible meanings of the input, most likely first. A PAN is only treated as a PAN, and only `panHashes`
 * receives it.
 *
 * @param panHashes hashes of a PAN under every key of the installation
 */
export function readWanted(text: string, panHashes: (pan: string) => readonly string[]): readonly Wanted[] {
  const plain = text.trim();
  const compact = plain.replace(/[ -]/g, '');
  const pan = readPan(plain);
  if (pan !== undefined) return [{ by: 'panHash', value: panHashes(pan) }];
  const asReference: Wanted = { by: 'reference', value: plain };
  if (isUuid(plain)) return [{ by: 'id', value: plain.toLowerCase() }, asReference];
  if (PAN_HASH.test(plain)) return [{ by: 'panHash', value: [plain] }, asReference];
  if (MASKED_PAN.test(compact)) return [{ by: 'maskedPan', value: compact }, asReference];
  if (RRN.test(plain)) return [asReference, { by: 'rrn', value: plain }];
  if (STAN.test(plain)) return [asReference, { by: 'stan', value: plain }];
  if (LAST_FOUR.test(plain)) return [asReference, { by: 'lastFour', value: plain }];
  const others = [readAmount(plain), readStanAndTerminal(plain), readMerchantName(plain)];
  return [asReference, ...others.filter((wanted) => wanted !== undefined)];
}

function readPan(text: string): string | undefined {
  const grouped = GROUPED_DIGITS.test(text) ? [text.replace(/\D/g, '')] : [];
  return [...grouped, ...(text.match(DIGITS) ?? [])].find((digits) => PAN.test(digits) && isLuhnValid(digits));
}

function readAmount(text: string): Wanted | undefined {
  const { before, major, after } = AMOUNT.exec(text)?.groups ?? {};
  const currency = before ?? after;
  if (major === undefined || (before && after)) return undefined;
  if (currency === undefined && !HAS_DECIMALS.test(major)) return undefined;
  return { by: 'amount', value: { major: major.replace(',', '.'), currency: currency?.toUpperCase() } };
}

function readStanAndTerminal(text: string): Wanted | undefined {
  const { stan, terminal } = (STAN_FIRST.exec(text) ?? TERMINAL_FIRST.exec(text))?.groups ?? {};
  return stan && terminal ? { by: 'stanAndTerminal', value: { stan, terminal } } : undefined;
}

function readMerchantName(text: string): Wanted | undefined {
  return HAS_LETTER.test(text) ? { by: 'merchantName', value: text } : undefined;
}

/** A transaction as the console's list shows it. */
export type TransactionRow = ReturnType<typeof transactionRow>;

export function transactionRow(row: ListedTransaction, directory: Directory) {
  const {
    amountMinor: _requested,
    approvedMinor: _approved,
    routeId,
    status,
    disposition,
    type,
    createdAt,
    ...shown
  } = row;
  const { acquirerId, merchantId } = row;
  return {
    ...shown,
    ...{ amount: amountOf(row).amount, routeId },
    type: TRANSACTION_TYPE_NAMES[type],
    status: statusName(status),
    disposition: disposition === null ? null : dispositionName(disposition),
    merchant: directory.merchant(acquirerId, merchantId)?.name ?? null,
    processorId: directory.routes(acquirerId).find((route) => route.id === routeId)?.processorId ?? null,
    createdAt: createdAt.toISOString(),
  };
}

/** The page says "more than": counting a day of a busy acquirer would take longer than a person waits. */
const MAX_COUNTED = 10_000;
/** The page says "99+ new". */
const MAX_NEW = 99;
/** What no index has is searched in this many days unless the person chooses a period. */
const SEARCHED_DAYS = 7;
const DAY_MS = 86_400_000;
/**
 * Rows of one file, 200 MB, which the browser keeps. A spreadsheet has room for 1,048,576. A file is complete or refused: a
 * person would not notice that a file lacks rows.
 */
const MAX_EXPORTED = 1_000_000;
/** Reading more takes seconds of the database that serves the taps, so that it gets as much time between two batches. */
const EXPORTED_AT_ONCE = 50_000;
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
   * All rows of the filter as CSV, and how many there were when they were counted. The export is recorded before its first
   * row is read. A large one takes at most half of the time of one connection, so that a person continues meanwhile.
   *
   * @throws RequestRejected EXPORT_TOO_LARGE, SEARCH_TOO_SLOW
   */
  async export(
    viewer: Viewer,
    filter: TransactionListFilter,
  ): Promise<{ readonly rows: number; readonly lines: AsyncGenerator<string> }> {
    const { query } = await this.#prepare(viewer, filter);
    const total = await this.#listsOf(viewer).count(query, MAX_EXPORTED);
    if (total === undefined) throw new RequestRejected('SEARCH_TOO_SLOW');
    if (total.isMore) throw new RequestRejected('EXPORT_TOO_LARGE');
    await this.#record(viewer, filter, total.count);
    const lines = this.#lines(this.#listsOf(viewer), query, total.count > EXPORTED_AT_ONCE);
    return { rows: total.count, lines };
  }

  async *#lines(lists: TransactionLists, query: ListQuery, isPaced: boolean): AsyncGenerator<string> {
    let after: ListPosition | undefined;
    let page: FoundPage;
    yield CSV_TITLES;
    do {
      const startedAtMs = performance.now();
      page = await lists.page(query, after, EXPORT_BATCH);
      if (isPaced) await sleep(performance.now() - startedAtMs);
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

  async #prepare(viewer: Viewer, { q, acquirer, ...filter }: TransactionListFilter): Promise<Prepared> {
    const { acquirerId: own } = viewer;
    const { reports, panHashes } = this.#parts;
    const inSight = own === undefined ? undefined : [own];
    const chosen = acquirer === undefined ? (inSight ?? (await acquirersInSight(reports))) : [acquirer];
    const acquirerIds = chosen.filter((id) => own === undefined || id === own);
    const meanings = q ? readWanted(q, panHashes) : [];
    const wanted = await this.#orCorrelation(viewer, { acquirerIds, filter, wanted: meanings });
    if (filter.from || !needsPeriod(filter, wanted))
      return { query: { acquirerIds, filter, wanted }, searchedFrom: null };
    const from = new Date((filter.to?.getTime() ?? Date.now()) - SEARCHED_DAYS * DAY_MS);
    return { query: { acquirerIds, filter: { ...filter, from }, wanted }, searchedFrom: from };
  }

  /**
   * An id that no transaction has may be the correlation id of its request. No index has these, so they are searched
   * only then.
   */
  async #orCorrelation(viewer: Viewer, query: ListQuery): Promise<readonly Wanted[]> {
    const [first] = query.wanted;
    if (first?.by !== 'id') return query.wanted;
    const found = await this.#listsOf(viewer).page(query, undefined, 1);
    return found.rows.length > 0 ? query.wanted : [{ by: 'correlationId', value: first.value }];
  }

  /** In the audit of the acquirer whose transactions the file has, or of the installation for several. */
  #record(viewer: Viewer, filter: TransactionListFilter, rows: number): Promise<void> {
    const acquirerId = viewer.acquirerId ?? filter.acquirer ?? INSTALLATION;
    const after = { did: 'exportTransactions', filter: withoutCards(filter), rows };
    return inAdminCommit(this.#parts.database, acquirerId, (client) =>
      recordChange(
        client,
        { acquirerId, actor: actorOf(viewer) },
        { action: 'act', kind: 'transactions', id: 'list', before: null, after },
      ),
    );
  }
}

/** A filter as it may be stored: without the search term, and without a text that may be a card number. */
export function withoutCards(filter: object): object {
  const isWithheld = ([name, value]: [string, unknown]) =>
    name === 'q' || (typeof value === 'string' && mayContainPan(value));
  return Object.fromEntries(Object.entries(filter).map((each) => (isWithheld(each) ? [each[0], '[withheld]'] : each)));
}
