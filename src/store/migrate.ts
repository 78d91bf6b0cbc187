import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import type { Database } from './open-database.ts';

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));

/** Brings the schema to this version's. Safe to call from any number of starting processes at once. */
export async function migrate(database: Database): Promise<void> {
  const client = await database.connect();
  try {
    await runner({
      dbClient: client,
      dir: MIGRATIONS,
      direction: 'up',
      migrationsTable: 'migrations',
      advisoryLockMode: 'wait',
      singleTransaction: true,
      log: () => {},
    });
  } finally {
    client.release();
  }
}
