import { stat } from 'node:fs/promises';
import { SoftHsm } from '../crypto/soft-hsm.ts';
import { lmkKeysOf, parsePayshieldFile } from '../hsm/payshield/open-payshield.ts';
import { PayshieldHsm } from '../hsm/payshield/payshield-hsm.ts';
import { type Repetition, repeatEvery } from '../limits/repeat-every.ts';
import { checkedHsmKeys, type HsmOptions, type OpenedHsm, parseHsmFile, readKeyFile, softKeyOf } from './open-hsm.ts';

/** Every process learns of a new key within this time. A rotation waits longer before it uses one. */
export const KEY_FILE_READ_EVERY_MS = 2_000;

/** The file in which keys of the HSM are registered; undefined if the HSM has none. */
export function keyFilePath({ keysFile, module }: Pick<HsmOptions, 'keysFile' | 'module'>): string | undefined {
  return module === undefined ? keysFile : module.endsWith('.json') ? module : undefined;
}

/**
 * Keeps the keys of an HSM in step with its file: new keys are usable without a restart, removed keys are not. A key does
 * not change under its id. A file that cannot be used changes nothing.
 *
 * @param onError called once for each version of the file that cannot be used
 * @returns undefined if the keys are not in a file
 */
export function followKeyFile(
  hsm: OpenedHsm,
  path: string | undefined,
  onError: (error: unknown) => void,
  everyMs = KEY_FILE_READ_EVERY_MS,
): Repetition | undefined {
  const isFiled = hsm instanceof SoftHsm || hsm instanceof PayshieldHsm;
  if (path === undefined || !isFiled) return undefined;
  let seen: string | undefined;
  return repeatEvery(
    everyMs,
    async () => {
      const { mtimeMs, ino, size } = await stat(path).catch(() => ({ mtimeMs: 0, ino: 0, size: -1 }));
      const version = `${mtimeMs} ${ino} ${size}`;
      if (version === seen) return;
      seen = version;
      const text = await readKeyFile(path);
      if (hsm instanceof SoftHsm) hsm.replaceKeys(checkedHsmKeys(text, path).keys.map(softKeyOf));
      else hsm.replaceFiledKeys(lmkKeysOf(parsePayshieldFile(parseHsmFile(text), path).keys));
    },
    onError,
  );
}
