import { CryptoError, HsmDeviceError } from '../../basics/errors.ts';
import { isDigits } from '../../codecs/bytes/digits.ts';
import { fromHex, toHex } from '../../codecs/bytes/hex.ts';
import { TDES_KSN_BYTES } from '../../codecs/crypto/dukpt-tdes.ts';
import type {
  Hsm,
  ImportKeyRequest,
  KeyDescription,
  MacRequest,
  TranslatedPin,
  TranslatePinRequest,
} from '../../codecs/crypto/hsm.ts';
import { userNamedBy } from '../../codecs/crypto/key-policy.ts';
import { isSameMac, MAC_BYTES_LEAST, type MacMethod } from '../../codecs/crypto/mac.ts';
import type { HsmDeviceState, HsmDevices } from '../../switching/hsm/hsm-calls.ts';
import type { DeviceGroup } from './device/device-group.ts';
import { blameOf, type HostCommand, isKeyUnderLmk, type Lmk, type SendCommand } from './host-command.ts';
import { importLmkKey, type LmkKey, type LmkKeyStore } from './import-lmk-key.ts';
import {
  generateMac,
  keyCheckValue,
  MAX_MAC_MESSAGE_BYTES,
  type MacFields,
  PIN_FORMAT_CODES,
  translateDukptPin,
  translateZonePin,
  verifyMac,
} from './payshield-commands.ts';

const ACCOUNT_DIGITS = 12;
/** ISO/IEC 7812-1:2017 4.1. */
const PAN_DIGITS_LEAST = 8;
const MAX_PAN_DIGITS = 19;

/**
 * Account Number (12 N): the 12 rightmost digits of the PAN without its check digit. A shorter PAN is padded with zeros on the
 * left, as a format 0 block pads it (ISO 9564-1:2017 9.3.2.3).
 *
 * @throws {CryptoError} PIN_BLOCK
 */
function accountNumberOf(pan: string): string {
  const isPan = pan.length >= PAN_DIGITS_LEAST && pan.length <= MAX_PAN_DIGITS && isDigits(pan);
  if (!isPan) throw new CryptoError('PIN_BLOCK');
  return pan.slice(0, -1).slice(-ACCOUNT_DIGITS).padStart(ACCOUNT_DIGITS, '0');
}

/** A PIN block under a TDES key. */
const PIN_BLOCK_BYTES = 8;
/** M6 has MACs of 4 and 8 bytes; any other length is the left part of the longer one. */
const MAX_MAC_BYTES = 8;
/**
 * M8 verifies MACs of this length. Public sources contradict each other about MAC Size 1: 16 or 4 hex digits. The response
 * of M6 shows which of them a device means, that of M8 does not. A longer MAC is therefore computed and compared here.
 */
const VERIFIED_BYTES = 4;

/**
 * An Hsm made of payShield devices. The keys are under the local master key of the devices; this process has no clear key
 * and no clear PIN.
 *
 * What no public source of the host commands confirms is refused with KEY_USAGE: PIN blocks of format 4, AES DUKPT, a zone
 * key to DUKPT, CMAC, and MACs with AES keys.
 */
export class PayshieldHsm implements Hsm, HsmDevices {
  readonly #devices: DeviceGroup;
  readonly #keys: LmkKeyStore;
  readonly #options;

  constructor(
    devices: DeviceGroup,
    keys: LmkKeyStore,
    options: {
      readonly lmk: Lmk;
      /** KSN Descriptor of G0 (3 H). */
      readonly ksnDescriptor: string;
    },
  ) {
    this.#devices = devices;
    this.#keys = keys;
    this.#options = options;
  }

  async importKey(request: ImportKeyRequest): Promise<KeyDescription> {
    const imported = await this.importUnderLmk(request);
    this.#keys.add(imported);
    return describe(imported);
  }

