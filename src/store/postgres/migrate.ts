import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { type Database, inLongSession } from './open-database.ts';
import { SESSION_LIMITS } from './session-limits.ts';

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));

/** Updates the schema to this version. Any number of starting processes may call it at once. */
export async function migrate(database: Database): Promise<void> {
  await inLongSession(database, SESSION_LIMITS.migration, (client) =>
    runner({
      dbClient: client,
      dir: MIGRATIONS,
      direction: 'up',
      migrationsTable: 'migrations',
      advisoryLockMode: 'wait',
      singleTransaction: true,
      log: () => {},
    }),
  );
}

/** The names of the migrations that `migrate` would run; all of them if it was never run. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ known: boolean }>(`select to_regclass('migrations') is not null as known`);
  const done = rows[0]!.known ? (await database.query<{ name: string }>('select name from migrations')).rows : [];
  const names = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql')).map((file) => file.slice(0, -4));
  return names.filter((name) => !done.some((row) => row.name === name)).sort();
}
