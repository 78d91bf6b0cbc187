import { dirname, resolve } from 'node:path';
import { StartError } from '../../basics/errors.ts';
import { checkPem, readPem } from '../../switching/connection/pem-files.ts';
import type { SwitchTls } from '../../switching/connection/switch-socket.ts';
import { Device, type DeviceLog } from './device/device.ts';
import { DeviceGroup } from './device/device-group.ts';
import { KEY_TYPES, keyLengthBytes } from './key-field.ts';
import { type LmkKey, LmkKeyStore } from './lmk-key-store.ts';
import { type PayshieldFile, payshieldFile } from './payshield-file.ts';
import { PayshieldHsm } from './payshield-hsm.ts';

const FAULTS_NAMED = 5;

/**
 * Opens the devices of a configuration. It waits until each is ready or has failed, at most for the time limit of a call. A
 * device that is unavailable now is used when it becomes available.
 *
 * @param json the parsed content of the file
 * @param path of the file; TLS files are relative to its folder
 * @throws StartError BAD_CONFIG naming the place in the file, never a value
 */
export async function openPayshield(json: unknown, path: string, log: DeviceLog): Promise<PayshieldHsm> {
  const { lmk, headerLength, timeLimitMs, ksnDescriptor, devices, keys } = parsePayshieldFile(json, path);
  const transports = await Promise.all(devices.map((device) => readTls(device, path)));
  const group = new DeviceGroup(
    devices.map(({ name, host, port, connections }, at) => {
      const address = { host, port };
      return new Device({
        name,
        address,
        connections,
        headerLength,
        tls: transports[at],
        expectedLmk: lmk.checkValue,
        log,
      });
    }),
    timeLimitMs,
  );
  await group.start();
  const store = new LmkKeyStore();
  store.replaceFiled(lmkKeysOf(keys));
  return new PayshieldHsm(group, store, { lmk, ksnDescriptor });
}

/** @throws StartError BAD_CONFIG naming the place in the file, never a value */
export function parsePayshieldFile(json: unknown, path: string): PayshieldFile {
  const parsed = payshieldFile.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `/${issue.path.join('/')} ${issue.message}`);
  throw new StartError('BAD_CONFIG', `the HSM file ${path} is wrong: ${faults.slice(0, FAULTS_NAMED).join(', ')}`);
}

/** The keys of the file as the devices use them. */
export function lmkKeysOf(keys: PayshieldFile['keys']): LmkKey[] {
  return keys.map(({ type, lengthBytes, ...key }) => ({
    ...key,
    type: type ?? KEY_TYPES[key.usage][0],
    lengthBytes: keyLengthBytes(key.key) ?? lengthBytes,
  }));
}

async function readTls(
  { name, tls: files }: PayshieldFile['devices'][number],
  path: string,
): Promise<SwitchTls | undefined> {
  if (files === undefined) return undefined;
  const read = async (file: string | undefined): Promise<string | undefined> => {
    if (file === undefined) return undefined;
    const pemPath = resolve(dirname(path), file);
    try {
      return await readPem(pemPath);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new StartError('BAD_CONFIG', `HSM device ${name}: ${pemPath} cannot be read (${code})`, { cause });
    }
  };
  const pem = { ca: await read(files.caFile), cert: await read(files.certFile), key: await read(files.keyFile) };
  checkPem(pem, 'BAD_CONFIG', `HSM device ${name}`);
  return { serverName: files.serverName, ...pem };
}
