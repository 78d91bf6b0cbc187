import { CryptoError } from '../../basics/errors.ts';
import type { KeyAlgorithm } from '../../codecs/crypto/block-key.ts';
import type { KeyDescription, KeyUsage } from '../../codecs/crypto/hsm.ts';
import type { KeyType } from './key-field.ts';

/** The keys of the file and those of key exchanges, which are in memory. */
const MAX_KEYS = 10_000;

/** A key as the devices can use it. It is of no use without their local master key. */
export interface LmkKey extends KeyDescription {
  readonly type: KeyType;
  readonly algorithm: KeyAlgorithm;
  /** The key under the LMK, with its scheme. */
  readonly key: string;
}

/** Keys under the local master key, by id. Each is released only for its use. */
export class LmkKeyStore {
  readonly #keys = new Map<string, LmkKey>();
  /** Ids of the keys of the file. */
  readonly #filed = new Set<string>();

  /**
   * Takes the keys of the file: adds new ones, and removes those that the file no longer has. A key does not change under
   * its id. Keys of key exchanges stay.
   *
   * @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS
   */
  replaceFiled(keys: readonly LmkKey[]): void {
    const wanted = new Set(keys.map(({ keyId }) => keyId));
    for (const keyId of this.#filed) {
      if (wanted.has(keyId)) continue;
      this.delete(keyId);
      this.#filed.delete(keyId);
    }
    for (const key of keys) {
      if (this.#filed.has(key.keyId)) continue;
      this.add(key);
      this.#filed.add(key.keyId);
    }
  }

  /** @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS */
  add(key: LmkKey): void {
    if (this.#keys.has(key.keyId)) throw new CryptoError('KEY_EXISTS');
    if (this.#keys.size >= MAX_KEYS) throw new CryptoError('TOO_MANY_KEYS');
    this.#keys.set(key.keyId, key);
  }

  delete(keyId: string): void {
    this.#keys.delete(keyId);
  }

  /** @throws {CryptoError} KEY_UNKNOWN */
  find(keyId: string): LmkKey {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new CryptoError('KEY_UNKNOWN');
    return key;
  }

  /** @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE */
  use(keyId: string, usage: KeyUsage): LmkKey {
    const key = this.find(keyId);
    if (key.usage !== usage) throw new CryptoError('KEY_USAGE');
    return key;
  }
}
