import { stat } from 'node:fs/promises';
import { CryptoError } from '../basics/errors.ts';
import { changeFile } from '../basics/files/change-file.ts';
import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import { fromHex, toHex } from '../codecs/bytes/hex.ts';
import { BlockKey } from '../codecs/crypto/block-key.ts';
import type { ImportKeyRequest, KeyBlockSource, KeyUsage } from '../codecs/crypto/hsm.ts';
import { requireFit } from '../codecs/crypto/key-policy.ts';
import { kcv } from '../codecs/crypto/mac.ts';
import { openKeyBlock, SoftHsm } from '../codecs/crypto/soft-hsm.ts';
import { AwsHsm, parseAwsFile } from './aws/aws-hsm.ts';
import {
  checkedHsmKeys,
  type HsmKeysFile,
  type HsmOptions,
  type OpenedHsm,
  parseHsmFile,
  readKeyFile,
  readSoftKeys,
} from './open-hsm.ts';
import { KEY_TYPES, type KeyType } from './payshield/host-command.ts';
import { lmkKeysOf, type PayshieldFile, parsePayshieldFile } from './payshield/open-payshield.ts';
import { PayshieldHsm } from './payshield/payshield-hsm.ts';

/** Name of the file in messages. */
const WHAT = 'the key file of the HSM';

/** A key that the file of an HSM lists. */
export interface FiledKey {
  readonly keyId: string;
  readonly usage: KeyUsage;
}

/** A key that was added to a file. */
export interface AddedKey extends FiledKey {
  readonly kcv: string;
}

type ImportBlockRequest = Omit<ImportKeyRequest, keyof KeyBlockSource> & KeyBlockSource;

/** A key that was formed at the console of a device. */
interface KeyUnderLmk extends AddedKey, Pick<PayshieldFile['keys'][number], 'algorithm' | 'lengthBytes'> {
  readonly type: KeyType | undefined;
  /** The key under the LMK, with its scheme. */
  readonly key: string;
}

/**
 * The file in which the keys of an HSM are registered: the clear keys of a software HSM (dev and qa), or keys under the
 * LMK of payShield devices. It is replaced completely or not at all, and only its owner can access it.
 */
export interface HsmKeyFile {
  readonly path: string;
  /** @throws StartError BAD_CONFIG */
  list(): Promise<readonly FiledKey[]>;
  /** Adds a key that was sent in a TR-31 key block. @throws {CryptoError} as Hsm.importKey; HsmUnavailable */
  importBlock(request: ImportBlockRequest): Promise<AddedKey>;
  /** Adds a clear key; undefined if such keys must not leave the devices. */
  readonly addClear?: ((keyId: string, usage: KeyUsage, key: BlockKey) => Promise<AddedKey>) | undefined;
  /** Adds a key under the LMK, after a device has computed its check value; undefined without an LMK. */
  readonly addUnderLmk?: ((key: KeyUnderLmk) => Promise<AddedKey>) | undefined;
  /** @returns false if the file does not have the key */
  remove(keyId: string): Promise<boolean>;
}

/** @returns undefined if the keys of this HSM are not in a file of the gateway */
export function keyFileOf(hsm: OpenedHsm | undefined, path: string | undefined): HsmKeyFile | undefined {
  if (path === undefined) return undefined;
  if (hsm instanceof SoftHsm) return softKeyFile(path);
  return hsm instanceof PayshieldHsm ? payshieldKeyFile(hsm, path) : undefined;
}

function softKeyFile(path: string): HsmKeyFile {
  const check = (text: string): HsmKeysFile => checkedHsmKeys(text, path);
  const list = async () => check(await readKeyFile(path)).keys;
  const addClear = async (keyId: string, usage: KeyUsage, key: BlockKey): Promise<AddedKey> => {
    requireFit(usage, key);
    const entry = { keyId, usage, algorithm: key.algorithm, key: key.useBytes((bytes) => toHex(bytes)) };
    await addKey(path, check, entry);
    return { keyId, usage, kcv: kcv(key) };
  };
  return {
    path,
    list,
    addClear,
    async importBlock(request) {
      const { keyId, usage, transportKeyId } = request;
      const { key } = openKeyBlock(request, transportKeyIn(await list(), transportKeyId));
      return addClear(keyId, usage, key);
    },
    remove: (keyId) => removeKey(path, check, keyId),
  };
}

/** @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE */
function transportKeyIn(keys: HsmKeysFile['keys'], transportKeyId: string): BlockKey {
  const found = keys.find(({ keyId }) => keyId === transportKeyId);
  if (found === undefined) throw new CryptoError('KEY_UNKNOWN');
  if (found.usage !== 'keyBlockProtection') throw new CryptoError('KEY_USAGE');
  return new BlockKey(found.algorithm, fromHex(found.key));
}

function payshieldKeyFile(hsm: PayshieldHsm, path: string): HsmKeyFile {
  const check = (text: string): PayshieldFile => parsePayshieldFile(parseHsmFile(text), path);
  const add = async (entry: PayshieldFile['keys'][number]): Promise<AddedKey> => {
    await addKey(path, check, entry);
    return { keyId: entry.keyId, usage: entry.usage, kcv: entry.kcv };
  };
  return {
    path,
    list: async () => check(await readKeyFile(path)).keys,
    async importBlock(request) {
      const { lengthBytes, ...imported } = await hsm.importUnderLmk(request);
      return add({ ...imported, lengthBytes: lengthBytes as PayshieldFile['keys'][number]['lengthBytes'] });
    },
    async addUnderLmk({ type, ...given }) {
      const lmkType = type ?? KEY_TYPES[given.usage][0];
      if ((await hsm.kcvUnderLmk({ ...given, type: lmkType })) !== given.kcv) throw new CryptoError('KEY_CHECK_VALUE');
      return add({ ...given, type: lmkType });
    },
    remove: (keyId) => removeKey(path, check, keyId),
  };
}

