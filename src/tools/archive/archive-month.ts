import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { from, to } from 'pg-copy-streams';
import { ArchiveError } from '../../basics/errors.ts';
import { TAP_TYPES } from '../../payments/model/link.ts';
import { PinState } from '../../payments/model/pin.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import { OPEN_REVERSAL_STATES, TransactionType, VoidState } from '../../payments/model/transaction.ts';
import { HOLDS } from '../../store/links/link-claims.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { attachPartition, detachPartition, type Period, TRANSACTIONS } from '../../store/postgres/partitions.ts';
import { IS_IN_DOUBT, KEEPS_AMOUNT } from '../../store/transactions/transaction-columns.ts';
import {
  checkCsv,
  csvOf,
  type Manifest,
  readCsv,
  readManifest,
  type Total,
  writeCsv,
  writeManifest,
} from './archive-file.ts';

/**
 * Acquirers settle disputes within the 180 days that card networks allow, and refunds come in that time: then the sale must
 * be in the database. Ten days are for the messages that follow them. Nor is a reference submitted again any longer
 * (payments/model/time-limits.ts), so no row changes while a month is detached.
 */
export const LEAST_AGE_DAYS = 190;

/** A month of `transactions`. */
export interface Month {
  /** YYYY-MM. */
  readonly month: string;
  /** `old`: it can be archived if its rows have ended; `detached`: an archiving was interrupted. */
  readonly state: 'young' | 'old' | 'detached';
  /** As the statistics of the database estimate them. */
  readonly rows: number;
  /** With its indexes. */
  readonly bytes: number;
}

const MONTHS = `
select to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM') as month,
  case when not c.relispartition then 'detached'
    when to_date(right(c.relname, 8), 'YYYYMMDD') + interval '1 month ${LEAST_AGE_DAYS} days' <= clock_timestamp() then 'old'
    else 'young' end as state,
  greatest(c.reltuples, 0)::float8 as rows, pg_total_relation_size(c.oid) as bytes
from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname ~ '^transactions_\\d{8}$'
order by 1`;

/** The months that the database has, from the oldest on. */
export async function listMonths(database: Database): Promise<Month[]> {
  return (await database.query<Month>(MONTHS)).rows;
}

/** No job, message or person will change such a row. */
const HAS_ENDED = (
  t: string,
) => `(${t}.status not in (${MUST_NOT_REST.join()}) and ${t}.pin_state <> ${PinState.awaiting}
  and ${t}.void_state is distinct from ${VoidState.asked} and not ${IS_IN_DOUBT(t)}
  and coalesce(${t}.completing_until < clock_timestamp(), true) and ${t}.sealed_card is null and ${t}.handover is null)`;

/** A reference of long ago may have been submitted again a short time ago. */
const IS_YOUNG = (t: string) => `coalesce(${t}.sent_at > clock_timestamp() - interval '${LEAST_AGE_DAYS} days', false)`;

/**
 * The table is named, because it is detached at the second look. What is left of a sale is the sum of its refunds, so a refund
 * stays as long as a sale of another month.
 */
const FIND_OPEN = ({ name: table, from: start, to: end }: Period) => `
select t.id from ${table} t where not ${HAS_ENDED('t')} or ${IS_YOUNG('t')}
union all
select t.id from ${table} t join superseded_attempts s on s.acquirer_id = t.acquirer_id and s.transaction_id = t.id
where s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) or s.sealed_card is not null
union all
select t.id from ${table} t join transactions r on r.acquirer_id = t.acquirer_id and r.original_id = t.id where not ${HAS_ENDED('r')}
union all
select t.id from ${table} t join transactions sale on sale.acquirer_id = t.acquirer_id and sale.id = t.original_id
where t.type = ${TransactionType.Refund} and (sale.id < '${start}' or sale.id >= '${end}') and ${KEEPS_AMOUNT('t')}
union all
select t.id from ${table} t join webhook_events w on w.acquirer_id = t.acquirer_id and w.transaction_id = t.id where w.state = 'pending'
limit 5`;

const KEEP_LINKS_HELD = (table: string) => `
update links l set is_held_by_archived = true from ${table} t
where l.acquirer_id = t.acquirer_id and l.id = t.consumer_id and t.type in (${TAP_TYPES.join()}) and ${HOLDS} and not l.is_held_by_archived`;

