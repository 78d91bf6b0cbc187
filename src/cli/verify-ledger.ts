import { parseArgs } from 'node:util';
import { StartError } from '../errors.ts';
import { withSecretFiles } from '../ops/secret-files.ts';
import type { Finding } from '../ops/verify-ledger/finding.ts';
import { readLedger } from '../ops/verify-ledger/ledger-lines.ts';
import { verifyLedger } from '../ops/verify-ledger/verify-ledger.ts';
import { openDatabase } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import { installedTypes } from './processor-types.ts';
import { tableOf } from './table.ts';
import { flag, text } from './words.ts';

const USAGE = `usage: tapwire verify-ledger --ledger URL [--database URL] [--since TIME] [--json]

  --ledger    URL of the simulated switch's ledger, such as http://127.0.0.1:9000/ledger
  --database  the gateway's database (DATABASE_URL)
  --since     start of the switch, 2026-11-20T10:00:00Z; its ledger has no earlier submissions
  --json      print the findings as JSON`;

/**
 * `tapwire verify-ledger`: checks whether money was lost or charged twice. Run it after a load test, when no taps
 * arrive. Exit code 1 on a violation.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ledger: text,
      database: { ...text, default: withSecretFiles(process.env).variables.DATABASE_URL },
      since: text,
      json: flag,
    },
  });
  if (values.ledger === undefined || values.database === undefined) {
    const missing = [
      ...(values.ledger === undefined ? ['--ledger'] : []),
      ...(values.database === undefined ? ['--database (or DATABASE_URL)'] : []),
    ];
    throw new StartError('BAD_USAGE', `Missing: ${missing.join(', ')}.\n\n${USAGE}`);
  }
  const since = values.since === undefined ? undefined : parseTime(values.since);
  const types = await installedTypes();
  const database = await openDatabase(values.database, { maxConnections: 1, limits: SESSION_LIMITS.ledger });
  try {
    const findings = await verifyLedger({ database, ledger: readLedger(values.ledger), types, since });
    console.log(values.json ? JSON.stringify(findings, null, 2) : reportOf(findings));
    return findings.some(({ violationCount }) => violationCount > 0) ? 1 : 0;
  } finally {
    await database.end();
  }
}

function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new StartError('BAD_CONFIG', `--since: expected a time such as 2026-11-20T10:00:00Z`);
  return time;
}

/** A line for each check, followed by the violations. */
function reportOf(findings: readonly Finding[]): string {
  const rows = findings.map(({ check, lookedAt, open, inReview, misstated, violationCount, description }) => [
    check,
    String(lookedAt),
    String(open),
    String(inReview),
    String(misstated),
    String(violationCount),
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
