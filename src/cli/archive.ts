import { mkdir } from 'node:fs/promises';
import { StartError } from '../basics/errors.ts';
import { openDatabase } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import { archiveMonth, LEAST_AGE_DAYS, listMonths, type Month, restoreMonth } from '../tools/archive/archive-month.ts';
import { findDatabase } from './administration.ts';
import { flag, onlyWord, readOptions, readWords, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, printList } from './output.ts';

const LIST_USAGE = `usage: tapwire archive list [--database URL] [--json]

The months of transactions in the database: their size, and whether they can be archived.`;

const WRITE_USAGE = `usage: tapwire archive write MONTH --to FOLDER [--database URL]

  MONTH        such as 2026-01; it must have ended ${LEAST_AGE_DAYS} days ago, with no transaction in progress, in review, with card data, or sent since
  --to FOLDER  receives transactions-MONTH.csv.gz, and a manifest with the sums and the checksum

Writes a month of transactions to a file, reads the file again, and removes the month from the database. Its references stay
used. Lists, details and refunds no longer find its transactions. The audit trail stays for its retention time.`;

const RESTORE_USAGE = `usage: tapwire archive restore MONTH --from FOLDER [--database URL]

Reads an archived month into the database again, after a check against the manifest. The files stay.`;

/** `tapwire archive`: months of transactions as files. */
export const commands: Commands = {
  list: command('[--json]: show the months of transactions in the database', list, LIST_USAGE),
  write: command('MONTH --to FOLDER: write a month to a file and remove it from the database', write, WRITE_USAGE),
  restore: command('MONTH --from FOLDER: read an archived month into the database again', restore, RESTORE_USAGE),
};

const COLUMNS: Columns<Month> = {
  titles: ['month', 'state', 'rows', 'MB'],
  cellsOf: ({ month, state, rows, bytes }) => [month, STATES[state], `${rows}`, `${Math.ceil(bytes / 1e6)}`],
};

const STATES: Readonly<Record<Month['state'], string>> = {
  young: 'in use',
  old: 'can be archived',
  detached: 'archiving was interrupted; write or restore it',
};

async function list(args: string[]): Promise<void> {
  const values = readOptions(args, { database: text, json: flag });
  await onDatabases(values.database, async ({ database }) => {
    printList(await listMonths(database), COLUMNS, values.json);
  });
}

async function write(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { database: text, to: text });
  const month = onlyWord(words, WRITE_USAGE);
  const { to: folder } = values;
  if (folder === undefined) throw new StartError('BAD_USAGE', WRITE_USAGE);
  await mkdir(folder, { recursive: true });
  await onDatabases(values.database, (databases) =>
    archiveMonth({ ...databases, folder, nowMs: Date.now(), say: console.log }, month),
  );
}

async function restore(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { database: text, from: text });
  const month = onlyWord(words, RESTORE_USAGE);
  const { from: folder } = values;
  if (folder === undefined) throw new StartError('BAD_USAGE', RESTORE_USAGE);
  await onDatabases(values.database, (databases) => restoreMonth({ ...databases, folder, say: console.log }, month));
}

type Databases = Pick<Parameters<typeof archiveMonth>[0], 'database' | 'copies'>;

/** A month may have hundreds of millions of rows, so the statements have the time of a migration. */
async function onDatabases(given: string | undefined, act: (databases: Databases) => Promise<unknown>): Promise<void> {
  const found = await findDatabase(given);
  const opened: { end(): Promise<void> }[] = [];
  try {
    const limits = SESSION_LIMITS.migration;
    const database = await openDatabase(found.url, { maxConnections: 1, limits, mustExist: true });
    opened.push(database);
    const copies = await openDatabase(found.url, { maxConnections: 1, limits, mustExist: true, runsCopy: true });
    opened.push(copies);
    await act({ database, copies });
  } finally {
    for (const pool of opened) await pool.end();
    await found.stop();
  }
}
