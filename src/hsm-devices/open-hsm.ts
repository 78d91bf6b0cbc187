import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { CryptoError, StartError } from '../basics/errors.ts';
import { requirePrivateFile } from '../basics/files/change-file.ts';
import { parseJson } from '../basics/parse-json.ts';
import { fromHex } from '../codecs/bytes/hex.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import type { CardDataHsm, Hsm } from '../codecs/crypto/hsm.ts';
import { SoftHsm, type SoftHsmKey } from '../codecs/crypto/soft-hsm.ts';
import type { HsmDevices } from '../switching/hsm/hsm-calls.ts';
import { openAws } from './aws/aws-hsm.ts';
import type { DeviceLog } from './payshield/device/device.ts';
import { openPayshield } from './payshield/open-payshield.ts';

/** An installation with a thousand keys and a switch for each; a person would not write more into a file. */
const MAX_KEYS = 1_000;
const MAX_FILE_CHARS = 1_048_576;

/**
 * Keys of a software HSM: transport keys, MAC keys, PIN keys and base derivation keys of a dev or qa installation.
 */
const keysFile = z.strictObject({
  keys: z
    .array(
      z.strictObject({
        keyId: z.string().min(1).max(64),
        usage: z.enum(['keyEncryption', 'keyBlockProtection', 'pin', 'mac', 'dukptBase']),
        algorithm: z.enum(['tdes', 'aes']),
        key: z.hex().min(16).max(64),
      }),
    )
    .max(MAX_KEYS),
});

export type HsmKeysFile = z.infer<typeof keysFile>;

export interface HsmOptions {
  /** `dev`, `qa` or `prod`. */
  readonly environment: string;
  /** JSON with the keys of a software HSM. */
  readonly keysFile: string | undefined;
  /**
   * A path or a package whose `openHsm()` returns an `Hsm` (src/codecs/crypto/hsm.ts), or a JSON file with payShield devices
   * or keys in AWS Payment Cryptography (src/hsm-devices/README.md).
   */
  readonly module: string | undefined;
  /** Log of the devices; without it they log nothing. */
  readonly log?: DeviceLog | undefined;
}

/**
 * An HSM with what only some have: DUKPT keys for card data, devices on the network whose state is known, connections to
 * close.
 */
export type OpenedHsm = Hsm & Partial<CardDataHsm> & Partial<HsmDevices> & { close?(): Promise<void> };

const NO_LOG: DeviceLog = { info: () => {}, warn: () => {} };

/**
 * Opens the HSM with an installation's switch keys; undefined if none is configured, which is valid as long as no
 * switch needs MACs or PINs. The software HSM is for dev and qa only; prod names a module.
 *
 * @throws StartError BAD_CONFIG naming the file or module; never a key
 */
export async function openHsm(options: HsmOptions): Promise<OpenedHsm | undefined> {
  if (options.module?.endsWith('.json')) return openDevices(options.module, options.log ?? NO_LOG);
  if (options.module !== undefined) return openModule(options.module);
  if (options.keysFile === undefined) return undefined;
  const keys = await readSoftKeys(options.keysFile, options.environment);
  try {
    return new SoftHsm({ environment: options.environment, keys });
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    throw new StartError('BAD_CONFIG', `the HSM's keys in ${options.keysFile} cannot be used: ${error.message}`);
  }
}

/**
 * The keys of a software HSM. They are clear, so in qa only the gateway may read their file; prod takes none.
 *
 * @throws StartError BAD_CONFIG
 */
export async function readSoftKeys(path: string, environment: string): Promise<SoftHsmKey[]> {
  if (environment === 'qa') requirePrivateFile('HSM_KEYS_FILE', path);
  return checkedHsmKeys(await readKeyFile(path), path).keys.map(softKeyOf);
}

function softKeyOf({ key, ...named }: HsmKeysFile['keys'][number]): SoftHsmKey {
  return { ...named, bytes: new Secret<Uint8Array>(fromHex(key)) };
}

async function openDevices(path: string, log: DeviceLog): Promise<OpenedHsm> {
  const content = parseHsmFile(await readKeyFile(path));
  return kindOf(content) === 'aws-payment-cryptography' ? openAws(content, path) : openPayshield(content, path, log);
}

function kindOf(content: unknown): unknown {
  return (content as { readonly kind?: unknown } | null | undefined)?.kind;
}

/** The content of a JSON file for HSM_MODULE; undefined if it is too long, or no JSON. */
export function parseHsmFile(text: string): unknown {
  return text.length > MAX_FILE_CHARS ? undefined : parseJson(text);
}

/** @throws StartError BAD_CONFIG */
export function readKeyFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StartError('BAD_CONFIG', `the HSM's key file ${path} cannot be read (${cause.code})`);
  });
}

/** @throws StartError BAD_CONFIG naming the places that are wrong, never a key */
export function checkedHsmKeys(text: string, path: string): HsmKeysFile {
  const parsed = parseHsmKeys(text);
  if (parsed?.success) return parsed.data;
  const places = parsed?.error.issues.map(({ path: place, code }) => `/${place.join('/')} ${code}`) ?? ['its length'];
  throw new StartError('BAD_CONFIG', `the HSM's key file ${path} is wrong at ${places.slice(0, 5).join(', ')}`);
}

/** The content of a key file as far as it is valid; undefined if it is too long. */
export function parseHsmKeys(text: string): z.ZodSafeParseResult<HsmKeysFile> | undefined {
  return text.length > MAX_FILE_CHARS ? undefined : keysFile.safeParse(parseJson(text));
}

const METHODS: readonly (keyof Hsm)[] = ['importKey', 'forgetKey', 'kcv', 'translatePin', 'mac', 'verifyMac'];

async function openModule(name: string): Promise<OpenedHsm> {
  let hsm: Partial<OpenedHsm> | undefined;
  try {
    const path = createRequire(resolve('any.js')).resolve(name.startsWith('.') ? resolve(name) : name);
    const loaded = (await import(pathToFileURL(path).href)) as { openHsm?: () => Promise<OpenedHsm> };
    hsm = await loaded.openHsm?.();
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `the HSM module ${name} cannot be opened: ${(cause as Error).message}`, {
      cause,
    });
  }
  const missing = METHODS.filter((method) => typeof hsm?.[method] !== 'function');
  if (missing.length === 0) return hsm as OpenedHsm;
  const reason = `openHsm() of the HSM module ${name} must return an Hsm; missing: ${missing.join(', ')}`;
  throw new StartError('BAD_CONFIG', reason);
}
