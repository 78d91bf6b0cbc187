import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import type pg from 'pg';
import { StartError } from '../../basics/errors.ts';
import { loadMigrations, SHORT_LOCK_MS } from './load-migrations.ts';
import { type Database, inLongSession } from './open-database.ts';
import { SESSION_LIMITS } from './session-limits.ts';

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));

/** For a migration that needs a lock which a long report holds: about twenty minutes. */
const MAX_TRIES = 200;
const TRY_AGAIN_MS = 4_000;
const LOOK_AGAIN_MS = 100;
/** lock_not_available, and deadlock_detected. */
const LOCK_CONDITIONS = ['55P03', '40P01'];

export interface MigrationOptions {
  readonly folder?: string;
  readonly tryAgainMs?: number;
}

/**
 * Updates the schema to this version. Any number of starting processes may call it at once.
 *
 * @throws StartError SCHEMA_TOO_NEW if a newer version has changed the schema: this one does not know what it must keep
 */
export async function migrate(
  database: Database,
  { folder = MIGRATIONS, tryAgainMs = TRY_AGAIN_MS }: MigrationOptions = {},
): Promise<void> {
  await inLongSession(database, SESSION_LIMITS.migration, async (client) => {
    await lockMigrations(client);
    const { unknown } = await migrationsOf(client, folder);
    if (unknown.length > 0) throw schemaTooNew(unknown);
    await client.query(`set lock_timeout = ${SHORT_LOCK_MS}`);
    for (let tries = 1; ; tries++) {
      try {
        await run(client, folder);
        return;
      } catch (error) {
        const code = (error as { code?: string }).code;
        if (!LOCK_CONDITIONS.includes(code!) || tries === MAX_TRIES) throw error;
      }
      // Taps that have queued behind it run meanwhile.
      await sleep(tryAgainMs);
    }
  });
}

function run(client: pg.ClientBase, folder: string): Promise<unknown> {
  return runner({
    dbClient: client,
    dir: folder,
    direction: 'up',
    migrationsTable: 'migrations',
    migrationLoaderStrategies: [{ extensions: ['.sql'], loader: loadMigrations }],
    noLock: true,
    singleTransaction: true,
    log: () => {},
  });
}

/**
 * Waits until no other process migrates. A statement that waits for the lock would have a snapshot, and the creation of
 * an index waits for the end of all older snapshots: both would wait for each other. The lock ends with the session.
 */
async function lockMigrations(client: pg.ClientBase): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isOurs: boolean }>('select pg_try_advisory_lock($1) as "isOurs"', [
      PG_MIGRATE_LOCK_ID,
    ]);
    if (rows[0]!.isOurs) return;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The difference between the schema and this version. */
export interface Migrations {
  /** Those that `migrate` would run; all of them if it was never run. */
  readonly pending: readonly string[];
  /** Those that the schema has and this version does not know: a newer version has run them. */
  readonly unknown: readonly string[];
}

export async function migrationsOf(database: Pick<pg.ClientBase, 'query'>, folder = MIGRATIONS): Promise<Migrations> {
  const { rows } = await database.query<{ known: boolean }>(`select to_regclass('migrations') is not null as known`);
  const done = rows[0]!.known ? (await database.query<{ name: string }>('select name from migrations')).rows : [];
  const names = (await readdir(folder)).filter((file) => file.endsWith('.sql')).map((file) => file.slice(0, -4));
  return {
    pending: names.filter((name) => !done.some((row) => row.name === name)).sort(),
    unknown: done.flatMap(({ name }) => (names.includes(name) ? [] : name)).sort(),
  };
}

function schemaTooNew(unknown: readonly string[]): StartError {
  return new StartError(
    'SCHEMA_TOO_NEW',
    `A newer version of Tapwire has changed the database: this version does not know ${unknown.join(', ')}. Start that ` +
      'version or a newer one, or restore a backup of this version.',
  );
}
