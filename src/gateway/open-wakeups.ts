import type { Config } from '../config.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { LocalWakeups, SharedWakeups } from '../store/postgres/wakeups.ts';
import type { Closers, Report } from './opening.ts';

export interface WakeupParts {
  readonly config: Config;
  readonly database: Database;
  /** URL for the connection that receives notifications. */
  readonly url: string;
  /** Called for each tap that is handed over to workers. */
  readonly onAuthorize: () => void;
  readonly report: Report;
  readonly closers: Closers;
}

/**
 * The channel that reports changes of a transaction to its waiters, within the process or between the processes of
 * an installation.
 */
export function openWakeups(parts: WakeupParts): LocalWakeups | SharedWakeups {
  const { config, database, url, onAuthorize, report, closers } = parts;
  if (config.TAPWIRE_ROLE === 'all') return new LocalWakeups();
  const wakeups = new SharedWakeups({
    database,
    url,
    onAuthorize: config.TAPWIRE_ROLE === 'worker' ? onAuthorize : undefined,
    onError: report('wake-up channel reported a fault'),
  });
  closers.push(() => wakeups.close());
  return wakeups;
}
