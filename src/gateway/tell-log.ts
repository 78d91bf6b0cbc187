import type { Config } from '../config.ts';
import { createFiguresReader, type FiguresParts } from '../ops/console/read-figures.ts';
import type { Log } from '../ops/log.ts';
import { startMinuteLog } from '../ops/minute-log.ts';
import { ownVersion } from '../ops/own-version.ts';
import type { Closers } from './closers.ts';

export interface StartedAs {
  readonly config: Config;
  /** Where it listens. */
  readonly url: string;
  /** The database's URL. */
  readonly databaseUrl: string;
  /** Processors that are configured, and those of them that cannot be used. */
  readonly processors: number;
  readonly unusable: number;
}

/** The line that says who is up: version, role, environment, and on what it stands. */
export function tellStart(log: Log, { config, url, databaseUrl, processors, unusable }: StartedAs): void {
  const { TAPWIRE_ENV: env, TAPWIRE_ROLE: role } = config;
  const database = placeOf(databaseUrl);
  log.info({ version: ownVersion(), role, env, url, database, processors, unusable }, 'Tapwire is up');
}

/** And what it has done, each minute. */
export function tellMinutes(
  log: Log,
  parts: Omit<FiguresParts, 'role'>,
  { TAPWIRE_ROLE: role }: Config,
  closers: Closers,
): void {
  closers.push(startMinuteLog(createFiguresReader({ ...parts, role }), log));
}

/** Host, port and name of a database: neither user nor password, nor parameters, which may hold one. */
function placeOf(url: string): string {
  const { hostname, port, pathname } = URL.parse(url) ?? { hostname: 'unknown', port: '', pathname: '' };
  return `${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}
