import { join } from 'node:path';
import type { Config } from '../config.ts';
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts';
import { migrate } from '../store/migrate.ts';
import { type Database, openDatabase } from '../store/open-database.ts';

/** A database that is up and migrated, embedded or not. */
export interface PreparedDatabase {
  readonly url: string;
  readonly database: Database;
  stop(): Promise<void>;
}

/** @throws StartError NO_DATABASE, DATABASE_TOO_OLD */
export async function prepareDatabase(config: Config): Promise<PreparedDatabase> {
  const embedded = config.DATABASE_URL
    ? undefined
    : await startEmbeddedPostgres({ directory: join(config.TAPWIRE_DATA, 'postgres') });
  const url = config.DATABASE_URL ?? embedded!.url;
  try {
    const database = await openDatabase(url, { maxConnections: config.DATABASE_CONNECTIONS });
    await migrate(database);
    return {
      url,
      database,
      stop: async () => {
        await database.end();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}
