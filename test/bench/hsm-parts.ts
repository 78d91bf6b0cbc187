import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SwitchConfig } from '../../src/kits/processor-kit/processor.ts';
import { demoKeysOf } from '../../src/tools/simulator/demo-hsm.ts';
import { freePort } from '../support/free-port.ts';

const LATENCY = '1ms';

/** What the parts of an installation with PINs and MACs need. */
export interface HsmParts {
  readonly config: Partial<SwitchConfig>;
  /** Arguments of `tapwire simulate`. */
  readonly switchOptions: readonly string[];
  /** Of the gateway. */
  readonly settings: Readonly<Record<string, string>>;
}

/** @param hsm `software`, or `simulated` for two devices on the network */
export async function prepareHsm(folder: string, hsm: string, exampleConfig: SwitchConfig): Promise<HsmParts> {
  if (hsm !== 'software' && hsm !== 'simulated') throw new Error(`--hsm ${hsm}: expected software or simulated`);
  const config: Partial<SwitchConfig> = {
    macKeys: [{ number: 1, keyId: 'acquirer/1/mac' }],
    pinKey: { keyId: 'acquirer/1/pin', format: 0, derivation: 'zone' },
  };
  const configFile = join(folder, 'switch.json');
  writeFileSync(configFile, JSON.stringify(config));
  const switchOptions = ['--config', `type-1=${configFile}`];
  const file = join(folder, 'hsm.json');
  if (hsm === 'software') {
    writeFileSync(file, JSON.stringify({ keys: demoKeysOf([{ ...exampleConfig, ...config }]) }));
    return { config, switchOptions, settings: { HSM_KEYS_FILE: file } };
  }
  const devices = [`hsm=${await freePort()}`, `hsm=${await freePort()}`, '--hsm-file', file, '--hsm-latency', LATENCY];
  return { config, switchOptions: [...switchOptions, ...devices], settings: { HSM_MODULE: file } };
}
