import { fileURLToPath } from 'node:url';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import type { Log } from '../../observe/log.ts';
import type { Config } from '../config.ts';
import { bindShared } from '../open-front.ts';
import { openKeyRing } from '../open-key-ring.ts';
import type { PreparedDatabase } from '../prepare-database.ts';
import { countProcesses, fitProcesses, readConnectionLimit } from './count-processes.ts';
import { ProcessGroup } from './process-group.ts';

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
