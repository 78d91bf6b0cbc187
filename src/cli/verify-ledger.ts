import { StartError } from '../basics/errors.ts';
import { csvLine } from '../console/transactions-csv.ts';
import { type Database, openDatabase } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import { ALL_NAMED, type Finding, type LedgerLine, readLedgers } from '../tools/ledger/books.ts';
import { readMapping, readSwitchList } from '../tools/ledger/switch-list.ts';
import { type BooksToVerify, entriesOfCell, verifyLedger } from '../tools/ledger/verify-ledger.ts';
import { findDatabase } from './administration.ts';
import { flag, readOptions, text, texts } from './arguments.ts';
import { tableOf } from './output.ts';
import { installedTypes } from './plug-ins.ts';

export const USAGE = `usage: tapwire verify-ledger --ledger URL ... [--database URL ...] [--since TIME] [--json | --csv]
       tapwire verify-ledger --list FILE --mapping FILE [--since TIME] [--json | --csv]

  --ledger    ledger of simulated switches, such as http://127.0.0.1:9000/ledger; once for each if there are several
  --database  the gateway's database (DATABASE_URL, or the embedded one); once for each cell if there are several
  --since     start of the switches or of a run, 2026-11-20T10:00:00Z; nothing earlier is judged
  --list      the approvals of a switch as CSV; --mapping names its columns (src/tools/ledger/switch-list.ts)
  --json      print the findings as JSON, with all violations
  --csv       print all violations as CSV, with the approval of the switch where the database lacks it`;

/**
 * `tapwire verify-ledger`: checks whether money was lost or charged twice. Run it after a load test, when no taps
 * arrive. Exit code 1 on a violation.
 */
export async function run(args: string[]): Promise<number> {
  const inputs = { ledger: texts, database: texts, since: text, list: text, mapping: text };
  const values = readOptions(args, { ...inputs, json: flag, csv: flag });
  const isList = values.list !== undefined && values.mapping !== undefined && values.ledger === undefined;
  if (values.ledger === undefined && !isList) throw new StartError('BAD_USAGE', `Missing: --ledger.\n\n${USAGE}`);
  for (const ledger of values.ledger ?? []) checkLedgerUrl(ledger);
  if (values.json && values.csv) throw new StartError('BAD_USAGE', USAGE);
  const mapping = isList ? readMapping(values.mapping!) : undefined;
  const readEntries = () =>
    mapping === undefined ? readLedgers(values.ledger!) : readSwitchList(values.list!, mapping);
  const since = values.since === undefined ? undefined : parseTime(values.since);
  const found = values.database === undefined ? await findDatabase(undefined) : undefined;
  const urls = found === undefined ? values.database! : [found.url];
  const maxNamed = values.json || values.csv ? ALL_NAMED : undefined;
  const findings = await verifyCells(readEntries, urls, { since, maxNamed }).finally(() => found?.stop());
  if (values.csv) console.log(csvOf(findings.flat()));
  else if (values.json) console.log(JSON.stringify(urls.length === 1 ? findings[0] : findings, null, 2));
  else
    console.log(
      findings.map((each, n) => `${urls.length > 1 ? `Database ${n + 1}:\n` : ''}${reportOf(each)}`).join('\n\n'),
    );
  return findings.flat().some(({ violationCount }) => violationCount > 0) ? 1 : 0;
}

/** The findings in each database. Each approval must be in exactly one of them. */
async function verifyCells(
  readEntries: () => AsyncIterable<LedgerLine>,
  urls: readonly string[],
  { since, maxNamed }: Pick<BooksToVerify, 'since' | 'maxNamed'>,
): Promise<Finding[][]> {
  const types = await installedTypes();
  const databases: Database[] = [];
  try {
    for (const url of urls)
      databases.push(await openDatabase(url, { maxConnections: 1, limits: SESSION_LIMITS.ledger, mustExist: true }));
    const known = new Map<Database, number[]>();
    if (databases.length > 1) {
      for (const database of databases)
        known.set(database, await entriesOfCell({ database, ledger: readEntries(), since }));
    }
    const findings: Finding[][] = [];
    for (const database of databases) {
      const others = databases.filter((other) => other !== database).flatMap((other) => known.get(other) ?? []);
      const ofOtherCells = databases.length > 1 ? others : undefined;
      findings.push(await verifyLedger({ database, ledger: readEntries(), ofOtherCells, types, since, maxNamed }));
    }
    return findings;
  } finally {
    for (const database of databases) await database.end();
  }
}

function checkLedgerUrl(given: string): void {
  if (/^https?:$/.test(URL.parse(given)?.protocol ?? '')) return;
  throw new StartError('BAD_CONFIG', `--ledger ${given}: expected a URL such as http://127.0.0.1:9000/ledger`);
}

function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new StartError('BAD_CONFIG', `--since: expected a time such as 2026-11-20T10:00:00Z`);
  return time;
}

const CSV_COLUMNS = ['processor', 'key', 'kind', 'stan', 'rrn', 'tid', 'currencyNumeric', 'approvedMinor'] as const;

/** A line for each violation, with the approval of the switch where no transaction has it. */
function csvOf(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, violations }) =>
    violations.map(({ id, what, entry }) => [
      ...[check, id, what],
      ...CSV_COLUMNS.map((column) => entry?.[column] ?? ''),
      entry ? new Date(entry.approvedAtMs).toISOString() : '',
    ]),
  );
  return [['check', 'id', 'what', ...CSV_COLUMNS, 'approvedAt'], ...rows].map(csvLine).join('').trimEnd();
}

/** A line for each check, followed by the violations. */
function reportOf(findings: readonly Finding[]): string {
  const rows = findings.map(({ check, lookedAt, open, inReview, misstated, violationCount, description }) => [
    check,
    ...[lookedAt, open, inReview, misstated, violationCount].map(String),
    description,
  ]);
  const table = tableOf([
    ['check', 'checked', 'open', 'in review', 'misstated', 'violations', 'what must hold'],
    ...rows,
  ]);
  const faults = findings.flatMap(({ check, violations, violationCount }) => {
    const lines = violations.map(({ id, what }) => `${check}  ${id}  ${what}`);
    const unnamed = violationCount - violations.length;
    return unnamed > 0 ? [...lines, `${check}  and ${unnamed} more`] : lines;
  });
  return faults.length === 0 ? table : `${table}\n\n${faults.join('\n')}`;
}