interface Listed {
  readonly keyId: string;
}

/**
 * Changes only the list of keys: everything else in the file stays as the operator has written it.
 *
 * @param check of the content before and after the change. @throws StartError BAD_CONFIG
 * @throws {CryptoError} KEY_EXISTS
 */
function addKey(path: string, check: (text: string) => void, entry: Listed): Promise<boolean> {
  return changeKeys(path, check, (keys) => {
    if (keys.some(({ keyId }) => keyId === entry.keyId)) throw new CryptoError('KEY_EXISTS');
    return [...keys, entry];
  });
}

function removeKey(path: string, check: (text: string) => void, removed: string): Promise<boolean> {
  return changeKeys(path, check, (keys) => keys.filter(({ keyId }) => keyId !== removed));
}

/** @returns false, with the file unchanged, if the list has as many keys as before */
function changeKeys(
  path: string,
  check: (text: string) => void,
  change: (keys: readonly Listed[]) => readonly Listed[],
): Promise<boolean> {
  return changeFile(path, WHAT, (before) => {
    check(before);
    const content = parseHsmFile(before) as { keys: Listed[] };
    const keys = change(content.keys);
    if (keys.length === content.keys.length) return { text: before, result: false };
    const text = `${JSON.stringify({ ...content, keys }, undefined, 2)}\n`;
    check(text);
    return { text, result: true };
  });
}

/** Every process learns of a new key within this time. A rotation waits longer before it uses one. */
const KEY_FILE_READ_EVERY_MS = 2_000;

/** The file in which keys of the HSM are registered; undefined if the HSM has none. */
export function keyFilePath({ keysFile, module }: Pick<HsmOptions, 'keysFile' | 'module'>): string | undefined {
  return module === undefined ? keysFile : module.endsWith('.json') ? module : undefined;
}

/**
 * A key that was removed from the file remains usable for this long. Connections that use it are replaced in seconds, and
 * then wait for the responses to their last requests.
 */
const REMOVED_AFTER_MS = 120_000;

const TIMES = { everyMs: KEY_FILE_READ_EVERY_MS, removedAfterMs: REMOVED_AFTER_MS };

/**
 * Keeps the keys of an HSM in step with its file: new keys are usable without a restart, and removed keys are not after a
 * while. A key does not change under its id. A file that cannot be used changes nothing.
 *
 * @param onError called once for each version of the file that cannot be used
 * @returns undefined if the keys are not in a file
 */
export function followKeyFile(
  hsm: OpenedHsm,
  path: string | undefined,
  environment: string,
  onError: (error: unknown) => void,
  times: Partial<typeof TIMES> = {},
): Repetition | undefined {
  if (path === undefined) return undefined;
  const { everyMs, removedAfterMs } = { ...TIMES, ...times };
  const follow = <Key extends Listed>(read: () => Promise<readonly Key[]>, replace: (keys: readonly Key[]) => void) => {
    const keys = new FollowedKeys(path, read, replace, removedAfterMs);
    return repeatEvery(everyMs, () => keys.look(), onError);
  };
  const content = async () => parseHsmFile(await readKeyFile(path));
  if (hsm instanceof SoftHsm)
    return follow(
      () => readSoftKeys(path, environment),
      (keys) => hsm.replaceKeys(keys),
    );
  if (hsm instanceof PayshieldHsm)
    return follow(
      async () => lmkKeysOf(parsePayshieldFile(await content(), path).keys),
      (keys) => hsm.replaceFiledKeys(keys),
    );
  if (hsm instanceof AwsHsm)
    return follow(
      async () => parseAwsFile(await content(), path).keys,
      (keys) => hsm.replaceFiledKeys(keys),
    );
  return undefined;
}

class FollowedKeys<Key extends Listed> {
  readonly #path: string;
  readonly #read: () => Promise<readonly Key[]>;
  readonly #apply: (keys: readonly Key[]) => void;
  readonly #removedAfterMs: number;
  #version: string | undefined;
  #current: readonly Key[] = [];
  /** Keys that the file no longer has, with the monotonic time at which they are removed. */
  #leaving: readonly { readonly key: Key; readonly endsAtMs: number }[] = [];

  constructor(
    path: string,
    read: () => Promise<readonly Key[]>,
    apply: (keys: readonly Key[]) => void,
    removedAfterMs: number,
  ) {
    this.#path = path;
    this.#read = read;
    this.#apply = apply;
    this.#removedAfterMs = removedAfterMs;
  }

  /** @throws StartError BAD_CONFIG; CryptoError */
  async look(): Promise<void> {
    const nowMs = performance.now();
    const missing = { mtimeMs: 0, ino: 0, size: -1, mode: 0, uid: 0 };
    const { mtimeMs, ino, size, mode, uid } = await stat(this.#path).catch(() => missing);
    const version = `${mtimeMs} ${ino} ${size} ${mode} ${uid}`;
    const isOver = this.#leaving.some(({ endsAtMs }) => endsAtMs <= nowMs);
    if (version === this.#version && !isOver) return;
    const before = this.#current;
    if (version !== this.#version) {
      this.#version = version;
      this.#current = await this.#read();
    }
    const present = new Set(this.#current.map(({ keyId }) => keyId));
    const endsAtMs = nowMs + this.#removedAfterMs;
    const left = before.filter(({ keyId }) => !present.has(keyId)).map((key) => ({ key, endsAtMs }));
    this.#leaving = [...this.#leaving, ...left].filter((each) => each.endsAtMs > nowMs && !present.has(each.key.keyId));
    this.#apply([...this.#current, ...this.#leaving.map(({ key }) => key)]);
  }
}
