import { openPool } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS, serverSettings, TCP_SETTINGS } from '../../store/postgres/session-limits.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const PART = 'database sessions';
/** Postgres 17 brought it. Before that, what a dead client left behind ends by the other limits. */
const RECENT = 'transaction_timeout';

interface Seen {
  readonly name: string;
  readonly setting: string;
  /** Null on a Unix socket. */
  readonly port: number | null;
}

/** Whether the limits by which the server ends what a dead gateway left behind took effect, in a session as a gateway opens it. */
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

/** @param wanted by their names; a Unix socket has none of those of TCP */
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
    const description = `${found.join(', ')}: a gateway whose host loses its power keeps its locks`;
    const advice = 'a pooler in front of the server must give each client a session of its own (pool_mode = session)';
    findings.push(fault(PART, description, advice));
  } else findings.push(good(PART, 'their limits took effect: the server ends those of a dead gateway within 10 s'));
  if (settings.get(RECENT) === undefined) {
    const description = `the server has no ${RECENT}: a transaction that goes on is not limited as a whole`;
    findings.push(warning(PART, description, 'Postgres 17 and newer have it'));
  } else if (settings.get(RECENT) !== wanted[RECENT])
    findings.push(fault(PART, `${RECENT} is ${settings.get(RECENT)} instead of ${wanted[RECENT]}`, 'see above'));
  return findings;
}
