import { readConfig } from '../start/config.ts';
import { prepareDatabase } from '../start/open-stores.ts';

/** What `--help` prints. */
export const USAGE =
  'usage: tapwire migrate        migrate the database of DATABASE_URL, or the embedded one, and exit';

/** `tapwire migrate`: for deployments that migrate before they start. */
export async function run(): Promise<number> {
  const prepared = await prepareDatabase(readConfig(process.env));
  await prepared.stop();
  console.log('The database is up to date.');
  return 0;
}
