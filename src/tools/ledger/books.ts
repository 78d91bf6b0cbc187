import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type pg from 'pg';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';

/** Memory for one connection that joins the rows of a day; larger joins would use the disk repeatedly. */
const WORK_MEMORY = '128MB';

/**
 * Every check reads and joins whole tables, so a hash or merge join is always right. The planner would know this
 * from statistics, which are missing after a load test or a restored backup. It then assumes empty tables and joins
 * each row with all others, so 40,000 rows take minutes. A loop remains possible where no other join exists (a
 * function of each row). Cursors are read to the end, and compiling a plan for wrongly estimated rows costs more
 * than it saves.
 */
const PLANS = ['enable_nestloop = off', 'cursor_tuple_fraction = 1', 'jit = off'];

/** Most violations of a check that are named to a person, who would not read a longer list. */
const MAX_NAMED = 20;

/** Ledger entries per INSERT statement. */
const BATCH_ENTRIES = 5_000;

/**
 * Both ledgers for the lifetime of a connection: `ledger_entries`, and `matched`, which joins its entries to rows.
 */
export interface Books {
  readonly client: pg.ClientBase;
  /** Rows that were submitted earlier are not in the ledger; null when all rows are. */
  readonly since: Date | null;
  /** Most violations of a check that are named. */
  readonly maxNamed: number;
}

const CREATE = `create temp table ledger_entries (
  n integer generated always as identity, processor text, key text, kind text, stan text, rrn text, tid text,
  currency_numeric text, amount_minor bigint, approved_minor bigint, approved_at_ms float8, state text, said json)`;

const INSERT = `insert into ledger_entries (processor, key, kind, stan, rrn, tid, currency_numeric, amount_minor, approved_minor, approved_at_ms, state, said)
  select processor, key, kind, stan, rrn, tid, "currencyNumeric", "amountMinor", "approvedMinor", "approvedAtMs", state, said
  from json_to_recordset($1::text::json) as x(processor text, key text, kind text, stan text, rrn text, tid text,
    "currencyNumeric" text, "amountMinor" bigint, "approvedMinor" bigint, "approvedAtMs" float8, state text, said json)`;

// DE37, DE11 and DE41 identify an authorization for a year. The processor type distinguishes two switches with the
// same terminal. A request that an attempt with a PIN superseded belongs to the same transaction and has its own
// reversal.
const MATCH = `create temp table matched as
  with requests as (
    select acquirer_id, id, attempt, rrn, stan, tid, route_id, reversal_state, false as is_superseded from transactions
    union all
    select acquirer_id, transaction_id, attempt, rrn, stan, tid, route_id, reversal_state, true from superseded_attempts
  )
  select e.n, t.acquirer_id, t.id, t.attempt as of_attempt, t.reversal_state as of_reversal_state, t.is_superseded
  from ledger_entries e
  join requests t on t.rrn = e.rrn and t.stan = e.stan and t.tid = e.tid
  join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
  join processors p on p.acquirer_id = r.acquirer_id and p.id = r.processor_id and p.type = e.processor`;

// A cell that has given an acquirer up still has its rows, which are no longer true. Views of the session hide them.
const STALE = `(select acquirer_id from public.acquirer_cells where state in ('arriving', 'gone'))`;
const WITH_STALE_ROWS = `select c.relname as name from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'acquirer_id' and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname <> 'acquirer_cells' and exists ${STALE}`;

async function hideStaleRows(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(WITH_STALE_ROWS);
  for (const { name } of rows) {
    await client.query(`create temp view ${name} as select * from public.${name}
      where acquirer_id is null or acquirer_id not in ${STALE}`);
  }
}

/** The numbers of the entries that the books know. The same ledger numbers its entries in the same way in every cell. */
export async function matchedEntries({ client }: Pick<Books, 'client'>): Promise<number[]> {
  const { rows } = await client.query<{ all: number[] }>(
    `select coalesce(array_agg(distinct n), '{}') as all from matched`,
  );
  return rows[0]!.all;
}

/** Removes the entries that only the books of other cells know. @returns how many both know */
export async function leaveToOthers({ client }: Pick<Books, 'client'>, theirs: readonly number[]): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(distinct n)::integer as count from matched where n = any($1)',
    [theirs],
  );
  await client.query('delete from ledger_entries where n = any($1) and n not in (select n from matched)', [theirs]);
  return rows[0]!.count;
}

