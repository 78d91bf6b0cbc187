import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { SCOPE_NAMES } from '#schemas/scopes';
import { createApiKey } from '../auth/api-key.ts';
import { StartError } from '../basics/errors.ts';
import { createKeyRing } from '../card/change-key-ring.ts';
import { type Config, readConfig } from '../start/config.ts';
import { keyRingPath } from '../start/open-key-ring.ts';
import { hasOperatorKey, insertApiKey } from '../store/credentials/api-keys.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../store/settings/admin-commit.ts';
import { actor, onDatabase } from './administration.ts';
import { withToken } from './keys.ts';
import { flag } from './output.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire init [--another-key] [--token]        create the schema, the keys and the operator's API key, which is printed once

  --another-key  create another key, if the operator already has one
  --token        create the keys of the installation in the PKCS #11 token (PKCS11_MODULE)`;

/**
 * All scopes: no key can grant a scope that it does not have, and the operator creates the first keys of acquirers.
 * An operator key reads no transactions in spite of its scopes, because transactions belong to acquirers.
 */
const OPERATOR_SCOPES = SCOPE_NAMES;

const ANOTHER_KEY = 'The operator already has a key. To add another one, run tapwire init --another-key.';

/**
 * `tapwire init [--another-key]`: initializes a database. It creates the schema, the keys of the installation if
 * they are missing, and the first key of its operator. That key is printed once, alone on standard output, and is
 * not stored.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { 'another-key': flag, token: flag } });
  const config = readConfig(process.env);
  return onDatabase(async (database) => {
    const isFirst = !(await hasOperatorKey(database));
    if (!isFirst && !values['another-key']) throw new StartError('BAD_CONFIG', ANOTHER_KEY);
    // Only at the first start. New keys beside a database with sealed cards could not open those cards.
    if (isFirst) await makeKeys(config, values.token);
    console.error('The operator key, shown this once (header x-api-key):');
    console.log(await makeOperatorKey(database, config));
    return 0;
  });
}

async function makeKeys(config: Config, isInToken: boolean | undefined): Promise<void> {
  const path = keyRingPath(config);
  mkdirSync(dirname(path), { recursive: true });
  const isNew = await withToken(config, isInToken, (token) => createKeyRing(path, token));
  console.error(
    isNew
      ? `The installation's keys are in ${path}. Keep a copy.`
      : `The installation's keys in ${path} are unchanged.`,
  );
}

async function makeOperatorKey(database: Database, { TAPWIRE_ENV }: Config): Promise<string> {
  const { text, record } = createApiKey({
    mode: TAPWIRE_ENV === 'prod' ? 'live' : 'test',
    owner: 'operator',
    scopes: OPERATOR_SCOPES,
    name: 'operator',
    expiresAtMs: null,
  });
  await inAdminCommit(database, INSTALLATION, async (client) => {
    await insertApiKey(client, record);
    const { id, mode, name, scopes } = record;
    const after = { id, mode, name, scopes };
    const change = { acquirerId: INSTALLATION, actor: actor() };
    await recordChange(client, change, { action: 'add', kind: 'api key', id, before: null, after });
  });
  return text.reveal();
}
