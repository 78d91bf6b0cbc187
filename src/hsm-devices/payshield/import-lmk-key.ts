import { CryptoError, type CryptoErrorCode, HsmDeviceError, HsmUnavailable } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import type { KeyAlgorithm } from '../../codecs/crypto/block-key.ts';
import type {
  CryptogramSource,
  ImportKeyRequest,
  KeyBlockSource,
  KeyDescription,
  KeyUsage,
} from '../../codecs/crypto/hsm.ts';
import { readPermission } from '../../codecs/crypto/key-policy.ts';
import { parseTr31Header } from '../../codecs/crypto/tr31.ts';
import {
  isKeyUnderLmk,
  KEY_TYPES,
  type KeyType,
  keyLengthBytes,
  type Lmk,
  lmkScheme,
  type SendCommand,
} from './host-command.ts';
import { type ImportKey, importKey, type KeyBlockAttributes, type KeyResponse } from './payshield-commands.ts';

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

/** Error codes of A7 that blame the key that was received. */
const IMPORT_FAULTS: Readonly<Record<string, CryptoErrorCode>> = {
  '26': 'KEY_BLOCK_UNSUPPORTED',
  '27': 'KEY_LENGTH',
  '28': 'KEY_USAGE',
  '29': 'KEY_USAGE',
  '75': 'KEY_TOO_WEAK',
  '83': 'KEY_BLOCK',
  '84': 'KEY_BLOCK_MAC',
  A4: 'KEY_BLOCK_MAC',
  A5: 'KEY_LENGTH',
  A6: 'KEY_USAGE',
  A7: 'KEY_BLOCK_UNSUPPORTED',
  A8: 'KEY_BLOCK_UNSUPPORTED',
  A9: 'KEY_BLOCK_UNSUPPORTED',
  AC: 'KEY_BLOCK_UNSUPPORTED',
  BB: 'KEY_TOO_WEAK',
};

/** Schemes of X9.17 under a ZMK, by the length of the key; a single-length key has no scheme. */
const X917_SCHEMES: Readonly<Record<number, string>> = { 8: '', 16: 'X', 24: 'Y' };

/** The key check value of a key block can have 5 bytes; the devices return 3. */
const KCV_CHARS = 6;

/**
 * Imports a key that was received under a transport key, with A6. It remains under the local master key.
 *
 * @throws {CryptoError} as Hsm.importKey
 * @throws HsmUnavailable
 */
export async function importLmkKey(
  send: SendCommand,
  lmk: Lmk,
  transport: LmkKey,
  request: ImportKeyRequest,
): Promise<LmkKey> {
  const type = KEY_TYPES[request.usage][0];
  const received = 'block' in request ? keyBlock(request, lmk) : cryptogram(request, lmk);
  const { schemes, key, attributes } = received;
  const response = await importWith(send, { lmk, keyType: type, zmk: transport.key, key, attributes }, schemes);
  if (response === undefined || (!response.hasOddParity && !('block' in request) && request.parity !== 'any')) {
    throw new CryptoError('KEY_PARITY');
  }
  const announced = request.kcv?.toUpperCase().substring(0, KCV_CHARS);
  if (announced !== undefined && announced !== response.kcv) throw new CryptoError('KEY_CHECK_VALUE');
  if (!isKeyUnderLmk(lmk, response.key)) {
    throw new HsmUnavailable({ cause: new HsmDeviceError('RESPONSE_INVALID', 'A6, a key of another LMK') });
  }
  const { algorithm } = received;
  const lengthBytes = keyLengthBytes(response.key) ?? received.lengthBytes;
  const { keyId, usage } = request;
  return { keyId, usage, type, algorithm, lengthBytes, kcv: response.kcv, key: response.key };
}

interface ReceivedKey extends Pick<ImportKey, 'key' | 'attributes'> {
  /** Key schemes under the LMK, in the order in which they are tried. */
  readonly schemes: readonly string[];
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
}

