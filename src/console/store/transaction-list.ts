import type pg from 'pg';
import type { ListPosition } from '#schemas/console-transactions';
import { RequestRejected } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import type { DispositionId } from '../../payments/model/disposition.ts';
import type { StatusId } from '../../payments/model/status.ts';
import type { TransactionKey, TransactionTypeId } from '../../payments/model/transaction.ts';
import { inTransaction } from '../../store/postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../../store/postgres/open-database.ts';
import { beginWith } from '../../store/postgres/pipelined-transaction.ts';
import { likeOf } from '../../store/settings/acquirer-settings.ts';
import {
  type AddParameter,
  besidePosition,
  filterConditions,
  type ListFilter,
  type Wanted,
  wantedCondition,
} from './list-conditions.ts';

/** A row of the console's list. */
export interface ListedTransaction extends TransactionKey {
  readonly position: string;
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly status: StatusId;
  readonly disposition: DispositionId | null;
  readonly type: TransactionTypeId;
  readonly amountMinor: number | null;
  readonly approvedMinor: number | null;
  readonly currency: string | null;
  readonly scheme: string | null;
  readonly maskedPan: string | null;
  readonly responseCode: string | null;
  readonly routeId: number | null;
  readonly xTid: string | null;
  readonly tid: string | null;
  readonly stan: string | null;
  readonly rrn: string | null;
  readonly needsReview: boolean;
  readonly createdAt: Date;
}

/** What a person wants to see. */
export interface ListQuery {
  /** The acquirers in sight of the person, or the one that the person chose. */
  readonly acquirerIds: readonly number[];
  readonly filter: ListFilter;
  /** All meanings of the search term; empty without one. A row matches if one of them does. */
  readonly wanted: readonly Wanted[];
}

/** A count that may have stopped at its limit. */
export interface BoundedCount {
  readonly count: number;
  /** There are more than `count`. */
  readonly isMore: boolean;
}

export interface FoundPage {
  readonly rows: readonly ListedTransaction[];
  /** The meanings of the search term that found a row. */
  readonly by: readonly Wanted['by'][];
}

/** People do not wait longer, and taps need the database. */
const WITHIN_MS = 5_000;
/** A total is less important than the list. */
const COUNTED_WITHIN_MS = 2_000;
/** The figures of the console keep the other connection of the pool. */
const AT_ONCE = 1;
/** More people than an installation has at its consoles; most lists take milliseconds. */
const WAITING = 64;
/** So that people of one acquirer cannot keep the operators of the installation, or other acquirers, from their lists. */
const WAITING_OF_ONE = 16;
/** Merchants whose names match; with more, the person should type more of the name. */
const MAX_NAMED_MERCHANTS = 200;

/**
 * The planner does not know which acquirers have most of the rows, and reads the period once for each acquirer through the
 * index by age. Over a million rows of one of 20 acquirers, a search by STAN took 2 s with it and 0.1 s without.
 */
const ONLY_BY_INDEX = ['enable_bitmapscan = off', 'enable_seqscan = off'];

const COLUMNS = `
  t.acquirer_id as "acquirerId", t.id, (extract(epoch from t.created_at) * 1000000)::bigint || '_' || t.id as position,
  t.merchant_id as "merchantId", t.merchant_reference as "merchantReference", t.status, t.disposition, t.type,
  t.amount_minor as "amountMinor", t.approved_minor as "approvedMinor", t.currency, t.scheme, t.masked_pan as "maskedPan",
  t.response_code as "responseCode", t.route_id as "routeId", t.x_tid as "xTid", t.tid, t.stan, t.rrn, t.needs_review as "needsReview",
  t.created_at as "createdAt"`;
const NEWEST_FIRST = 'order by t.created_at desc, t.id desc';

/** The lists of people at consoles, which share the limits that protect the taps. */
export class TransactionLists {
  readonly #database: Database;
  readonly #viewers: string;
  readonly #line: ConcurrencyLimit;

  constructor(
    database: Database,
    viewers = '',
    line = new ConcurrencyLimit({ atOnce: AT_ONCE, waitMost: WAITING, waitMostOfOne: WAITING_OF_ONE }),
  ) {
    this.#database = database;
    this.#viewers = viewers;
    this.#line = line;
  }

