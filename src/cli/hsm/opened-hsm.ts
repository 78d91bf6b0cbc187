import { z } from 'zod';
import { CryptoError, HsmDeviceError, HsmUnavailable, StartError } from '../../basics/errors.ts';
import type { KeyUsage } from '../../codecs/crypto/hsm.ts';
import { isExchangedKeyId, ownerNamedBy } from '../../codecs/crypto/key-policy.ts';
import { type AddedKey, type HsmKeyFile, keyFileOf, keyFilePath } from '../../hsm-devices/hsm-key-file.ts';
import { type OpenedHsm, openHsm } from '../../hsm-devices/open-hsm.ts';
import { loadReaders } from '../../kits/reader-kit/load-readers.ts';
import type { Config } from '../../start/config.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { INSTALLATION } from '../../store/settings/admin-commit.ts';
import { type KeyUseRules, type NewKey, type Origin, registerKey } from '../../store/switches/hsm-keys.ts';
import { actor } from '../administration.ts';

const DAY_MS = 86_400_000;
/** A key is replaced within a year unless the parties agree on another date. */
const DUE_AFTER_DAYS = 365;
const USAGES = [
  'keyEncryption',
  'keyBlockProtection',
  'pin',
  'mac',
  'dukptBase',
] as const satisfies readonly KeyUsage[];

/** Runs a command on the HSM of the environment; `hsm` is undefined if none is configured. */
export async function withHsm<Result>(
  { TAPWIRE_ENV, HSM_KEYS_FILE, HSM_MODULE }: Config,
  act: (hsm: OpenedHsm | undefined, file: HsmKeyFile | undefined) => Promise<Result>,
): Promise<Result> {
  const hsm = await openHsm({ environment: TAPWIRE_ENV, keysFile: HSM_KEYS_FILE, module: HSM_MODULE });
  try {
    return await act(hsm, keyFileOf(hsm, keyFilePath({ keysFile: HSM_KEYS_FILE, module: HSM_MODULE })));
  } finally {
    await hsm?.close?.();
  }
}

/** What names keys in this installation. @throws PlugInError */
export async function keyUseRulesOf({ READERS, READER_PIN_KEY }: Config): Promise<KeyUseRules> {
  return { readerKeyId: READER_PIN_KEY, formats: await loadReaders({ external: READERS }) };
}

/** The owner of a new key, as its id states. @throws StartError BAD_CONFIG if the id cannot be that of a key */
export function ownerOfNewKey(keyId: string): number {
  if (!/^[\x21-\x7e]{1,64}$/.test(keyId))
    throw new StartError('BAD_CONFIG', 'KEY: expected 1 to 64 printable characters');
  if (isExchangedKeyId(keyId)) throw new StartError('BAD_CONFIG', `${keyId}: is reserved for exchanged keys`);
  return ownerNamedBy(keyId) ?? INSTALLATION;
}

/** @throws StartError BAD_CONFIG */
export function usageOf(given: string | undefined): KeyUsage {
  const usage = USAGES.find((each) => each === given);
  if (usage === undefined) throw new StartError('BAD_CONFIG', `--usage: expected one of ${USAGES.join(', ')}`);
  return usage;
}

/** The day on which a key is due, a year from now unless given. @throws StartError BAD_CONFIG */
export function dueDateOf(given: string | undefined, nowMs = Date.now()): string {
  const date = given ?? new Date(nowMs + DUE_AFTER_DAYS * DAY_MS).toISOString().substring(0, 10);
  if (!z.iso.date().safeParse(date).success || Date.parse(date) < nowMs - DAY_MS)
    throw new StartError('BAD_CONFIG', '--due: expected a day in the future, such as 2027-11-23');
  return date;
}

/** A check value in capitals. @throws StartError BAD_CONFIG */
export function kcvOf(given: string | undefined, what: string): string {
  const kcv = given?.toUpperCase();
  if (kcv === undefined || !/^[0-9A-F]{6}$/.test(kcv))
    throw new StartError('BAD_CONFIG', `${what}: expected 6 hex digits`);
  return kcv;
}

/** A fault of the HSM as the user sees it, with the error code of the device. */
export async function named<Result>(keyId: string, call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CryptoError)
      throw new StartError('BAD_CONFIG', `${keyId}: ${error.message}`, { cause: error });
    if (!(error instanceof HsmUnavailable)) throw error;
    const { cause } = error;
    const reason = cause instanceof HsmDeviceError ? cause.message : 'the HSM does not respond';
    throw new StartError('BAD_CONFIG', `${keyId}: ${reason}`, { cause: error });
  }
}

/** A new key and where it is stored. */
export interface NewKeyPlace {
  readonly database: Database;
  readonly key: Omit<NewKey, 'kcv'>;
  readonly file: HsmKeyFile;
}

/**
 * Registers a key after it was added to the file. If that fails, the key is listed as not registered, and can be
 * registered later.
 */
export async function storeNewKey(
  { database, key, file }: NewKeyPlace,
  adding: Promise<AddedKey>,
  origin: Origin,
  by = actor(),
): Promise<void> {
  const { kcv } = await named(key.keyId, adding);
  await registerKey(database, by, { ...key, kcv }, origin);
  console.log(`${key.keyId} is in ${file.path} and registered: check value ${kcv}, due on ${key.dueOn}.`);
}
