import { StartError } from '../../basics/errors.ts';
import type { Config } from '../../start/config.ts';
import { LimitedClient } from '../../store/postgres/open-database.ts';

/** Postgres cuts longer names of sessions. */
const MAX_NAME_BYTES = 63;
const NAME = 'tapwire demo';
const KEY = 'hashtext($1)::bigint';

const FIND_HOLDER = `select application_name as name from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and objsubid = 1
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = ${KEY}`;

/** Ends the lock of a running demo. */
export type ReleaseDemo = () => Promise<void>;

/**
 * Makes this process the only demo of its database. A second demo would point the stored processors at its own switches.
 * The lock belongs to a session, so Postgres releases it when the process dies, even by kill -9. The session's name
 * says where the demo runs.
 *
 * @throws StartError ALREADY_RUNNING
 */
export async function lockDemo(databaseUrl: string, gatewayUrl: string, config: Config): Promise<ReleaseDemo> {
  const name = `${NAME} ${process.pid} ${gatewayUrl}`.slice(0, MAX_NAME_BYTES);
  const session = new LimitedClient({ connectionString: databaseUrl, application_name: name });
  session.on('error', () => {}); // the lock is lost with the database, which the gateway notices itself
  await session.connect();
  const { rows } = await session.query(`select pg_try_advisory_lock(${KEY}) as "isOurs"`, [NAME]);
  if (rows[0].isOurs) return () => session.end();
  const holder = await session.query<{ name: string }>(FIND_HOLDER, [NAME]);
  await session.end();
  throw new StartError('ALREADY_RUNNING', describeHolder(holder.rows[0]?.name, config));
}

function describeHolder(name: string | undefined, { DATABASE_URL }: Config): string {
  const [pid, url] = name?.slice(NAME.length + 1).split(' ') ?? [];
  const place = pid !== undefined && url !== undefined ? ` at ${url}, pid ${pid}` : '';
  const kill = pid === undefined ? '' : ` or kill ${pid}`;
  const other = DATABASE_URL === undefined ? 'TAPWIRE_DATA to another folder' : 'DATABASE_URL to another database';
  return `Tapwire is already running${place}. Stop it with Ctrl-C${kill}, or set ${other} to run a second installation.`;
}
