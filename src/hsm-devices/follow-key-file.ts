import { stat } from 'node:fs/promises';
import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import { SoftHsm } from '../codecs/crypto/soft-hsm.ts';
import { AwsHsm } from './aws/aws-hsm.ts';
import { parseAwsFile } from './aws/open-aws.ts';
import { type HsmOptions, type OpenedHsm, parseHsmFile, readKeyFile, readSoftKeys } from './open-hsm.ts';
import { lmkKeysOf, parsePayshieldFile } from './payshield/open-payshield.ts';
import { PayshieldHsm } from './payshield/payshield-hsm.ts';

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
  if (hsm instanceof SoftHsm) {
    const read = () => readSoftKeys(path, environment);
    const keys = new FollowedKeys(path, read, (current) => hsm.replaceKeys(current), removedAfterMs);
    return repeatEvery(everyMs, () => keys.look(), onError);
  }
  if (hsm instanceof PayshieldHsm) {
    const read = async () => lmkKeysOf(parsePayshieldFile(parseHsmFile(await readKeyFile(path)), path).keys);
    const keys = new FollowedKeys(path, read, (current) => hsm.replaceFiledKeys(current), removedAfterMs);
    return repeatEvery(everyMs, () => keys.look(), onError);
  }
  if (hsm instanceof AwsHsm) {
    const read = async () => parseAwsFile(parseHsmFile(await readKeyFile(path)), path).keys;
    const keys = new FollowedKeys(path, read, (current) => hsm.replaceFiledKeys(current), removedAfterMs);
    return repeatEvery(everyMs, () => keys.look(), onError);
  }
  return undefined;
}

class FollowedKeys<Key extends { readonly keyId: string }> {
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