const TOTALS = (table: string) => `
select acquirer_id as "acquirerId", currency, type, disposition, count(*)::float8 as rows,
  coalesce(sum(amount_minor), 0)::float8 as "amountMinor", coalesce(sum(approved_minor), 0)::float8 as "approvedMinor",
  sum(refunded_minor)::float8 as "refundedMinor"
from ${table} group by 1, 2, 3, 4 order by 1, 2, 3, 4`;

/** A move copies rows, and would miss those of a detached month. */
const MOVES = `select from acquirer_cells where state not in ('serving', 'gone')`;

/** What is null in every row is left out, and so is what Postgres computes. */
const COLUMNS = `
select attname::text as name from pg_attribute
where attrelid = 'transactions'::regclass and attnum > 0 and not attisdropped and attgenerated = ''
  and attname not in ('sealed_card', 'handover') order by attnum`;

/** Times and numbers of a file must not depend on the server that wrote it. */
const PLAIN = `set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'iso_8601'; set extra_float_digits = 1`;

/** The partition of a month. @throws ArchiveError MONTH_NOT_FOUND for a month that never existed */
export async function periodOf(database: Database, month: string): Promise<Period> {
  if (!/^20\d\d-(0[1-9]|1[0-2])$/.test(month))
    throw new ArchiveError(
      'MONTH_NOT_FOUND',
      `Expected a month such as 2026-01, not ${JSON.stringify(month.slice(0, 20))}`,
    );
  const { rows } = await database.query<{ from: string; to: string }>(
    `select first_id(begun at time zone 'UTC')::text as from, first_id((begun + interval '1 month') at time zone 'UTC')::text as to
     from (select to_date($1, 'YYYY-MM')::timestamp as begun) x`,
    [month],
  );
  return { name: `${TRANSACTIONS.name}_${month.replace('-', '')}01`, ...rows[0]! };
}

interface ArchiveParts {
  readonly database: Database;
  /** Its connections run COPY. */
  readonly copies: Database;
  /** An existing folder. */
  readonly folder: string;
  readonly nowMs: number;
  /** Receives each step. */
  readonly say: (line: string) => void;
}

/**
 * Writes a month of transactions to a file and removes it from the database. The month is detached first, so that nothing
 * can change it while it is written; it is dropped only after the file was read again from the disk. An interrupted
 * archiving is continued by the same command, or undone by `restoreMonth`.
 *
 * @throws ArchiveError
 */
export async function archiveMonth(parts: ArchiveParts, month: string): Promise<Manifest> {
  const { database, folder, say } = parts;
  const period = await periodOf(database, month);
  const found = (await listMonths(database)).find((each) => each.month === month);
  if (found === undefined) throw new ArchiveError('MONTH_NOT_FOUND', `The database has no partition of ${month}`);
  if (found.state === 'young')
    throw new ArchiveError('MONTH_NOT_ENDED', `${month} ended less than ${LEAST_AGE_DAYS} days ago`);
  if ((await database.query(MOVES)).rowCount !== 0)
    throw new ArchiveError('DATABASE_BUSY', 'An acquirer is being moved between cells. Repeat the command afterwards');
  if (found.state === 'old') await detach(database, period, month, say);
  await refuseOpen(database, period, month).catch(async (error) => {
    await attach(database, period, month);
    throw error;
  });
  say(`writing ${csvOf(folder, month)}`);
  const written = await write(parts, period, month);
  say(`reading ${written.rows} rows again`);
  await checkCsv(folder, written);
  await writeManifest(folder, written);
  await database.query(`drop table ${period.name}`);
  say(`${month} is archived`);
  return written;
}

async function detach(database: Database, period: Period, month: string, say: (line: string) => void): Promise<void> {
  say(`checking that all transactions of ${month} have ended`);
  await refuseOpen(database, period, month);
  await database.query(KEEP_LINKS_HELD(period.name));
  if ((await detachPartition(database, TRANSACTIONS, period.name)) !== 'changed') throw busy();
}

