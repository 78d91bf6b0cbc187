import type { AddedKey, HsmKeyFile } from '../../hsm-devices/hsm-key-file.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { type NewKey, type Origin, registerKey } from '../../store/switches/hsm-keys.ts';
import { actor } from '../administration.ts';
import { named } from './opened-hsm.ts';

/** A new key and where it is stored. */
export interface NewKeyPlace {
  readonly database: Database;
  readonly key: Omit<NewKey, 'kcv'>;
  readonly file: HsmKeyFile;
}

/**
 * Registers a key after it was added to the file. If that fails, the key is listed as not registered, and can be
 * registered later.
 */
export async function storeNewKey(
  { database, key, file }: NewKeyPlace,
  adding: Promise<AddedKey>,
  origin: Origin,
  by = actor(),
): Promise<void> {
  const { kcv } = await named(key.keyId, adding);
  await registerKey(database, by, { ...key, kcv }, origin);
  console.log(`${key.keyId} is in ${file.path} and registered: check value ${kcv}, due on ${key.dueOn}.`);
}
