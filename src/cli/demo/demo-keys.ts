import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Processor, SwitchConfig } from '../../processor-kit/processor.ts';
import { demoKeysFile } from '../../simulator/demo-hsm.ts';

/** How the demo's switches take PINs: the one under a zone key, the other as the acquirer's own devices would send them. */
const PIN_KEYS = {
  'type-1': { keyId: 'demo-zone-pin', format: 0, derivation: 'zone' },
  'type-2': { keyId: 'demo-acquirer-bdk', format: 0, derivation: 'dukpt' },
} as const;

/** Of the example configuration of type 2. */
const TYPE_2_MAC = 'type-2-mac';

export type DemoType = keyof typeof PIN_KEYS;
export const DEMO_TYPES = Object.keys(PIN_KEYS) as DemoType[];

/** The demo's switches take PINs, under keys that both sides know by their ids. */
export function demoSwitchConfig({ exampleConfig }: Processor, type: DemoType): SwitchConfig {
  return { ...exampleConfig, pinKey: PIN_KEYS[type] };
}

/** What the operator of the demo gives to its acquirer: switches on this machine, and their keys. */
export function demoSwitchAccess(acquirerId: number): { SWITCH_NETWORKS: string; SWITCH_KEYS: string } {
  const keys = [...Object.values(PIN_KEYS).map(({ keyId }) => keyId), TYPE_2_MAC];
  return {
    SWITCH_NETWORKS: `${acquirerId}=127.0.0.1`,
    SWITCH_KEYS: keys.map((keyId) => `${acquirerId}=${keyId}`).join(),
  };
}

/** Where a demo's software HSM has its keys. */
export function demoHsmKeysPath(folder: string): string {
  return join(folder, 'hsm-keys.json');
}

/**
 * Writes the keys of the switches and of the readers for the gateway's HSM (`HSM_KEYS_FILE`), and for simulated switches
 * in a process of their own what they must be told (`tapwire simulate --config`): `type-1.json`, `type-2.json`.
 */
export function writeDemoKeys(folder: string, configs: ReadonlyMap<DemoType, SwitchConfig>): void {
  writeFileSync(demoHsmKeysPath(folder), demoKeysFile([...configs.values()]), { mode: 0o600 });
  for (const [type, { macKeys, pinKey }] of configs) {
    writeFileSync(join(folder, `${type}.json`), `${JSON.stringify({ macKeys, pinKey }, null, 2)}\n`);
  }
}
