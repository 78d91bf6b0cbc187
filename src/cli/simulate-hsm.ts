import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { StartError } from '../basics/errors.ts';
import { DEMO_READER_KEY, demoKey } from '../codecs/crypto/demo-key.ts';
import type { SwitchConfig } from '../kits/processor-kit/processor.ts';
import { demoKeys } from '../tools/simulator/demo-hsm.ts';
import { type DemoDevices, demoLmkKeys, startDemoDevices } from '../tools/simulator/hsm/simulated-payshield.ts';
import type { LmkForm } from '../tools/simulator/hsm/test-lmk.ts';
import { readText, text } from './arguments.ts';

export const HSM_USAGE = `  --hsm-file FILE        write the configuration of the simulated devices (hsm=PORT) for HSM_MODULE, FILE ends in .json
  --hsm-lmk FORM         variant | keyBlock: how the devices protect keys (variant)
  --hsm-latency TIME     how long a device takes for a command, 1ms (0ms)
  --hsm-cert FILE  --hsm-key FILE
                         PEM files: the devices use TLS`;

export const HSM_FLAGS = {
  'hsm-file': text,
  'hsm-lmk': { ...text, default: 'variant' },
  'hsm-latency': { ...text, default: '0ms' },
  'hsm-cert': text,
  'hsm-key': text,
} as const;

/** The simulated payShield devices of the command line. */
export interface SimulatedHsmOptions {
  readonly ports: readonly number[];
  readonly file: string | undefined;
  readonly lmkForm: LmkForm;
  readonly latencyMs: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly certFile: string } | undefined;
}

type HsmValues = Readonly<Partial<Record<keyof typeof HSM_FLAGS, string>>>;

/** @throws StartError BAD_CONFIG naming the invalid argument */
export function readHsmOptions(ports: readonly number[], values: HsmValues): SimulatedHsmOptions {
  const latencyMs = latencyOf(values['hsm-latency'] ?? '0ms');
  const { 'hsm-file': file, 'hsm-lmk': form, 'hsm-cert': certFile, 'hsm-key': keyFile } = values;
  if (form !== 'variant' && form !== 'keyBlock') {
    throw new StartError('BAD_CONFIG', `--hsm-lmk ${form}: expected variant or keyBlock`);
  }
  if (file !== undefined && !file.endsWith('.json')) {
    throw new StartError('BAD_CONFIG', `--hsm-file ${file}: the name must end in .json`);
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new StartError('BAD_CONFIG', '--hsm-cert and --hsm-key are required together');
  }
  const isGiven = file !== undefined || certFile !== undefined;
  if (isGiven && ports.length === 0) throw new StartError('BAD_CONFIG', '--hsm-...: no hsm=PORT is simulated');
  const tls =
    certFile === undefined
      ? undefined
      : { cert: readText('--hsm-cert', certFile), key: readText('--hsm-key', keyFile), certFile };
  return { ports, file, lmkForm: form, latencyMs, tls };
}

function latencyOf(time: string): number {
  const [, digits] = /^(\d{1,5})ms$/.exec(time) ?? [];
  if (digits === undefined) throw new StartError('BAD_CONFIG', `--hsm-latency ${time}: expected a time such as 1ms`);
  return Number(digits);
}

/**
 * Starts the devices and writes their configuration with the demo keys of these switches and of demo readers.
 *
 * @throws SimulatorError PORT_TAKEN; StartError BAD_CONFIG if the file cannot be written
 */
export async function startSimulatedHsm(
  { ports, file, lmkForm, latencyMs, tls }: SimulatedHsmOptions,
  host: string,
  configs: readonly SwitchConfig[],
): Promise<DemoDevices> {
  const devices = await startDemoDevices(ports, { host, lmkForm, latencyMs, tls });
  for (const port of devices.ports) console.log(`payShield device (test LMK, for simulation only) on ${host}:${port}`);
  if (file === undefined) return devices;
  const keys = demoLmkKeys([...demoKeys(configs), demoKey(DEMO_READER_KEY, 'dukptBase')], lmkForm);
  const content = {
    kind: 'payshield',
    lmk: { form: lmkForm },
    devices: devices.ports.map((port, at) => {
      return { name: `simulated-${at + 1}`, host, port, ...(tls && { tls: { caFile: resolve(tls.certFile) } }) };
    }),
    keys,
  };
  try {
    writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
  } catch (cause) {
    await devices.close();
    throw new StartError('BAD_CONFIG', `--hsm-file ${file}: ${describeSystemError(cause)}`, { cause });
  }
  return devices;
}
