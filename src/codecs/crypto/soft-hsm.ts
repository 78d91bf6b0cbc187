import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { CryptoError } from '../../basics/errors.ts';
import { Secret } from '../bytes/secret.ts';
import { BlockKey, hasOddParity, type KeyAlgorithm, setOddParity, takeKey } from './block-key.ts';
import {
  type DukptRequestKeys,
  deriveAesInitialKey,
  deriveAesTransactionKey,
  deriveAesWorkingKey,
  dukptRequestKeys,
} from './dukpt-aes.ts';
import { deriveTdesInitialKey, deriveTdesTransactionKey, deriveTdesWorkingKey } from './dukpt-tdes.ts';
import type {
  CardDataHsm,
  CryptogramSource,
  DukptDataRequest,
  DukptMacRequest,
  DukptRequest,
  EncipheredPin,
  GeneratedKey,
  GenerateKeyRequest,
  ImportKeyRequest,
  KeyBlockSource,
  KeyDescription,
  KeyUsage,
  MacRequest,
  PinKey,
  SwitchHsm,
  TranslatedPin,
  TranslatePinRequest,
  VerifyPinRequest,
} from './hsm.ts';
import {
  headerFor,
  type KeyAction,
  type KeyPermission,
  readPermission,
  requireFit,
  requireStrength,
  unrestricted,
} from './key-policy.ts';
import {
  isSameMac,
  KCV_BYTES,
  type KeyShape,
  kcv,
  keyMac,
  MAC_BYTES_LEAST,
  type MacFunction,
  type MacMethod,
  requireShape,
} from './mac.ts';
import { decipherPin, encipherPin, MAX_PIN_DIGITS, type Pin } from './pin-block.ts';
import { unwrapTr31, wrapTr31 } from './tr31.ts';

/** More than a simulation of many terminals needs; stops a key exchange that never removes old keys. */
export const MAX_SOFT_KEYS = 10_000;

interface StoredKey {
  readonly key: BlockKey;
  readonly permission: KeyPermission;
  readonly kcv: string;
  /** The MAC functions in use, each with its open cipher: one for each of at most seven methods. */
  readonly macs: Map<string, MacFunction>;
}

/** The keys of a software HSM by id; it releases a key only for its permitted use. */
class SoftKeyStore {
  readonly #keys = new Map<string, StoredKey>();

