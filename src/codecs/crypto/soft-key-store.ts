import { CryptoError } from '../../basics/errors.ts';
import type { BlockKey } from './block-key.ts';
import type { KeyDescription, KeyUsage } from './hsm.ts';
import { kcv } from './kcv.ts';
import { type KeyAction, type KeyPermission, requireFit } from './key-policy.ts';
import { keyMac, type MacFunction, type MacMethod, requireShape } from './mac.ts';

/** More than a simulation of many terminals needs; stops a key exchange that never removes old keys. */
export const SOFT_KEYS_MOST = 10_000;

interface StoredKey {
  readonly key: BlockKey;
  readonly permission: KeyPermission;
  readonly kcv: string;
  /** The MAC functions in use, each with its open cipher: one for each of at most seven methods. */
  readonly macs: Map<string, MacFunction>;
}

/** The keys of a software HSM by id; it releases a key only for its permitted use. */
export class SoftKeyStore {
  readonly #keys = new Map<string, StoredKey>();

  /** @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS, KEY_LENGTH, KEY_TOO_WEAK */
  add(keyId: string, key: BlockKey, permission: KeyPermission): KeyDescription {
    requireFit(permission.usage, key);
    if (this.#keys.has(keyId)) throw new CryptoError('KEY_EXISTS');
    if (this.#keys.size >= SOFT_KEYS_MOST) throw new CryptoError('TOO_MANY_KEYS');
    this.#keys.set(keyId, { key, permission, kcv: kcv(key), macs: new Map() });
    return this.describe(keyId);
  }

  delete(keyId: string): void {
    this.#keys.delete(keyId);
  }

  /** @throws {CryptoError} KEY_UNKNOWN */
  describe(keyId: string): KeyDescription {
    const { key, permission, kcv } = this.#stored(keyId);
    return { keyId, usage: permission.usage, algorithm: key.algorithm, lengthBytes: key.lengthBytes, kcv };
  }

  /** @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE */
  use(keyId: string, usage: KeyUsage, action: KeyAction): BlockKey {
    const { key, permission } = this.#stored(keyId);
    if (permission.usage !== usage || !permission.actions.includes(action)) throw new CryptoError('KEY_USAGE');
    return key;
  }

  /** @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH */
  useForMac(keyId: string, method: MacMethod, action: 'generate' | 'verify'): MacFunction {
    const key = this.use(keyId, 'mac', action);
    const { permission, macs } = this.#stored(keyId);
    const { algorithm } = method;
    if (permission.macAlgorithm !== undefined && permission.macAlgorithm !== algorithm)
      throw new CryptoError('KEY_USAGE');
    requireShape(key, method);
    const name = algorithm === 'cmac' ? algorithm : `${algorithm}${method.padding}`;
    const open = macs.get(name);
    if (open !== undefined) return open;
    const mac = keyMac(key, method);
    macs.set(name, mac);
    return mac;
  }

  #stored(keyId: string): StoredKey {
    const stored = this.#keys.get(keyId);
    if (stored === undefined) throw new CryptoError('KEY_UNKNOWN');
    return stored;
  }
}
