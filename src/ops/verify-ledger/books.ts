import type pg from 'pg';
import type { LedgerLine } from './ledger-lines.ts';

/** One connection that joins a day's rows: what does not fit into it goes through the disk, several times. */
const WORK_MEMORY = '128MB';

/**
 * Every check reads whole tables and joins them, so a hash or a merge is right whatever is in them. The planner would know
 * that from statistics, which are missing after a load test or a restored backup: it then takes the tables for empty, joins
 * each row with all others, and 40,000 rows take minutes. What has no other join (a function of each row) still has a loop.
 * A cursor is read to its end, and compiling a plan for rows that were estimated wrongly costs more than it saves.
 */
const PLANS = ['enable_nestloop = off', 'cursor_tuple_fraction = 1', 'jit = off'];

/** Entries that travel to the database in one statement. */
const BATCH_ENTRIES = 5_000;

/** Both books side by side, for as long as a connection lives: `ledger_entries`, and `matched`, which joins them to rows. */
export interface Books {
  readonly client: pg.ClientBase;
  /** Rows of the database that were submitted earlier are none of the ledger's; null: all of them are. */
  readonly since: Date | null;
}

const CREATE = `create temp table ledger_entries (
  n integer generated always as identity, processor text, key text, kind text, stan text, rrn text, tid text,
  currency_numeric text, amount_minor bigint, approved_minor bigint, state text, said json)`;

const INSERT = `insert into ledger_entries (processor, key, kind, stan, rrn, tid, currency_numeric, amount_minor, approved_minor, state, said)
  select processor, key, kind, stan, rrn, tid, "currencyNumeric", "amountMinor", "approvedMinor", state, said
  from json_to_recordset($1::text::json) as x(processor text, key text, kind text, stan text, rrn text, tid text,
    "currencyNumeric" text, "amountMinor" bigint, "approvedMinor" bigint, state text, said json)`;

// DE37, DE11 and DE41 name an authorization for a year; the processor's type keeps two switches with the same terminal apart.
// A request that an attempt with a PIN has superseded belongs to the same transaction, and has a reversal of its own.
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

/**
 * Copies the ledger beside the database, so that the two are compared by joins, whatever their size, and begins a
 * transaction that sees the database as it is then. The client must not be used for anything else afterwards.
 */
export async function openBooks(
  client: pg.ClientBase,
  ledger: AsyncIterable<LedgerLine> | Iterable<LedgerLine>,
  since: Date | null,
): Promise<Books> {
  await client.query(`set work_mem = '${WORK_MEMORY}'`);
  for (const setting of PLANS) await client.query(`set ${setting}`);
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
  return { client, since };
}
