import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type Decipheriv,
  type KeyObject,
} from 'node:crypto';
import { CryptoError } from '../../basics/errors.ts';

export type KeyAlgorithm = 'tdes' | 'aes';

/** A TDES key of 8 bytes is single DES, which only an X9.9 MAC and the inside of DUKPT may still use. */
const KEY_LENGTHS: Record<KeyAlgorithm, readonly number[]> = { tdes: [8, 16, 24], aes: [16, 24, 32] };

/**
 * A TDES or AES key and its operations on whole blocks. The key is in a KeyObject, outside of the JavaScript heap:
 * it is not printed, not serialized, and wiped when freed.
 */
export class BlockKey {
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
  readonly blockBytes: 8 | 16;
  readonly #material: KeyObject;
  readonly #cipher: 'des-ede' | 'des-ede3' | 'aes-128' | 'aes-192' | 'aes-256';

  /** Stays open after the first use: without chaining and padding a cipher keeps no state between calls. */
  #encipher: Cipheriv | undefined;
  #decipher: Decipheriv | undefined;

  /**
   * @param bytes the key; copied, so that the caller can wipe it
   * @throws {CryptoError} KEY_LENGTH
   */
  constructor(algorithm: KeyAlgorithm, bytes: Uint8Array) {
    if (!KEY_LENGTHS[algorithm].includes(bytes.length)) throw new CryptoError('KEY_LENGTH');
    this.algorithm = algorithm;
    this.lengthBytes = bytes.length;
    this.blockBytes = algorithm === 'tdes' ? 8 : 16;
    if (algorithm === 'aes') {
      this.#cipher = `aes-${(bytes.length * 8) as 128 | 192 | 256}`;
      this.#material = createSecretKey(bytes);
    } else {
      this.#cipher = bytes.length === 24 ? 'des-ede3' : 'des-ede';
      this.#material = bytes.length === 8 ? doubled(bytes) : createSecretKey(bytes);
    }
  }

  /** Encrypts each block separately (ECB). */
  encrypt(blocks: Uint8Array): Uint8Array {
    this.#requireWhole(blocks);
    this.#encipher ??= createCipheriv(`${this.#cipher}-ecb`, this.#material, null).setAutoPadding(false);
    return this.#encipher.update(blocks);
  }

  decrypt(blocks: Uint8Array): Uint8Array {
    this.#requireWhole(blocks);
    this.#decipher ??= createDecipheriv(`${this.#cipher}-ecb`, this.#material, null).setAutoPadding(false);
    return this.#decipher.update(blocks);
  }

  encryptCbc(blocks: Uint8Array, iv: Uint8Array): Uint8Array {
    this.#requireWhole(blocks);
    return createCipheriv(`${this.#cipher}-cbc`, this.#material, iv).setAutoPadding(false).update(blocks);
  }

  decryptCbc(blocks: Uint8Array, iv: Uint8Array): Uint8Array {
    this.#requireWhole(blocks);
    return createDecipheriv(`${this.#cipher}-cbc`, this.#material, iv).setAutoPadding(false).update(blocks);
  }

  /** A CBC cipher with a zero IV that stays open across messages; only for `CbcChain`. */
  openCbc(): Cipheriv {
    return createCipheriv(`${this.#cipher}-cbc`, this.#material, new Uint8Array(this.blockBytes));
  }

  /** Passes the key's bytes to `use` and wipes that copy afterwards. A review must look at each call. */
  useBytes<Result>(use: (bytes: Uint8Array) => Result): Result {
    const bytes = this.#material.export();
    try {
      return use(bytes.subarray(0, this.lengthBytes));
    } finally {
      bytes.fill(0);
    }
  }

  #requireWhole(blocks: Uint8Array): void {
    if (blocks.length % this.blockBytes !== 0) throw new CryptoError('DATA_LENGTH');
  }
}

/** Creates a key from bytes that have no other use, and wipes them. */
export function takeKey(algorithm: KeyAlgorithm, bytes: Uint8Array): BlockKey {
  try {
    return new BlockKey(algorithm, bytes);
  } finally {
    bytes.fill(0);
  }
}

/** OpenSSL 3 offers DES only as TDES: with both keys equal, two of its three steps cancel out and one DES is left. */
function doubled(single: Uint8Array): KeyObject {
  const pair = new Uint8Array(16);
  pair.set(single, 0);
  pair.set(single, 8);
  const material = createSecretKey(pair);
  pair.fill(0);
  return material;
}

/** The exclusive or of two values of one length. */
export function xor(left: Uint8Array, right: Uint8Array): Uint8Array {
  return left.map((byte, position) => byte ^ right[position]!);
}

/** The lowest bit of each byte of a DES key makes its number of one bits odd (FIPS 46-3); the cipher ignores it. */
export function hasOddParity(key: Uint8Array): boolean {
  return key.every((byte) => isOdd(byte));
}

/** Sets the parity bits in place. */
export function setOddParity(key: Uint8Array): void {
  for (let position = 0; position < key.length; position++) {
    if (!isOdd(key[position]!)) key[position]! ^= 1;
  }
}

function isOdd(byte: number): boolean {
  let folded = byte ^ (byte >> 4);
  folded ^= folded >> 2;
  return ((folded ^ (folded >> 1)) & 1) === 1;
}
