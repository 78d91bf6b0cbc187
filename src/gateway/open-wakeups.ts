import type { Config } from '../config.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { LocalWakeups, SharedWakeups } from '../store/postgres/wakeups.ts';
import type { Closers } from './closers.ts';
import type { Report } from './open-stores.ts';

export interface WakeupParts {
  readonly config: Config;
  readonly database: Database;
  /** For a connection that listens. */
  readonly url: string;
  /** Told of each tap that is handed over to workers. */
  readonly onAuthorize: () => void;
  readonly report: Report;
  readonly closers: Closers;
}

/** How whoever waits for a transaction hears that it moved: within the process, or between those of an installation. */
export function openWakeups(parts: WakeupParts): LocalWakeups | SharedWakeups {
  const { config, database, url, onAuthorize, report, closers } = parts;
  if (config.TAPWIRE_ROLE === 'all') return new LocalWakeups();
  const wakeups = new SharedWakeups({
    database,
    url,
    onAuthorize: config.TAPWIRE_ROLE === 'worker' ? onAuthorize : undefined,
    onError: report('the wake-up channel reports a fault'),
  });
  closers.push(() => wakeups.close());
  return wakeups;
}
