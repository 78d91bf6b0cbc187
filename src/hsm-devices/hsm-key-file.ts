import { CryptoError } from '../basics/errors.ts';
import { changeFile } from '../basics/files/change-file.ts';
import { fromHex, toHex } from '../codecs/bytes/hex.ts';
import { BlockKey } from '../codecs/crypto/block-key.ts';
import type { ImportKeyRequest, KeyBlockSource, KeyUsage } from '../codecs/crypto/hsm.ts';
import { requireFit } from '../codecs/crypto/key-policy.ts';
import { kcv } from '../codecs/crypto/mac.ts';
import { openKeyBlock, SoftHsm } from '../codecs/crypto/soft-hsm.ts';
import { checkedHsmKeys, type HsmKeysFile, type OpenedHsm, parseHsmFile, readKeyFile } from './open-hsm.ts';
import { KEY_TYPES, type KeyType } from './payshield/key-field.ts';
import { parsePayshieldFile } from './payshield/open-payshield.ts';
import type { PayshieldFile } from './payshield/payshield-file.ts';
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
