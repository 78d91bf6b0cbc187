import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { inTransaction } from './group-commit.ts';
import type { Database } from './open-database.ts';

/** Statements of taps queue behind a statement that waits for its lock, so none waits longer. */
const LOCK_MS = 100;
const MAX_TRIES = 10;
const TRY_AGAIN_MS = 200;
/** Behind an older transaction a lock would wait in vain: its reader is a report or a dump. */
const LONG_READ_SECONDS = 2;

/** `postponed`: others held locks for too long; nothing was changed. `needless`: as `change` says. */
export type ChangeResult = 'changed' | 'needless' | 'postponed';

export interface BriefChange {
  /** An advisory lock, by a number and the name of a table: only one process makes such changes at a time. */
  readonly lock: readonly [number, string];
  /** The tables that the change locks. */
  readonly tables: readonly string[];
}

/** Changes tables that taps use, in one transaction whose locks others hardly notice. */
export async function changeBriefly(
  database: Database,
  { lock, tables }: BriefChange,
  change: (client: pg.ClientBase) => Promise<'changed' | 'needless'>,
): Promise<ChangeResult> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (await areReadForLong(database, tables)) return 'postponed';
    try {
      return await inTransaction(database, async (client) => {
        await client.query(`set local lock_timeout = ${LOCK_MS}`);
        await client.query('select pg_advisory_xact_lock($1, $2::regclass::oid::integer)', [...lock]);
        return await change(client);
      });
    } catch (error) {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    }
    await sleep(TRY_AGAIN_MS);
  }
  return 'postponed';
}

async function areReadForLong(database: Database, tables: readonly string[]): Promise<boolean> {
  const { rowCount } = await database.query(
    `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.relation in (select to_regclass(name) from unnest($1::text[]) as name) and l.granted
       and a.xact_start < clock_timestamp() - $2 * interval '1 s' limit 1`,
    [tables, LONG_READ_SECONDS],
  );
  return rowCount !== 0;
}

const LOCK_NOT_AVAILABLE = '55P03';

/** The SQLSTATE of an error of the server, also as the cause that `inTransaction` reports. */
export function sqlStateOf(error: unknown): unknown {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return (cause as { code?: unknown }).code;
}
