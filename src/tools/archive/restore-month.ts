import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { from } from 'pg-copy-streams';
import { ArchiveError } from '../../basics/errors.ts';
import { type Period, TRANSACTIONS } from '../../store/postgres/partitions.ts';
import { checkCsv, type Manifest, readCsv, readManifest } from './archive-file.ts';
import { type ArchiveParts, attach, listMonths, PLAIN, periodOf, TOTALS } from './archive-month.ts';

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
