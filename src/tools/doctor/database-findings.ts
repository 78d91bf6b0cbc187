import { migrationsOf } from '../../store/postgres/migrate.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { type Finding, fault, good, warning } from './finding.ts';
import { replicationFindings } from './replication-findings.ts';

const PART = 'database';
/**
 * A gateway follows the database's clock, but its log does not. A machine with working NTP deviates much less than
 * a second.
 */
const MAX_CLOCK_DIFFERENCE_MS = 1_000;
/** Connections for a person, a backup and the next process during a rolling restart. */
const CONNECTIONS_TO_SPARE = 10;

/** Without these settings a confirmed commit can be lost, and with it the proof that a reversal is required. */
const DURABILITY = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

export interface DatabaseQuestions {
  readonly isProduction: boolean;
  /** Number of connections that one gateway process opens. */
  readonly connectionsPerProcess: number;
}

/** Version, schema, durability, replication, clock and free connections of the database. */
export async function databaseFindings(
  database: Database,
  { isProduction, connectionsPerProcess }: DatabaseQuestions,
): Promise<Finding[]> {
  return [
    await versionAndSchema(database),
    await durability(database, isProduction),
    ...(await replicationFindings(database, isProduction)),
    await clock(database),
    await room(database, connectionsPerProcess),
  ];
}

async function versionAndSchema(database: Database): Promise<Finding> {
  const { rows } = await database.query<{ version: string; size: string }>(
    `select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  const { version, size } = rows[0]!;
  const { pending, unknown } = await migrationsOf(database);
  if (unknown.length > 0) {
    const newer = `a newer version has changed the schema: this one does not know ${unknown.join(', ')}`;
    return fault(PART, newer, 'start that version or a newer one; this version does not start on the schema');
  }
  if (pending.length === 0) return good(PART, `Postgres ${version}, ${size}, schema up to date`);
  const description = `the schema lacks ${pending.join(', ')}`;
  return fault(PART, description, 'run tapwire migrate, or start a gateway of this version');
}

async function durability(database: Database, isProduction: boolean): Promise<Finding> {
  const { rows } = await database.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any($1)',
    [DURABILITY],
  );
  const setting = new Map(rows.map(({ name, setting: value }) => [name, value]));
  const off = DURABILITY.filter((name) => setting.get(name) === 'off' || setting.get(name) === 'local');
  if (off.length === 0) return good(PART, `${DURABILITY.join(', ')} are on`);
  const found = isProduction ? fault : warning;
  const description = `${off.join(', ')}: a crash can lose a confirmed commit, and a reversal with it`;
  return found(PART, description, `set ${off.map((name) => `${name} = on`).join(', ')}`);
}

async function clock(database: Database): Promise<Finding> {
  const askedAtMs = Date.now();
  const { rows } = await database.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  const answeredAtMs = Date.now();
  // The server's time lies between the two local times, so any value between them counts as no difference.
  const { ms } = rows[0]!;
  const differenceMs = Math.round(Math.max(0, askedAtMs - ms, ms - answeredAtMs));
  if (differenceMs <= MAX_CLOCK_DIFFERENCE_MS) return good('clock', `${differenceMs} ms from the database's`);
  const description = `${differenceMs} ms from the database's: log times and certificate expiry are wrong`;
  return warning(
    'clock',
    description,
    'synchronise both machines by NTP; transactions follow the clock of the database',
  );
}

async function room(database: Database, connectionsPerProcess: number): Promise<Finding> {
  const { rows } = await database.query<{ most: number; used: number }>(
    `select current_setting('max_connections')::int as most, count(*)::int as used from pg_stat_activity
     where backend_type = 'client backend'`,
  );
  const { most, used } = rows[0]!;
  const description = `${used} of ${most} connections in use, ${connectionsPerProcess} per gateway process`;
  if (most - used >= connectionsPerProcess + CONNECTIONS_TO_SPARE) return good(PART, description);
  return warning(
    PART,
    description,
    'raise max_connections or lower DATABASE_CONNECTIONS, otherwise another process may not start',
  );
}
