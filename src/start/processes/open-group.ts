import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { StartError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import type { Log } from '../../observe/log.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { Config } from '../config.ts';
import { bindShared } from '../open-front.ts';
import { openKeyRing } from '../open-key-ring.ts';
import { connectionsOfProcess, type PreparedDatabase } from '../open-stores.ts';
import { ProcessGroup } from './process-group.ts';

/**
 * Most processes that `auto` starts. Postgres takes half as much processor time for a tap as a gateway process, so
 * eight processes already need four cores of it, and their connections (136) exceed the usual limit of 100.
 */
const MAX_AUTOMATIC = 8;
/** The primary migrates and checks with these. It keeps none open afterwards. */
const CONNECTIONS_OF_PRIMARY = 2;

export type WantedProcesses = 'auto' | number;

/** One process per core that this process may use: a limit of a container counts if it restricts the cores. */
export function countProcesses(wanted: WantedProcesses, cores = availableParallelism()): number {
  return wanted === 'auto' ? Math.min(cores, MAX_AUTOMATIC) : wanted;
}

/** How many connections a gateway may open: the smallest of the limits of server, database and role. */
async function readConnectionLimit(database: Database): Promise<number> {
  const { rows } = await database.query<{ allowed: number }>(`
    select least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)
      ) as allowed`);
  return rows[0]!.allowed;
}

export interface ConnectionLimits {
  /** DATABASE_CONNECTIONS. */
  readonly connections: number;
  /** Connections that the database allows. */
  readonly allowed: number;
  readonly isInCell?: boolean | undefined;
}

/**
 * The number of processes whose connections fit into the limit of the database. Connections that are open now are not
 * subtracted, because they may be those of the processes that this group replaces.
 *
 * @param onFewer called if `auto` means fewer processes because of the limit
 * @throws StartError BAD_CONFIG if a given number does not fit, or not even one process does
 */
export function fitProcesses(
  wanted: WantedProcesses,
  { connections, allowed, isInCell = false }: ConnectionLimits,
  onFewer: (fields: object) => void,
  cores?: number,
): number {
  const count = countProcesses(wanted, cores);
  if (count === 1) return 1;
  const each = connectionsOfProcess(connections, isInCell);
  const fitting = Math.floor((allowed - CONNECTIONS_OF_PRIMARY) / each);
  if (fitting >= count) return count;
  if (wanted === 'auto' && fitting >= 1) {
    onFewer({ processes: fitting, cores: count, connectionsEach: each, allowed });
    return fitting;
  }
  throw new StartError(
    'BAD_CONFIG',
    `${count} processes with up to ${each} database connections each need ${count * each + CONNECTIONS_OF_PRIMARY}, ` +
      `and the database allows ${allowed} (max_connections without reserved ones, or a limit of the database or role). ` +
      'Lower TAPWIRE_PROCESSES or DATABASE_CONNECTIONS, or raise the limit.',
  );
}

const PROGRAM = fileURLToPath(new URL(`../../cli/gateway-process.${MODULE_EXTENSION}`, import.meta.url));

/**
 * How many processes to start.
 *
 * @throws StartError BAD_CONFIG if the database does not allow the connections of that many processes
 */
export async function chooseCount(
  { TAPWIRE_PROCESSES: wanted, DATABASE_CONNECTIONS: connections, CELL_NAME: cell }: Config,
  { database }: Pick<PreparedDatabase, 'database'>,
  log: Log,
): Promise<number> {
  if (countProcesses(wanted) === 1) return 1;
  const allowed = await readConnectionLimit(database);
  return fitProcesses(wanted, { connections, allowed, isInCell: cell !== undefined }, (fields) =>
    log.warn(fields, 'fewer processes than cores, the database does not allow the connections of more'),
  );
}

/**
 * A group of processes on a prepared database. What must be created once exists before the first of them starts: the
 * schema, the embedded database and the key ring.
 *
 * @param environment differences from the environment of this process
 */
export async function openGroup(
  config: Config,
  { url }: Pick<PreparedDatabase, 'url'>,
  { count, environment, log }: { readonly count: number; readonly environment: NodeJS.ProcessEnv; readonly log: Log },
): Promise<ProcessGroup> {
  (await openKeyRing(config)).close();
  const database = config.DATABASE_URL === undefined ? { DATABASE_URL: url } : {};
  const sockets = bindShared(config).filter((socket) => socket.fd() >= 0); // not on Windows
  return new ProcessGroup({ program: PROGRAM, count, sockets, environment: { ...environment, ...database }, log });
}
