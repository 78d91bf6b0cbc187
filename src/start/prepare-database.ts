import { join } from 'node:path';
import { startEmbeddedPostgres } from '../store/postgres/embedded-postgres.ts';
import { migrate } from '../store/postgres/migrate.ts';
import { type Database, openDatabase } from '../store/postgres/open-database.ts';
import type { Config } from './config.ts';

/** A running database, embedded or not. */
export interface PreparedDatabase {
  readonly url: string;
  readonly database: Database;
  stop(): Promise<void>;
}

/** Connects without a migration. @throws StartError NO_DATABASE, DATABASE_TOO_OLD */
export async function connectDatabase(config: Config): Promise<PreparedDatabase> {
  const embedded = config.DATABASE_URL
    ? undefined
    : await startEmbeddedPostgres({ directory: join(config.TAPWIRE_DATA, 'postgres') });
  const url = config.DATABASE_URL ?? embedded!.url;
  try {
    const database = await openDatabase(url, { maxConnections: config.DATABASE_CONNECTIONS });
    const stop = async () => {
      await database.end();
      await embedded?.stop();
    };
    return { url, database, stop };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** Connects and migrates to the schema of this version. @throws StartError, SCHEMA_TOO_NEW among them */
export async function prepareDatabase(config: Config): Promise<PreparedDatabase> {
  const connected = await connectDatabase(config);
  try {
    await migrate(connected.database);
    return connected;
  } catch (error) {
    await connected.stop();
    throw error;
  }
}