  /** As `importKey`, for a key that the caller stores: this object does not keep it. */
  importUnderLmk(request: ImportKeyRequest): Promise<LmkKey> {
    const usage = 'block' in request ? 'keyBlockProtection' : 'keyEncryption';
    const transport = this.#keys.use(request.transportKeyId, usage);
    const send: SendCommand = (command) => this.#devices.call(command, userOf(request.transportKeyId));
    return importLmkKey(send, this.#options.lmk, transport, request);
  }

  /**
   * The check value of a key under the LMK that a device computes.
   *
   * @throws {CryptoError} KEY_USAGE if the text is no key under this LMK, or the device refuses it
   */
  async kcvUnderLmk({ keyId, type, key }: Pick<LmkKey, 'keyId' | 'type' | 'key'>): Promise<string> {
    const { lmk } = this.#options;
    if (!isKeyUnderLmk(lmk, key)) throw new CryptoError('KEY_USAGE');
    return this.#devices.call(keyCheckValue({ lmk, keyType: type, key }), userOf(keyId));
  }

  /** Takes the keys of the file as they are now. @throws {CryptoError} TOO_MANY_KEYS, KEY_EXISTS */
  replaceFiledKeys(keys: readonly LmkKey[]): void {
    this.#keys.replaceFiled(keys);
  }

  async forgetKey(keyId: string): Promise<void> {
    this.#keys.delete(keyId);
  }

  /** Asks a device, so that a key that the devices cannot use is noticed. @throws {CryptoError} KEY_CHECK_VALUE */
  async kcv(keyId: string): Promise<string> {
    const { kcv, ...filed } = this.#keys.find(keyId);
    const current = await this.kcvUnderLmk(filed);
    if (current !== kcv) throw new CryptoError('KEY_CHECK_VALUE');
    return current;
  }

  async translatePin(request: TranslatePinRequest): Promise<TranslatedPin> {
    const command = this.#translation(request);
    try {
      return { block: fromHex(await this.#devices.call(command, userOf(request.to.keyId))), ksn: request.to.ksn };
    } catch (error) {
      throw isFaultOfPin(error) ? new CryptoError('PIN_BLOCK') : error;
    }
  }

  async mac(request: MacRequest): Promise<Uint8Array> {
    const fields = this.#macFields(request);
    return fromHex(await this.#devices.call(generateMac(fields), userOf(request.keyId))).subarray(
      0,
      request.lengthBytes,
    );
  }

  async verifyMac({ mac, ...request }: MacRequest & { readonly mac: Uint8Array }): Promise<boolean> {
    const fields = this.#macFields(request);
    if (mac.length !== request.lengthBytes) return false;
    if (mac.length !== VERIFIED_BYTES) return isSameMac(await this.mac(request), mac);
    return this.#devices.call(verifyMac(fields, toHex(mac)), userOf(request.keyId));
  }

  deviceStates(): readonly HsmDeviceState[] {
    return this.#devices.deviceStates();
  }

  /** Closes the connections. Calls that wait are rejected. */
  close(): Promise<void> {
    return this.#devices.close();
  }

  #translation({ from, to, pan }: TranslatePinRequest): HostCommand<string> {
    const source = this.#keys.use(from.keyId, from.ksn === undefined ? 'pin' : 'dukptBase');
    const destination = this.#keys.use(to.keyId, to.ksn === undefined ? 'pin' : 'dukptBase');
    const isTdes = source.algorithm === 'tdes' && destination.algorithm === 'tdes';
    const isSupported = isTdes && (to.ksn === undefined || from.ksn !== undefined);
    if (!isSupported || from.format === 4 || to.format === 4) throw new CryptoError('KEY_USAGE');
    if (from.block.length !== PIN_BLOCK_BYTES) throw new CryptoError('PIN_BLOCK');
    const fields = {
      lmk: this.#options.lmk,
      destinationKey: destination.key,
      block: toHex(from.block),
      sourceFormat: PIN_FORMAT_CODES[from.format],
      destinationFormat: PIN_FORMAT_CODES[to.format],
      accountNumber: accountNumberOf(pan),
    };
    if (from.ksn === undefined) {
      return translateZonePin({ ...fields, sourceType: source.type === 'TPK' ? 'TPK' : 'ZPK', sourceKey: source.key });
    }
    const isKsn = [from.ksn, to.ksn ?? from.ksn].every(({ length }) => length === TDES_KSN_BYTES);
    if (!isKsn) throw new CryptoError('KSN');
    const { ksnDescriptor } = this.#options;
    const destinationKsn = to.ksn && toHex(to.ksn);
    return translateDukptPin({ ...fields, bdk: source.key, ksnDescriptor, ksn: toHex(from.ksn), destinationKsn });
  }

  #macFields({ keyId, method, message, lengthBytes }: MacRequest): MacFields {
    const key = this.#keys.use(keyId, 'mac');
    requireShape(key, method);
    const isLength = Number.isInteger(lengthBytes) && lengthBytes >= MAC_BYTES_LEAST && lengthBytes <= MAX_MAC_BYTES;
    const isMessage = message.length > 0 && message.length <= MAX_MAC_MESSAGE_BYTES;
    if (!isLength || !isMessage) throw new CryptoError('DATA_LENGTH');
    if (method.algorithm === 'cmac' || method.padding === 3 || key.algorithm !== 'tdes')
      throw new CryptoError('KEY_USAGE');
    return {
      lmk: this.#options.lmk,
      keyType: key.type,
      key: key.key,
      algorithm: method.algorithm === 'retail' ? '3' : '1',
      padding: method.padding === 1 ? '1' : '2',
      message,
      macBytes: lengthBytes === 4 ? 4 : 8,
    };
  }
}

/** Who uses the devices with a key: an acquirer, or all that share a key of the installation. */
function userOf(keyId: string): string {
  return userNamedBy(keyId)?.toString() ?? keyId;
}

/** Whether a device refused the PIN block or the account number. */
function isFaultOfPin(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof HsmDeviceError && cause.errorCode !== undefined && blameOf(cause.errorCode) === 'pin';
}

function describe({ keyId, usage, algorithm, lengthBytes, kcv }: LmkKey): KeyDescription {
  return { keyId, usage, algorithm, lengthBytes, kcv };
}

/** @throws {CryptoError} KEY_LENGTH if the method is not for such a key */
function requireShape({ algorithm, lengthBytes }: LmkKey, { keys }: MacMethod): void {
  const isFit = keys?.some((shape) => shape.algorithm === algorithm && shape.lengthBytes === lengthBytes) ?? true;
  if (!isFit) throw new CryptoError('KEY_LENGTH');
}
