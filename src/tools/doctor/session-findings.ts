import { openPool } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS, serverSettings, TCP_SETTINGS } from '../../store/postgres/session-limits.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const PART = 'database sessions';
/** Introduced in Postgres 17. In older versions the other limits end the transactions of a dead client. */
const RECENT = 'transaction_timeout';

interface Seen {
  readonly name: string;
  readonly setting: string;
  /** Null on a Unix socket. */
  readonly port: number | null;
}

/**
 * Checks, in a session that is opened as a gateway opens it, whether the limits took effect with which the server
 * ends the sessions of a dead gateway.
 */
export async function sessionFindings(url: string): Promise<Finding[]> {
  const wanted = serverSettings(SESSION_LIMITS.tap);
  const pool = openPool(url, { maxConnections: 1, limits: SESSION_LIMITS.tap });
  try {
    const { rows } = await pool.query<Seen>(
      'select name, setting, inet_server_port() as port from pg_settings where name = any($1)',
      [Object.keys(wanted)],
    );
    return judge(wanted, rows);
  } finally {
    await pool.end();
  }
}

/** @param wanted limits by name; those of TCP do not apply to a Unix socket */
export function judge(wanted: Readonly<Record<string, number>>, seen: readonly Seen[]): Finding[] {
  const settings = new Map(seen.map(({ name, setting }) => [name, Number(setting)]));
  const isOnSocket = seen[0]?.port == null;
  const expected = Object.entries(wanted).filter(([name]) => !(isOnSocket && name in TCP_SETTINGS) && name !== RECENT);
  const ineffective = expected.filter(([name, value]) => settings.get(name) !== value);
  const findings: Finding[] = [];
  if (ineffective.length > 0) {
    const found = ineffective.map(
      ([name, value]) => `${name} is ${settings.get(name) ?? 'unknown'} instead of ${value}`,
    );
    const description = `${found.join(', ')}: a gateway whose host loses power keeps its locks`;
    const advice = 'a pooler must give each client its own session (pool_mode = session)';
    findings.push(fault(PART, description, advice));
  } else findings.push(good(PART, 'limits are in effect; the server ends the sessions of a dead gateway within 10 s'));
  if (settings.get(RECENT) === undefined) {
    const description = `the server has no ${RECENT}, so the total duration of a transaction is not limited`;
    findings.push(warning(PART, description, 'use Postgres 17 or newer'));
  } else if (settings.get(RECENT) !== wanted[RECENT])
    findings.push(fault(PART, `${RECENT} is ${settings.get(RECENT)} instead of ${wanted[RECENT]}`, 'see above'));
  return findings;
}
