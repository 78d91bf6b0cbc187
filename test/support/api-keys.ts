import type { ApiKeyOwner } from '../../src/auth/api-key.ts';
import { createApiKey } from '../../src/auth/api-key.ts';
import { insertApiKey } from '../../src/store/credentials/api-keys.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';

/** A key with exactly these scopes, as the value of the header `x-api-key`. */
export async function saveApiKey(database: Database, owner: ApiKeyOwner, scopes: readonly string[]): Promise<string> {
  const { text, record } = createApiKey({ mode: 'test', owner, scopes, name: 'test', expiresAtMs: null });
  await insertApiKey(database, record);
  return text.reveal();
}
