import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../../basics/errors.ts';
import { type HsmKeysFile, parseHsmKeys } from '../../hsm-devices/open-hsm.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import { demoKeysOf } from '../../tools/simulator/demo-hsm.ts';

/**
 * PIN keys of the demo's switches: two accept PINs under a zone key, the other as the acquirer's own devices would
 * send them.
 */
const PIN_KEYS = {
  'type-1': { keyId: 'demo-zone-pin', format: 0, derivation: 'zone' },
  'type-2': { keyId: 'demo-acquirer-bdk', format: 0, derivation: 'dukpt' },
  'type-1993': { keyId: 'demo-zone-pin-1993', format: 0, derivation: 'zone' },
} as const;

/** Key id in the example configuration of type 2. */
const TYPE_2_MAC = 'type-2-mac';

export type DemoType = keyof typeof PIN_KEYS;
export const DEMO_TYPES = Object.keys(PIN_KEYS) as DemoType[];

/** The example configuration, extended by PIN keys whose ids both gateway and switch know. */
export function demoSwitchConfig({ exampleConfig }: Processor, type: DemoType): SwitchConfig {
  return { ...exampleConfig, pinKey: PIN_KEYS[type] };
}

/** Settings by which the demo's operator grants its acquirer switches on this machine and their keys. */
export function demoSwitchAccess(acquirerId: number): { SWITCH_NETWORKS: string; SWITCH_KEYS: string } {
  const keys = [...Object.values(PIN_KEYS).map(({ keyId }) => keyId), TYPE_2_MAC];
  return {
    SWITCH_NETWORKS: `${acquirerId}=127.0.0.1`,
    SWITCH_KEYS: keys.map((keyId) => `${acquirerId}=${keyId}`).join(),
  };
}

/** The key file of the demo's software HSM. */
export function demoHsmKeysPath(folder: string): string {
  return join(folder, 'hsm-keys.json');
}

/**
 * Writes the keys of switches and readers for the gateway's HSM (`HSM_KEYS_FILE`), and keeps keys that the user has
 * added to the file. For simulated switches in another process it writes their configuration (`tapwire simulate
 * --config`): `type-1.json` and so on.
 *
 * @throws StartError BAD_CONFIG if the existing file is invalid; it is then unchanged
 */
export function writeDemoKeys(folder: string, configs: ReadonlyMap<DemoType, SwitchConfig>): void {
  const path = demoHsmKeysPath(folder);
  const own = demoKeysOf([...configs.values()]);
  const added = keysIn(path).filter(({ keyId }) => !own.some((each) => each.keyId === keyId));
  replaceFile(path, `${JSON.stringify({ keys: [...own, ...added] } satisfies HsmKeysFile, null, 2)}\n`);
  for (const [type, { macKeys, pinKey }] of configs) {
    writeFileSync(join(folder, `${type}.json`), `${JSON.stringify({ macKeys, pinKey }, null, 2)}\n`);
  }
}

function keysIn(path: string): HsmKeysFile['keys'] {
  if (!existsSync(path)) return [];
  const parsed = parseHsmKeys(readFileSync(path, 'utf8'));
  if (parsed?.success) return parsed.data.keys;
  throw new StartError('BAD_CONFIG', `The key file ${path} is invalid. Correct it, or delete it to get a new one.`);
}

/** Replaces the file as a whole, because a start that is killed must not lose keys. */
function replaceFile(path: string, text: string): void {
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, text, { mode: 0o600 });
  renameSync(fresh, path);
}
