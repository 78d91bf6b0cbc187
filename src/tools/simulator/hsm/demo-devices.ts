import { BlockKey, setOddParity } from '../../../codecs/crypto/block-key.ts';
import type { KeyUsage } from '../../../codecs/crypto/hsm.ts';
import { kcv } from '../../../codecs/crypto/mac.ts';
import type { SoftHsmKey } from '../../../codecs/crypto/soft-hsm.ts';
import type { PayshieldFile } from '../../../hsm-devices/payshield/payshield-file.ts';
import { SimulatedPayshield, type SimulatedPayshieldOptions } from './simulated-payshield.ts';
import { KEY_USES, type LmkForm, TestLmk } from './test-lmk.ts';

const USES: Readonly<Record<KeyUsage, keyof typeof KEY_USES>> = {
  keyEncryption: 'ZMK',
  keyBlockProtection: 'ZMK',
  pin: 'ZPK',
  mac: 'ZAK',
  dukptBase: 'BDK',
};

export interface DemoDevices {
  readonly ports: readonly number[];
  close(): Promise<void>;
}

/** Starts a device on each port; all have the same LMK. @throws SimulatorError PORT_TAKEN */
export async function startDemoDevices(
  ports: readonly number[],
  options: Omit<SimulatedPayshieldOptions, 'port'>,
): Promise<DemoDevices> {
  const started: { device: SimulatedPayshield; port: number }[] = [];
  const close = async () => void (await Promise.all(started.map(({ device }) => device.close())));
  try {
    for (const port of ports) started.push(await SimulatedPayshield.start({ ...options, port }));
  } catch (error) {
    await close();
    throw error;
  }
  return { ports: started.map(({ port }) => port), close };
}

/**
 * The keys of a gateway's configuration file, under the test LMK. Under a variant LMK there are no AES keys.
 *
 * @param keys known to everybody
 */
export function demoLmkKeys(keys: readonly SoftHsmKey[], form: LmkForm): PayshieldFile['keys'] {
  const lmk = new TestLmk(form);
  return keys
    .filter(({ algorithm }) => form === 'keyBlock' || algorithm === 'tdes')
    .map(({ keyId, usage, algorithm, bytes }) => {
      const clear = Uint8Array.from(bytes.reveal());
      if (algorithm === 'tdes') setOddParity(clear);
      const key = new BlockKey(algorithm, clear);
      const blockUsage = usage === 'mac' && key.lengthBytes === 8 ? 'M1' : undefined;
      return {
        keyId,
        usage,
        algorithm,
        lengthBytes: key.lengthBytes as 8 | 16 | 24 | 32,
        key: lmk.protect(key, KEY_USES[USES[usage]], blockUsage),
        kcv: kcv(key),
      };
    });
}
