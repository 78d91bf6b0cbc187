import { join } from 'node:path';
import { InstallationKeys } from '../card/installation-keys.ts';
import { ReadersInUse } from '../card/open-card-data.ts';
import { followKeyFile, keyFilePath } from '../hsm-devices/hsm-key-file.ts';
import { KeyUseNotes } from '../hsm-devices/key-use-notes.ts';
import { type OpenedHsm, openHsm } from '../hsm-devices/open-hsm.ts';
import type { ReaderFormats } from '../kits/reader-kit/load-readers.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import type { ReaderRules } from '../payments/settings/check-settings.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { noteKeyUses } from '../store/switches/hsm-keys.ts';
import { HsmCalls } from '../switching/hsm/hsm-calls.ts';
import { KeyOwnership, SwitchAccess } from '../switching/switches/access/switch-access.ts';
import type { Config } from './config.ts';
import type { Stores } from './open-stores.ts';
import type { Opening } from './opening.ts';

/** The operator's grants to acquirers for their switches; identical in every process of an installation. */
export function switchAccessOf(config: Config): SwitchAccess {
  return new SwitchAccess({
    networks: config.SWITCH_NETWORKS,
    listeners: config.SWITCH_LISTENERS,
    keys: keyOwnershipOf(config),
    tlsFilesDirectory: config.TLS_FILES_DIR ?? join(config.TAPWIRE_DATA, 'tls'),
  });
}

/** The owners of the HSM's keys. */
function keyOwnershipOf({ SWITCH_KEYS: grants, READER_PIN_KEY: readerKeyId }: Config): KeyOwnership {
  return new KeyOwnership({ grants, readerKeyId });
}

/** What opens the card data of readers. */
export interface CardReaders {
  readonly keys: InstallationKeys;
  readonly readers: ReadersInUse;
}

export function openCardReaders(
  { config, log }: Opening,
  {
    formats,
    stores,
    clock,
    hsm,
  }: {
    readonly formats: ReaderFormats;
    readonly stores: Pick<Stores, 'keys'>;
    readonly clock: Clock;
    readonly hsm: OpenedHsm | undefined;
  },
): CardReaders {
  const { keys } = stores;
  const { verifyDukptMac, decipherDukpt } = hsm ?? {};
  const readerHsm =
    verifyDukptMac && decipherDukpt
      ? {
          hsm: { verifyDukptMac: verifyDukptMac.bind(hsm), decipherDukpt: decipherDukpt.bind(hsm) },
          calls: new HsmCalls({ purpose: 'card data', clock, log }),
        }
      : undefined;
  return {
    keys: new InstallationKeys({ keys, nowMs: Date.now, readerHsm }),
    readers: new ReadersInUse(readerRulesOf(config, formats)),
  };
}

/** Which formats and keys terminal profiles may name. */
export function readerRulesOf(config: Config, formats: ReaderFormats): ReaderRules {
  const ownership = keyOwnershipOf(config);
  return { formats, mayUse: (acquirerId, keyId) => ownership.mayUse(acquirerId, keyId) };
}

const FILE_FAULT = 'key file of the HSM cannot be used, previous keys remain in use';

/** The HSM of a gateway: it follows the file of its keys, and the uses of keys are noted. Undefined if none is configured. */
export async function openGatewayHsm(
  { config, log, closers }: Opening,
  database: Database,
  clock: Pick<Clock, 'nowMs'>,
): Promise<OpenedHsm | undefined> {
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
