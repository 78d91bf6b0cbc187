import type { Wakeups } from '../payments/ports/process-ports.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { LocalWakeups, SharedWakeups } from '../store/postgres/wakeups.ts';
import type { Config } from './config.ts';
import type { Closers, Report } from './opening.ts';

export interface WakeupParts {
  readonly config: Config;
  readonly sharesSwitches: boolean;
  readonly database: Database;
  /** URL for the connection that receives notifications. */
  readonly url: string;
  /** Called for each tap that is handed over to workers. */
  readonly onAuthorize: () => void;
  readonly report: Report;
  readonly closers: Closers;
}

/**
 * For taps and for jobs: the channel that reports changes of a transaction to its waiters, within the process or between the processes of
 * an installation.
 */
export function openWakeups(parts: WakeupParts): { readonly ofTaps: Wakeups; readonly ofJobs: Wakeups } {
  const { config, sharesSwitches, database, url, onAuthorize, report, closers } = parts;
  const isAlone = config.TAPWIRE_ROLE === 'all' && !sharesSwitches;
  if (isAlone) {
    const local = new LocalWakeups();
    return { ofTaps: local, ofJobs: local };
  }
  const wakeups = new SharedWakeups({
    database,
    url,
    onAuthorize: sharesSwitches ? onAuthorize : undefined,
    onError: report('wake-up channel reported a fault'),
  });
  closers.push(() => wakeups.close());
  return { ofTaps: config.TAPWIRE_ROLE === 'all' ? wakeups.ofOwnTaps : wakeups, ofJobs: wakeups };
}