/** @throws {CryptoError} KEY_LENGTH */
function cryptogram({ cryptogram: bytes, usage }: ImportKeyRequest & CryptogramSource, lmk: Lmk): ReceivedKey {
  const scheme = X917_SCHEMES[bytes.length];
  if (scheme === undefined || (bytes.length === 8 && usage !== 'mac')) throw new CryptoError('KEY_LENGTH');
  return {
    key: scheme + toHex(bytes),
    schemes: [lmkScheme(lmk, bytes.length)],
    attributes: lmk.form === 'keyBlock' ? attributesOf(usage, bytes.length) : undefined,
    algorithm: 'tdes',
    lengthBytes: bytes.length,
  };
}

/** Key Usage and Mode of Use as the header of a key block names them (ANSI X9.143:2021 tables 2 and 5). */
function attributesOf(usage: ImportKeyRequest['usage'], lengthBytes: number): KeyBlockAttributes {
  switch (usage) {
    case 'pin':
      return { usage: 'P0', modeOfUse: 'B' };
    case 'mac':
      return { usage: lengthBytes === 16 ? 'M3' : 'M1', modeOfUse: 'C' };
    case 'dukptBase':
      return { usage: 'B0', modeOfUse: 'X' };
    case 'keyEncryption':
    case 'keyBlockProtection':
      return { usage: 'K0', modeOfUse: 'B' };
  }
}

/** Key algorithms of TR-31 with the length that a key has unless a device states another one. */
const TR31_ALGORITHMS: Readonly<Record<string, Pick<ReceivedKey, 'algorithm' | 'lengthBytes'>>> = {
  A: { algorithm: 'aes', lengthBytes: 16 },
  D: { algorithm: 'tdes', lengthBytes: 8 },
  T: { algorithm: 'tdes', lengthBytes: 16 },
};

/** Double length first: it is the most frequent. */
const TDES_LENGTHS = [16, 24, 8];

/**
 * The length of a key in a key block is enciphered. Under a variant LMK the scheme must fit the length, so each scheme is
 * tried. A key block LMK has one scheme, and the device does not return the length: a key with the algorithm T then counts
 * as double length.
 *
 * @throws {CryptoError} KEY_BLOCK, KEY_BLOCK_UNSUPPORTED, KEY_USAGE
 */
function keyBlock({ block, usage }: ImportKeyRequest & KeyBlockSource, lmk: Lmk): ReceivedKey {
  const { header } = parseTr31Header(block);
  if (readPermission(header).usage !== usage) throw new CryptoError('KEY_USAGE');
  const kind = Object.hasOwn(TR31_ALGORITHMS, header.algorithm) ? TR31_ALGORITHMS[header.algorithm]! : undefined;
  if (kind === undefined || (kind.algorithm === 'aes' && lmk.form === 'variant')) {
    throw new CryptoError('KEY_BLOCK_UNSUPPORTED');
  }
  const lengths = TDES_LENGTHS.filter((lengthBytes) => lengthBytes > 8 || usage === 'mac');
  const schemes = lmk.form === 'keyBlock' ? ['S'] : lengths.map((lengthBytes) => lmkScheme(lmk, lengthBytes));
  return { key: `R${block}`, schemes, ...kind };
}

/** Invalid key scheme, and incompatible key length. */
const SCHEME_FAULTS = new Set(['26', '27', 'A5']);

async function importWith(
  send: SendCommand,
  request: Omit<ImportKey, 'scheme'>,
  [scheme, ...others]: readonly string[],
): Promise<KeyResponse | undefined> {
  try {
    return await send(importKey({ ...request, scheme: scheme! }));
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const errorCode = (cause instanceof HsmDeviceError && cause.errorCode) || '';
    if (SCHEME_FAULTS.has(errorCode) && others.length > 0) return importWith(send, request, others);
    const code = IMPORT_FAULTS[errorCode];
    throw code === undefined ? error : new CryptoError(code);
  }
}
