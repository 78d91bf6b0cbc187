import { join } from 'node:path';
import { KeyOwnership } from '../switching/switches/access/key-ownership.ts';
import { SwitchAccess } from '../switching/switches/access/switch-access.ts';
import type { Config } from './config.ts';

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
export function keyOwnershipOf({ SWITCH_KEYS: grants, READER_PIN_KEY: readerKeyId }: Config): KeyOwnership {
  return new KeyOwnership({ grants, readerKeyId });
}
