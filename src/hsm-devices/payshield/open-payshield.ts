import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { pointedFaults } from '../../basics/errors/issue-texts.ts';
import { StartError } from '../../basics/errors.ts';
import type { SwitchTls } from '../../switching/connection/switch-socket.ts';
import { checkPem, readPem } from '../../switching/switches/transport-options.ts';
import { Device, type DeviceLog } from './device/device.ts';
import { DeviceGroup } from './device/device-group.ts';
import { isKeyUnderLmk, KEY_TYPES, type KeyType, keyLengthBytes } from './host-command.ts';
import { type LmkKey, LmkKeyStore } from './import-lmk-key.ts';
import { PayshieldHsm } from './payshield-hsm.ts';

const MAX_KEYS = 1_000;
const MAX_DEVICES = 16;
const MAX_CONNECTIONS = 64;
/** The longest header that a device can be configured with. */
const MAX_HEADER = 255;
/** A switch gives its HSM 3 seconds (src/switching/hsm/hsm-calls.ts); longer is of no use. */
const MAX_TIME_LIMIT_MS = 3_000;

const file = z.string().min(1).max(4_096);

const device = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  host: z.string().min(1).max(255),
  port: z.int().min(1).max(65_535).default(1_500),
  connections: z.int().min(1).max(MAX_CONNECTIONS).default(2),
  /** PEM files, relative to this file. */
  tls: z
    .strictObject({
      serverName: z.string().min(1).max(255).optional(),
      caFile: file.optional(),
      certFile: file.optional(),
      keyFile: file.optional(),
    })
    .optional(),
});

const lmkKey = z.strictObject({
  keyId: z.string().min(1).max(64),
  usage: z.enum(['keyEncryption', 'keyBlockProtection', 'pin', 'mac', 'dukptBase']),
  /** Under a variant LMK, the key type that the key was stored as. */
  type: z.enum(['ZMK', 'ZPK', 'TPK', 'ZAK', 'TAK', 'BDK']).optional(),
  algorithm: z.enum(['tdes', 'aes']).default('tdes'),
  lengthBytes: z.union([z.literal(8), z.literal(16), z.literal(24), z.literal(32)]).default(16),
  key: z.string().max(9_999),
  kcv: z.string().regex(/^[0-9A-F]{6}$/),
});

/** The configuration of payShield devices: the file that HSM_MODULE names. It has no clear keys. */
const payshieldFile = z
  .strictObject({
    kind: z.literal('payshield'),
    lmk: z.strictObject({
      form: z.enum(['variant', 'keyBlock']),
      id: z
        .string()
        .regex(/^\d{2}$/)
        .optional(),
      checkValue: z
        .string()
        .regex(/^[0-9A-F]{6,16}$/)
        .optional(),
    }),
    headerLength: z.int().min(0).max(MAX_HEADER).default(4),
    timeLimitMs: z.int().min(50).max(MAX_TIME_LIMIT_MS).default(2_000),
    ksnDescriptor: z
      .string()
      .regex(/^[0-9A-F]{3}$/)
      .default('A05'),
    devices: z.array(device).min(1).max(MAX_DEVICES),
    keys: z.array(lmkKey).max(MAX_KEYS),
  })
  .superRefine(({ lmk, devices, keys }, context) => {
    const fault = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (new Set(devices.map(({ name }) => name)).size < devices.length) fault(['devices'], 'has two equal names');
    if (new Set(keys.map(({ keyId }) => keyId)).size < keys.length) fault(['keys'], 'has two equal ids');
    for (const [at, { key, usage, type }] of keys.entries()) {
      if (!isKeyUnderLmk(lmk, key)) fault(['keys', at, 'key'], `is not a key under a ${lmk.form} LMK`);
      const types: readonly KeyType[] = KEY_TYPES[usage];
      if (type !== undefined && !types.includes(type)) fault(['keys', at, 'type'], `is not a type for ${usage}`);
    }
    for (const [at, { tls }] of devices.entries()) {
      const isWhole = (tls?.certFile === undefined) === (tls?.keyFile === undefined);
      if (!isWhole) fault(['devices', at, 'tls'], 'certFile and keyFile are required together');
    }
  });

export type PayshieldFile = z.infer<typeof payshieldFile>;

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

/** @throws StartError BAD_CONFIG naming the place in the file */
export function parsePayshieldFile(json: unknown, path: string): PayshieldFile {
  const parsed = payshieldFile.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new StartError('BAD_CONFIG', `the HSM file ${path} is wrong: ${pointedFaults(parsed.error).join(', ')}`);
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
