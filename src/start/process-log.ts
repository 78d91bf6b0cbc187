import { readFileSync } from 'node:fs';
import { createFiguresReader, type FiguresParts } from '../console/read-figures.ts';
import type { Log } from '../observe/log.ts';
import { startMinuteLog } from '../observe/minute-log.ts';
import type { Config } from './config.ts';
import type { Closers } from './opening.ts';

export interface StartedAs {
  readonly config: Config;
  /** The address on which it listens. */
  readonly url: string;
  /** The URL of the database. */
  readonly databaseUrl: string;
  /** Number of configured processors, and of those that are unusable. */
  readonly processors: number;
  readonly unusable: number;
}

/** Logs the start with version, role, environment and database. */
export function logStart(log: Log, { config, url, databaseUrl, processors, unusable }: StartedAs): void {
  const { TAPWIRE_ENV: env, TAPWIRE_ROLE: role } = config;
  const database = placeOf(databaseUrl);
  log.info({ version: ownVersion(), role, env, url, database, processors, unusable }, 'Tapwire is up');
}

/** Logs the figures of each minute. */
export function logMinutes(
  log: Log,
  parts: Omit<FiguresParts, 'role' | 'cell'>,
  { TAPWIRE_ROLE: role, CELL_NAME: cell }: Config,
  closers: Closers,
): void {
  closers.push(startMinuteLog(createFiguresReader({ ...parts, role, cell }), log));
}

/** Host, port and name of a database. User, password and parameters, which can contain a password, are omitted. */
function placeOf(url: string): string {
  const { protocol = '', hostname, port, pathname } = URL.parse(url) ?? {};
  if (!protocol.startsWith('postgres')) return 'unknown'; // its path may contain a password
  return `${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** The version of this installation, `0.1.0`. */
function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
