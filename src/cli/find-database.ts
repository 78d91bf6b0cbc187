import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../basics/errors.ts';
import { withSecretFiles } from '../observe/secret-files.ts';
import { startEmbeddedPostgres } from '../store/postgres/embedded-postgres.ts';

/** A database that a command may use until `stop`. */
export interface FoundDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * The existing database of this installation, unchanged: that of `--database`, of DATABASE_URL, or the embedded one in
 * the data folder, which is started if it does not run.
 *
 * @throws StartError NO_DATABASE
 */
export async function findDatabase(given: string | undefined): Promise<FoundDatabase> {
  const { DATABASE_URL, TAPWIRE_DATA = '.tapwire' } = withSecretFiles(process.env).variables;
  const url = given ?? DATABASE_URL;
  if (url !== undefined && url !== '') return { url, stop: async () => {} };
  const directory = join(TAPWIRE_DATA, 'postgres');
  if (existsSync(directory)) return startEmbeddedPostgres({ directory });
  throw new StartError(
    'NO_DATABASE',
    `There is no database in ${TAPWIRE_DATA}. Set DATABASE_URL, name one with --database, or run npm start first.`,
  );
}
