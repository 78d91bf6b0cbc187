import { followKeyFile, keyFilePath } from '../hsm-devices/follow-key-file.ts';
import { KeyUseNotes } from '../hsm-devices/key-use-notes.ts';
import { type OpenedHsm, openHsm } from '../hsm-devices/open-hsm.ts';
import type { Log } from '../observe/log.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { noteKeyUses } from '../store/switches/hsm-keys.ts';
import type { Config } from './config.ts';
import type { Closers } from './opening.ts';

const FILE_FAULT = 'key file of the HSM cannot be used, previous keys remain in use';

export interface GatewayHsmParts {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Pick<TransactionDependencies['clock'], 'nowMs'>;
  readonly log: Log;
  readonly closers: Closers;
}

/** The HSM of a gateway: it follows the file of its keys, and the uses of keys are noted. Undefined if none is configured. */
export async function openGatewayHsm(parts: GatewayHsmParts): Promise<OpenedHsm | undefined> {
  const { config, database, clock, log, closers } = parts;
  const { TAPWIRE_ENV: environment, HSM_KEYS_FILE: keysFile, HSM_MODULE: module } = config;
  const hsm = await openHsm({ environment, keysFile, module, log });
  if (hsm === undefined) return undefined;
  closers.push(() => hsm.close?.());
  const path = keyFilePath({ keysFile, module });
  const following = followKeyFile(hsm, path, environment, (error) => log.warn({ error }, FILE_FAULT));
  closers.push(() => following?.stop());
  const notes = new KeyUseNotes({
    store: (keyIds) => noteKeyUses(database, keyIds),
    nowMs: () => clock.nowMs(),
    onError: (error) => log.debug({ error }, 'uses of HSM keys could not be stored'),
  });
  closers.push(() => notes.stop());
  return notes.watch(hsm);
}
