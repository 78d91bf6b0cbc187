import { readFileSync } from 'node:fs';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { type ProcessorTime, processorTime } from './processor-time.ts';

/** What the parts of an installation have used so far. */
export interface Usage {
  /** Seconds of processor time, by part. */
  readonly processorTime: ProcessorTime;
  /** Statements that Postgres has executed; `begin` and `commit` count. Undefined if it does not count them. */
  readonly statements: number | undefined;
  readonly commits: number;
  readonly walBytes: number;
  /** Part of `walBytes`: pages that were logged whole, because of their first change since a checkpoint. */
  readonly fullPages: number;
  /** What the gateway's processes wrote to sockets and files, and in how many system calls. */
  readonly writtenBytes: number;
  readonly writes: number;
}

/** The cost of one tap, in the units of {@link Usage} and microseconds. */
export interface TapCost {
  readonly microseconds: ProcessorTime;
  readonly statements: number | undefined;
  readonly commits: number;
  readonly walBytes: number;
  readonly fullPages: number;
  readonly writtenBytes: number;
  readonly writes: number;
}

/** @param pids of the parts, one of them `gateway` */
export async function readUsage(database: Database, pids: Readonly<Record<string, number>>): Promise<Usage> {
  const { rows } = await database.query<{ walBytes: number; fullPages: number; commits: number }>(
    `select wal_bytes::float8 as "walBytes", wal_fpi as "fullPages",
       (select sum(xact_commit) from pg_stat_database)::float8 as commits from pg_stat_wal`,
  );
  const written = [pids.gateway!, ...childrenOf(pids.gateway!)].map(writtenBy);
  return {
    processorTime: processorTime(pids),
    statements: await countStatements(database),
    ...rows[0]!,
    writtenBytes: written.reduce((sum, { bytes }) => sum + bytes, 0),
    writes: written.reduce((sum, { calls }) => sum + calls, 0),
  };
}

/** The cost of each tap between two readings. */
export function costPerTap(before: Usage, after: Usage, taps: number): TapCost {
  const per = (read: (usage: Usage) => number) => (read(after) - read(before)) / taps;
  const microseconds = Object.fromEntries(
    Object.entries(after.processorTime).map(([part, seconds]) => {
      return [part, ((seconds - before.processorTime[part]!) * 1e6) / taps];
    }),
  );
  return {
    microseconds,
    statements: before.statements === undefined ? undefined : per(({ statements }) => statements!),
    commits: per(({ commits }) => commits),
    walBytes: per(({ walBytes }) => walBytes),
    fullPages: per(({ fullPages }) => fullPages),
    writtenBytes: per(({ writtenBytes }) => writtenBytes),
    writes: per(({ writes }) => writes),
  };
}

/** Lets Postgres count statements from now on. The setting takes effect when the server starts. */
export async function preloadStatementCounter(database: Database): Promise<void> {
  await database.query(`alter system set shared_preload_libraries = 'pg_stat_statements'`);
}

export async function startStatementCounter(database: Database): Promise<void> {
  await database.query('create extension if not exists pg_stat_statements');
}

async function countStatements(database: Database): Promise<number | undefined> {
  const { rows: known } = await database.query(`select from pg_extension where extname = 'pg_stat_statements'`);
  if (known.length === 0) return undefined;
  const { rows } = await database.query<{ calls: number }>(
    'select sum(calls)::float8 as calls from pg_stat_statements',
  );
  return rows[0]!.calls;
}

/** The processes of a group, which their primary has started. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** From /proc/PID/io, which counts the bytes and calls of write(2) and its relatives; 0 without it. */
function writtenBy(pid: number): { readonly bytes: number; readonly calls: number } {
  try {
    const text = readFileSync(`/proc/${pid}/io`, 'latin1');
    const read = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1] ?? 0);
    return { bytes: read('wchar'), calls: read('syscw') };
  } catch {
    return { bytes: 0, calls: 0 };
  }
}