  /**
   * The same lists, in turns of this acquirer's people.
   *
   * @param acquirerId undefined for operators of the installation
   */
  of(acquirerId: number | undefined): TransactionLists {
    return new TransactionLists(this.#database, String(acquirerId ?? ''), this.#line);
  }

  /**
   * Newest first, from the position on.
   *
   * @throws RequestRejected (SEARCH_TOO_SLOW), Overloaded if too many wait, StoreUnavailable
   */
  async page(query: ListQuery, after: ListPosition | undefined, rows: number): Promise<FoundPage> {
    return this.#run(WITHIN_MS, async (client) => {
      const found = new Map<string, ListedTransaction>();
      const by: Wanted['by'][] = [];
      const endsAtMs = performance.now() + WITHIN_MS;
      for (const wanted of meaningsOf(query)) {
        if (performance.now() > endsAtMs) throw new RequestRejected('SEARCH_TOO_SLOW');
        const values: unknown[] = [];
        const add = adder(values);
        const limit = add(rows);
        const beside = after && besidePosition('<', after, add);
        const text = selection(query, wanted, {
          add,
          columns: COLUMNS,
          beside,
          inner: `${NEWEST_FIRST} limit ${limit}`,
        });
        const result = await client.query<ListedTransaction>(
          `${text} order by "createdAt" desc, id desc limit ${limit}`,
          values,
        );
        if (wanted && result.rows.length > 0) by.push(wanted.by);
        for (const row of result.rows) found.set(`${row.acquirerId} ${row.id}`, row);
      }
      return { rows: [...found.values()].sort(newestFirst).slice(0, rows), by };
    });
  }

  /** @returns undefined if counting takes too long */
  async count(query: ListQuery, most: number): Promise<BoundedCount | undefined> {
    try {
      return await this.#run(COUNTED_WITHIN_MS, (client) => countRows(client, query, most));
    } catch (error) {
      if (error instanceof RequestRejected && error.code === 'SEARCH_TOO_SLOW') return undefined;
      throw error;
    }
  }

  /** How many rows are newer than the position, and the present state of the given rows. */
  async changes(query: ListQuery, newest: ListPosition | undefined, shown: readonly TransactionKey[], most: number) {
    return this.#run(COUNTED_WITHIN_MS, async (client) => {
      const newer = await countRows(client, query, most, newest);
      const mine = shown.filter(({ acquirerId }) => query.acquirerIds.includes(acquirerId));
      if (mine.length === 0) return { newer, rows: [] };
      const text = `select ${COLUMNS} from unnest($1::int[], $2::uuid[]) own(acquirer_id, id)
        join transactions t on t.acquirer_id = own.acquirer_id and t.id = own.id`;
      const values = [mine.map(({ acquirerId }) => acquirerId), mine.map(({ id }) => id)];
      return { newer, rows: (await client.query<ListedTransaction>(text, values)).rows };
    });
  }

  /** Reads another list of the console, within the same limits. The planner chooses how. */
  read<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    return this.#run(WITHIN_MS, work, []);
  }

  #run<Result>(
    withinMs: number,
    work: (client: pg.ClientBase) => Promise<Result>,
    plans: readonly string[] = ONLY_BY_INDEX,
  ): Promise<Result> {
    const read = () =>
      mapConnectionLoss(
        inTransaction(this.#database, work, beginWith([`statement_timeout = ${withinMs}`, ...plans])).catch((error) => {
          throw tooLong(error) ?? error;
        }),
      );
    return this.#line.run(read, this.#viewers);
  }
}

async function countRows(
  client: pg.ClientBase,
  query: ListQuery,
  most: number,
  newerThan?: ListPosition,
): Promise<BoundedCount> {
  const values: unknown[] = [];
  const add = adder(values);
  const limit = add(most + 1);
  const parts = meaningsOf(query).map((wanted) => {
    const beside = newerThan && besidePosition('>', newerThan, add);
    const columns = 't.acquirer_id, t.id';
    return `(${selection(query, wanted, { add, columns, beside, inner: `limit ${limit}` })} limit ${limit})`;
  });
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n from (${parts.join(' union ')}) counted`,
    values,
  );
  const { n } = rows[0]!;
  return { count: Math.min(n, most), isMore: n > most };
}

/** The meanings of a search term. Without one there is one list, of everything. */
function meaningsOf({ wanted }: ListQuery): readonly (Wanted | undefined)[] {
  return wanted.length === 0 ? [undefined] : wanted;
}

interface Selection {
  readonly add: AddParameter;
  readonly columns: string;
  readonly beside: string | undefined;
  /** Order and limit within one acquirer. */
  readonly inner: string;
}

/**
 * Reads each acquirer (or merchant) through its own part of an index, in the order of the list, and no more rows than the
 * page needs: no index has all acquirers in the list's order.
 */
function selection(
  { acquirerIds, filter }: ListQuery,
  wanted: Wanted | undefined,
  { add, columns, beside, inner }: Selection,
): string {
  const acquirers = `unnest(${add(acquirerIds)}::int[])`;
  const isByName = wanted?.by === 'merchantName';
  const own = isByName ? namedMerchants(acquirers, add(likeOf(wanted.value))) : `${acquirers} own(acquirer_id)`;
  const conditions = [
    't.acquirer_id = own.acquirer_id',
    ...(isByName ? ['t.merchant_id = own.merchant_id'] : []),
    ...(wanted && !isByName ? [wantedCondition(wanted, add)] : []),
    ...filterConditions(filter, add),
    ...(beside ? [beside] : []),
  ];
  return `select found.* from ${own} cross join lateral
    (select ${columns} from transactions t where ${conditions.join(' and ')} ${inner}) found`;
}

function namedMerchants(acquirers: string, name: string): string {
  return `(select m.acquirer_id, m.id as merchant_id from ${acquirers} a(acquirer_id)
    join merchants m on m.acquirer_id = a.acquirer_id where m.name ilike ${name} limit ${MAX_NAMED_MERCHANTS}) own`;
}

function adder(values: unknown[]): AddParameter {
  return (value) => `$${values.push(value)}`;
}

function newestFirst(one: ListedTransaction, other: ListedTransaction): number {
  const [byTime, byId] = [microsOf(other) - microsOf(one), one.id < other.id ? 1 : -1];
  return byTime === 0 ? byId : byTime;
}

function microsOf({ position }: ListedTransaction): number {
  return Number(position.split('_', 1)[0]);
}

/** SQLSTATE 57014, query_canceled. */
function tooLong({ cause }: Error): RequestRejected | undefined {
  if ((cause as { code?: unknown } | undefined)?.code !== '57014') return undefined;
  return new RequestRejected('SEARCH_TOO_SLOW');
}
