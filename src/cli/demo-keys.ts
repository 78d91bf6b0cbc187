import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Processor, SwitchConfig } from '../processor-kit/processor.ts';
import { demoKeysFile } from '../simulator/demo-hsm.ts';

/** The demo switch takes PINs, under a key that both sides know by its id. */
export function demoSwitchConfig({ exampleConfig }: Processor): SwitchConfig {
  return { ...exampleConfig, pinKey: { keyId: 'demo-zone-pin', format: 0, derivation: 'zone' } };
}

/** Where a demo's software HSM has its keys. */
export function demoHsmKeysPath(folder: string): string {
  return join(folder, 'hsm-keys.json');
}

/**
 * Writes the keys of the switch and of the readers for the gateway's HSM (`HSM_KEYS_FILE`), and for a simulated switch in
 * a process of its own what it must be told (`tapwire simulate --config`): `switch.json`.
 */
export function writeDemoKeys(folder: string, config: SwitchConfig): void {
  writeFileSync(demoHsmKeysPath(folder), demoKeysFile([config]), { mode: 0o600 });
  const { macKeys, pinKey } = config;
  writeFileSync(join(folder, 'switch.json'), `${JSON.stringify({ macKeys, pinKey }, null, 2)}\n`);
}