  /** @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS, KEY_LENGTH, KEY_TOO_WEAK */
  add(keyId: string, key: BlockKey, permission: KeyPermission): KeyDescription {
    requireFit(permission.usage, key);
    if (this.#keys.has(keyId)) throw new CryptoError('KEY_EXISTS');
    if (this.#keys.size >= MAX_SOFT_KEYS) throw new CryptoError('TOO_MANY_KEYS');
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

/** An allow-list: a misspelt environment must not permit keys in memory. */
const ENVIRONMENTS = ['dev', 'qa'];

/** A key that the module has from the start: a transport key or base derivation key of a test installation. */
export interface SoftHsmKey {
  readonly keyId: string;
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  readonly bytes: Secret<Uint8Array>;
}

/**
 * An Hsm in this process, for tests and simulated switches. Its keys exist only in memory; nothing is written
 * anywhere.
 */
export class SoftHsm implements SwitchHsm, CardDataHsm {
  readonly #keys = new SoftKeyStore();
  /** Ids of the keys that were not imported. */
  readonly #given = new Set<string>();

  /** @throws {CryptoError} SOFT_HSM_FORBIDDEN in `prod`; KEY_LENGTH, KEY_EXISTS */
  constructor({ environment, keys = [] }: { environment: string; keys?: readonly SoftHsmKey[] }) {
    if (!ENVIRONMENTS.includes(environment)) throw new CryptoError('SOFT_HSM_FORBIDDEN');
    this.replaceKeys(keys);
  }

  /**
   * Takes the keys that the module should have from the start: adds new ones, and removes those that are no longer among
   * them. A key does not change under its id. Imported keys stay.
   *
   * @throws {CryptoError} KEY_LENGTH, KEY_EXISTS, KEY_TOO_WEAK, TOO_MANY_KEYS; keys before the faulty one are taken
   */
  replaceKeys(keys: readonly SoftHsmKey[]): void {
    const wanted = new Set(keys.map(({ keyId }) => keyId));
    if (wanted.size < keys.length) throw new CryptoError('KEY_EXISTS');
    for (const keyId of this.#given) {
      if (wanted.has(keyId)) continue;
      this.#keys.delete(keyId);
      this.#given.delete(keyId);
    }
    for (const { keyId, usage, algorithm, bytes } of keys) {
      if (this.#given.has(keyId)) continue;
      this.#keys.add(keyId, new BlockKey(algorithm, bytes.reveal()), unrestricted(usage));
      this.#given.add(keyId);
    }
  }

  async importKey(request: ImportKeyRequest): Promise<KeyDescription> {
    const { key, permission } = 'block' in request ? this.#openKeyBlock(request) : this.#openCryptogram(request);
    return this.#keys.add(request.keyId, key, permission);
  }

  async forgetKey(keyId: string): Promise<void> {
    this.#keys.delete(keyId);
  }

  async kcv(keyId: string): Promise<string> {
    return this.#keys.describe(keyId).kcv;
  }

  async translatePin({ from, to, pan }: TranslatePinRequest): Promise<TranslatedPin> {
    if (![0, 3, 4].includes(to.format)) throw new CryptoError('PIN_BLOCK');
    const key = this.#pinKey(to, 'encrypt');
    const pin = this.#readPin(from, pan);
    try {
      return { block: encipherPin(to.format, pin, pan, key), ksn: to.ksn };
    } finally {
      pin.reveal().fill(0);
    }
  }

  async mac(request: MacRequest): Promise<Uint8Array> {
    return this.#mac(request, 'generate');
  }

  async verifyMac(request: MacRequest & { readonly mac: Uint8Array }): Promise<boolean> {
    return isSameMac(this.#mac(request, 'verify'), request.mac);
  }

  keyMac(keyId: string, method: MacMethod): MacFunction {
    this.#keys.useForMac(keyId, method, 'verify');
    this.#keys.useForMac(keyId, method, 'generate');
    return (message) => this.#keys.useForMac(keyId, method, 'generate')(message);
  }

  async verifyPin({ from, pan, pin }: VerifyPinRequest): Promise<boolean> {
    const received = this.#readPin(from, pan);
    const padded = [padPin(received), padPin(pin)] as const;
    const isSame = timingSafeEqual(...padded);
    for (const digits of [received.reveal(), ...padded]) digits.fill(0);
    return isSame;
  }

  async verifyDukptMac({ message, mac, ...request }: DukptMacRequest): Promise<boolean> {
    return isSameMac(this.#requestKeys(request).mac(message), mac);
  }

  async decipherDukpt({ ciphertext, ...request }: DukptDataRequest): Promise<Uint8Array> {
    const { data } = this.#requestKeys(request);
    return data.decryptCbc(ciphertext, new Uint8Array(data.blockBytes));
  }

  async generateKey(request: GenerateKeyRequest): Promise<GeneratedKey> {
    const { keyId, usage, algorithm, lengthBytes, transportKeyId } = request;
    const bytes = randomBytes(lengthBytes);
    if (algorithm === 'tdes') setOddParity(bytes);
    const key = takeKey(algorithm, bytes);
    if (this.#keys.describe(transportKeyId).usage === 'keyEncryption') {
      const transport = this.#keys.use(transportKeyId, 'keyEncryption', 'encrypt');
      requireCryptogramKeys(transport, key);
      const cryptogram = key.useBytes((clear) => transport.encrypt(clear));
      return { ...this.#keys.add(keyId, key, unrestricted(usage)), cryptogram };
    }
    const transport = this.#keys.use(transportKeyId, 'keyBlockProtection', 'encrypt');
    requireStrength(transport, key);
    const header = headerFor(usage, key, transport);
    const block = wrapTr31(key, header, transport);
    return { ...this.#keys.add(keyId, key, readPermission(header)), block };
  }

  #openKeyBlock(request: ImportKeyRequest & KeyBlockSource): { key: BlockKey; permission: KeyPermission } {
    return openKeyBlock(request, this.#keys.use(request.transportKeyId, 'keyBlockProtection', 'decrypt'));
  }

  #openCryptogram(request: ImportKeyRequest & CryptogramSource): { key: BlockKey; permission: KeyPermission } {
    const transport = this.#keys.use(request.transportKeyId, 'keyEncryption', 'decrypt');
    const key = takeKey('tdes', transport.decrypt(request.cryptogram));
    requireCryptogramKeys(transport, key);
    if (request.parity !== 'any' && !key.useBytes(hasOddParity)) throw new CryptoError('KEY_PARITY');
    requireKcv(key, request.kcv);
    return { key, permission: unrestricted(request.usage) };
  }

  #readPin(from: EncipheredPin, pan: string): Pin {
    if (![0, 1, 3, 4].includes(from.format)) throw new CryptoError('PIN_BLOCK');
    return decipherPin(from.format, from.block, pan, this.#pinKey(from, 'decrypt'));
  }

  #pinKey({ keyId, ksn, keyType }: PinKey, action: 'encrypt' | 'decrypt'): BlockKey {
    if (ksn === undefined) return this.#keys.use(keyId, 'pin', action);
    const base = this.#keys.use(keyId, 'dukptBase', 'derive');
    if (base.algorithm === 'tdes') {
      return deriveTdesWorkingKey(deriveTdesTransactionKey(deriveTdesInitialKey(base, ksn), ksn), 'pin');
    }
    const initialKey = deriveAesInitialKey(base, ksn.subarray(0, 8));
    return deriveAesWorkingKey(deriveAesTransactionKey(initialKey, ksn), ksn, 'pin', keyType);
  }

  #requestKeys({ keyId, ksn }: DukptRequest): DukptRequestKeys {
    return dukptRequestKeys(this.#keys.use(keyId, 'dukptBase', 'derive'), ksn);
  }

  #mac({ keyId, method, message, lengthBytes }: MacRequest, action: 'generate' | 'verify'): Uint8Array {
    const mac = this.#keys.useForMac(keyId, method, action)(message);
    const isLength = Number.isInteger(lengthBytes) && lengthBytes >= MAC_BYTES_LEAST && lengthBytes <= mac.length;
    if (!isLength) throw new CryptoError('DATA_LENGTH');
    return mac.subarray(0, lengthBytes);
  }
}

/**
 * The key of a key block under a transport key.
 *
 * @throws {CryptoError} KEY_TOO_WEAK, KEY_USAGE, KEY_CHECK_VALUE, KEY_BLOCK, KEY_BLOCK_MAC, KEY_BLOCK_UNSUPPORTED
 */
export function openKeyBlock(
  { block, usage, kcv: announced }: Pick<ImportKeyRequest, 'usage'> & KeyBlockSource,
  transport: BlockKey,
): { key: BlockKey; permission: KeyPermission } {
  const { key, ...header } = unwrapTr31(block, transport);
  requireStrength(transport, key);
  const permission = readPermission(header);
  if (permission.usage !== usage) throw new CryptoError('KEY_USAGE');
  if (announced !== undefined) requireKcv(key, announced);
  return { key, permission };
}

/** Bare cryptograms are for TDES only (ANSI X9.17); AES keys are sent only in key blocks. */
function requireCryptogramKeys(transport: BlockKey, key: BlockKey): void {
  if (transport.algorithm !== 'tdes' || key.algorithm !== 'tdes') throw new CryptoError('KEY_USAGE');
  requireStrength(transport, key);
}

function requireKcv(key: BlockKey, announced: string): void {
  const lengthBytes = announced.length / 2;
  const isLong = key.algorithm === 'aes' && lengthBytes === 5;
  const isSame = (lengthBytes === KCV_BYTES || isLong) && kcv(key, lengthBytes) === announced.toUpperCase();
  if (!isSame) throw new CryptoError('KEY_CHECK_VALUE');
}

/** Pads all PINs to the maximum length, so that the time of a comparison does not depend on their length. */
function padPin(pin: Pin): Uint8Array {
  const padded = new Uint8Array(MAX_PIN_DIGITS).fill(0xff);
  padded.set(pin.reveal());
  return padded;
}

/** Default id of the base derivation key of demo readers in gateways. */
export const DEMO_READER_KEY = 'reader-bdk';

/** Two DES keys: for most MACs, zone PIN keys and base derivation keys of DUKPT. */
const DES_PAIR: KeyShape = { algorithm: 'tdes', lengthBytes: 16 };

/**
 * The key with this id for simulated switches, demo readers and the software HSM between them. Anyone can compute it
 * from the id, so it protects nothing: both sides agree on it without a key ceremony.
 */
export function demoKey(keyId: string, usage: KeyUsage, shape: KeyShape = DES_PAIR): SoftHsmKey {
  const { algorithm, lengthBytes } = shape;
  const bytes = createHash('sha256').update(`tapwire demo key ${keyId}`).digest().subarray(0, lengthBytes);
  return { keyId, usage, algorithm, bytes: new Secret<Uint8Array>(bytes) };
}
