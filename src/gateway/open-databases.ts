import { type Database, openPool } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import type { Closers } from './closers.ts';

/** Besides `DATABASE_CONNECTIONS`: a list or two, and the directory beside them. */
const REPORT_CONNECTIONS = 2;
/** Within the time that one statement of a job takes, another may end a job. */
const LEAST_JOB_CONNECTIONS = 2;
/** The path of a tap has the others. */
const SHARE_OF_JOBS = 1 / 3;
/** In roles `api` and `worker`: the connection that listens. */
const LISTENING_CONNECTIONS = 1;

/**
 * The pools of a process, each for one purpose and with the limits of that purpose. What is slow, or plentiful, in one of them
 * takes no connection from another: ten thousand reversals that an outage left do not keep a tap waiting.
 *
 * taps      what somebody waits for at a till, and whatever else is short
 * jobs      the queues, and what is written for them
 * reports   long reads: lists, figures, the directory; the purge
 */
export type Databases = Readonly<Record<'taps' | 'jobs' | 'reports', Database>>;

export function openDatabases(url: string, connections: number, closers: Closers): Databases {
  const ofJobs = Math.max(LEAST_JOB_CONNECTIONS, Math.floor(connections * SHARE_OF_JOBS));
  const databases = {
    taps: openPool(url, { maxConnections: connections - ofJobs, limits: SESSION_LIMITS.tap }),
    jobs: openPool(url, { maxConnections: ofJobs, limits: SESSION_LIMITS.job }),
    reports: openPool(url, { maxConnections: REPORT_CONNECTIONS, limits: SESSION_LIMITS.report }),
  };
  closers.push(() => Promise.all(Object.values(databases).map((pool) => pool.end())));
  return databases;
}

/** The most that one process opens. */
export function connectionsOfProcess(connections: number): number {
  return connections + REPORT_CONNECTIONS + LISTENING_CONNECTIONS;
}