/**
 * Copies the ledger beside the database, so that joins compare the two at any size, and begins a transaction with a
 * snapshot of the database. The client must not be used for anything else afterwards.
 */
export async function openBooks(
  client: pg.ClientBase,
  ledger: AsyncIterable<LedgerLine> | Iterable<LedgerLine>,
  since: Date | null,
  maxNamed: number = MAX_NAMED,
): Promise<Books> {
  await client.query(`set work_mem = '${WORK_MEMORY}'`);
  for (const setting of PLANS) await client.query(`set ${setting}`);
  await hideStaleRows(client);
  await client.query(CREATE);
  let batch: LedgerLine[] = [];
  for await (const line of ledger) {
    if (since !== null && line.approvedAtMs < since.getTime()) continue;
    batch.push(line);
    if (batch.length < BATCH_ENTRIES) continue;
    await client.query(INSERT, [JSON.stringify(batch)]);
    batch = [];
  }
  if (batch.length > 0) await client.query(INSERT, [JSON.stringify(batch)]);
  await client.query('analyze ledger_entries');
  await client.query('begin isolation level repeatable read');
  await client.query(MATCH);
  await client.query('create index on matched (acquirer_id, id)');
  await client.query('create index on matched (n)');
  await client.query('analyze matched');
  return { client, since, maxNamed };
}

/** The properties of an approved authorization that the check needs. */
const ledgerLine = z.object({
  processor: z.string(),
  key: z.string(),
  kind: z.enum(['sale', 'refund']),
  stan: z.string(),
  rrn: z.string(),
  tid: z.string(),
  currencyNumeric: z.string(),
  amountMinor: z.number(),
  approvedMinor: z.number(),
  approvedAtMs: z.number(),
  state: z.enum(['approved', 'reversed', 'unbooked']),
  /** For a switch that may report something false: what it reported (see src/tools/simulator/ledger.ts). */
  said: z
    .object({
      received: z.number(),
      approvals: z.number(),
      approvedAtMs: z.number().optional(),
      declines: z.number(),
      acknowledgedAtMs: z.number().optional(),
      refusedReversals: z.number(),
    })
    .optional(),
});

export type LedgerLine = z.infer<typeof ledgerLine>;

/** The entries of several ledgers, one after the other. */
export async function* readLedgers(urls: readonly string[]): AsyncGenerator<LedgerLine> {
  for (const url of urls) yield* readLedger(url);
}

/**
 * The entries of a simulated switch's ledger, streamed one by one, because a million of them do not fit into a
 * string.
 *
 * @param url of the ledger, `http://127.0.0.1:9000/ledger`
 * @throws StartError BAD_CONFIG when the URL serves no ledger, or the ledger is truncated
 */
export async function* readLedger(url: string): AsyncGenerator<LedgerLine> {
  const fault = (cause: unknown) => new StartError('BAD_CONFIG', `${url} does not serve a complete ledger.`, { cause });
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/entries`);
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
      if (line !== '') yield ledgerLine.parse(JSON.parse(line));
    }
  } catch (cause) {
    throw fault(cause);
  }
}

/** A violation of an invariant: the transaction or entry, and what is wrong. */
export interface Violation {
  readonly id: string;
  readonly what: string;
  /** The approval of the switch, if no transaction has it. */
  readonly entry?: LedgerLine | undefined;
}

/** The result of one check. */
export interface Finding {
  /** The invariant (design: I1 to I8; J for the jobs that advance states). */
  readonly check: string;
  readonly description: string;
  /** Number of checked rows, entries or trails. */
  readonly lookedAt: number;
  /** Number of these that are visibly unresolved. */
  readonly open: number;
  /** Number of these that are flagged for a person to resolve. */
  readonly inReview: number;
  /** Number of these that differ because a switch reported something false, which only the switch can know. */
  readonly misstated: number;
  readonly violationCount: number;
  /** The first violations, or all of them. */
  readonly violations: readonly Violation[];
}

/** For programs: all violations, up to what fits into memory. */
export const ALL_NAMED = 1_000_000;
