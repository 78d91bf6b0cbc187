import { type Database, openPool } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import type { Closers } from './opening.ts';

/** Connections besides `DATABASE_CONNECTIONS`: for a list or two. */
const REPORT_CONNECTIONS = 2;
/** For the configuration: what an acquirer has revoked must be known in seconds, also while lists take long. */
const DIRECTORY_CONNECTIONS = 1;
/** Masked messages are written by one COPY at a time. */
const MESSAGE_CONNECTIONS = 1;
/** While one statement of a job runs, another job can complete. */
const LEAST_JOB_CONNECTIONS = 2;
/** The remaining connections serve taps. */
const SHARE_OF_JOBS = 1 / 3;
/**
 * Half of those for taps: new taps, their outcomes, responses, reversals and PIN attempts each have one commit at a time,
 * and the first three have one nearly always.
 */
const SHARE_OF_COMMITS = 1 / 2;
/** In roles `api` and `worker`: the connection that receives notifications. */
const LISTENING_CONNECTIONS = 1;

/**
 * The connection pools of a process. Each has one purpose and the limits of that purpose. Slow or numerous work in
 * one pool takes no connection from another: ten thousand reversals after an outage do not delay a tap.
 *
 * - commits: the statuses of taps, in group commits
 * - taps: all other work that a customer waits for, and short work
 * - jobs: the queues and what jobs write
 * - messages: the masked messages of taps, by COPY
 * - directory: the configuration of all tenants
 * - reports: long reads (lists, figures) and the purge
 */
export type Databases = Readonly<Record<'commits' | 'taps' | 'jobs' | 'messages' | 'directory' | 'reports', Database>>;

export function openDatabases(url: string, connections: number, closers: Closers): Databases {
  const ofJobs = Math.max(LEAST_JOB_CONNECTIONS, Math.floor(connections * SHARE_OF_JOBS));
  const ofCommits = Math.floor((connections - ofJobs) * SHARE_OF_COMMITS);
  const ofTaps = connections - ofJobs - ofCommits;
  const databases = {
    commits: openPool(url, { maxConnections: ofCommits, limits: SESSION_LIMITS.tap, runsBatches: true }),
    taps: openPool(url, { maxConnections: ofTaps, limits: SESSION_LIMITS.tap }),
    jobs: openPool(url, { maxConnections: ofJobs, limits: SESSION_LIMITS.job }),
    messages: openPool(url, { maxConnections: MESSAGE_CONNECTIONS, limits: SESSION_LIMITS.job, runsCopy: true }),
    directory: openPool(url, { maxConnections: DIRECTORY_CONNECTIONS, limits: SESSION_LIMITS.report }),
    reports: openPool(url, { maxConnections: REPORT_CONNECTIONS, limits: SESSION_LIMITS.report }),
  };
  closers.push(() => Promise.all(Object.values(databases).map((pool) => pool.end())));
  return databases;
}

/** In a cell: the session with the locks for connections to switches (store/cells/line-locks.ts). */
const LOCKING_CONNECTIONS = 1;

/** The most connections that one process opens. */
export function connectionsOfProcess(connections: number, isInCell: boolean): number {
  const others = MESSAGE_CONNECTIONS + DIRECTORY_CONNECTIONS + REPORT_CONNECTIONS + LISTENING_CONNECTIONS;
  return connections + others + (isInCell ? LOCKING_CONNECTIONS : 0);
}