/** Attaches a detached month. @throws ArchiveError DATABASE_BUSY, MONTH_PRESENT */
async function attach(database: Database, period: Period, month: string): Promise<void> {
  // It proves that all rows are of the month, so that none is read while the table is locked.
  const ofMonth = `check (id >= '${period.from}' and id < '${period.to}')`;
  await database.query(`alter table ${period.name} drop constraint if exists of_month`);
  await database.query(`alter table ${period.name} add constraint of_month ${ofMonth}`);
  const end = await attachPartition(database, TRANSACTIONS, period);
  if (end === 'needless')
    throw new ArchiveError(
      'MONTH_PRESENT',
      `The default partition has transactions of ${month}; see partitions in tapwire doctor`,
    );
  if (end !== 'changed') throw busy();
}

function busy(): ArchiveError {
  return new ArchiveError('DATABASE_BUSY', 'Others hold locks of the table transactions. Repeat the command later');
}

async function refuseOpen(database: Database, period: Period, month: string): Promise<void> {
  const { rows } = await database.query<{ id: string }>(FIND_OPEN(period));
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id).join(', ');
  throw new ArchiveError(
    'MONTH_NOT_ENDED',
    `${month} has transactions that are in progress, in review, or have card data, were sent within ${LEAST_AGE_DAYS} days, or refund a sale of another month, which must be archived first: ${ids}. See tapwire transaction show ID`,
  );
}

async function write(
  { database, copies, folder, nowMs }: ArchiveParts,
  { name }: Period,
  month: string,
): Promise<Manifest> {
  const columns = (await database.query<{ name: string }>(COLUMNS)).rows.map((column) => column.name);
  const totals = (await database.query<Total>(TOTALS(name))).rows;
  const client = await copies.connect();
  try {
    await client.query(PLAIN);
    const csv = client.query(
      to(`copy (select ${columns.join(', ')} from ${name} order by id) to stdout (format csv, header)`),
    );
    const sha256 = await writeCsv(csv, csvOf(folder, month));
    const rows = totals.reduce((sum, each) => sum + each.rows, 0);
    if (csv.rowCount !== rows) throw new Error(`${csv.rowCount} rows were written of ${rows}`);
    const archivedAt = new Date(nowMs).toISOString();
    return { format: 'tapwire-transactions', version: 1, month, columns, rows, sha256, totals, archivedAt };
  } finally {
    client.release(true);
  }
}

/**
 * Reads an archived month into the database again, where lists, details and refunds find it. A month whose archiving was
 * interrupted is attached as it is. The file stays.
 *
 * @throws ArchiveError
 */
export async function restoreMonth(parts: Omit<ArchiveParts, 'nowMs'>, month: string): Promise<void> {
  const { database, folder, say } = parts;
  const period = await periodOf(database, month);
  const found = (await listMonths(database)).find((each) => each.month === month);
  if (found !== undefined && found.state !== 'detached')
    throw new ArchiveError('MONTH_PRESENT', `The database has ${month} already`);
  if (found === undefined) {
    const manifest = await readManifest(folder, month);
    say('checking the file');
    await checkCsv(folder, manifest);
    await load(parts, period, manifest);
    await database.query(`analyze ${period.name}`); // otherwise lists scan it until autovacuum comes
  }
  await attach(database, period, month);
  say(`${month} is restored`);
}

/** Fills the table of the month in one transaction, so that an interruption leaves nothing. */
async function load(
  { copies, folder, say }: Omit<ArchiveParts, 'nowMs'>,
  period: Period,
  manifest: Manifest,
): Promise<void> {
  const { month, columns, rows, totals } = manifest;
  const { name } = period;
  const client = await copies.connect();
  try {
    await client.query(PLAIN);
    await client.query('begin');
    // No row changes, so pages have no free space. The indexes are made here, because attaching would make them under a lock.
    await client.query(
      `create table ${name} (like ${TRANSACTIONS.name} including defaults including constraints including generated including indexes)`,
    );
    say(`reading ${rows} rows`);
    await pipeline(
      readCsv(folder, month),
      client.query(from(`copy ${name} (${columns.join(', ')}) from stdin (format csv, header)`)),
    );
    const { rows: read } = await client.query(TOTALS(name));
    if (!isDeepStrictEqual(read.map(plain), totals.map(plain)))
      throw new ArchiveError('ARCHIVE_DAMAGED', `The rows of ${month} do not add up to the totals of its manifest`);
    await client.query('commit');
  } finally {
    client.release(true); // an error may have left it in the middle of a copy
  }
}

const plain = (row: object) => ({ ...row });
