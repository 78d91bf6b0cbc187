import type { KeyAlgorithm } from './block-key.ts';
import type { AesDukptKeyType } from './dukpt-aes.ts';
import type { MacFunction, MacMethod } from './mac.ts';
import type { OnlinePinFormat, Pin } from './pin-block.ts';

/**
 * The port to a hardware security module. Keys are named by id and never leave it; nor does any PIN. One key has one
 * use. All methods are asynchronous, because a module is usually on the network. Each rejects with a CryptoError;
 * any of them can have the codes KEY_UNKNOWN and KEY_USAGE. A module that cannot respond rejects with HsmUnavailable.
 */
export interface Hsm {
  /**
   * Imports a key that was sent under another one.
   *
   * @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS, KEY_CHECK_VALUE, KEY_TOO_WEAK, KEY_LENGTH, KEY_PARITY,
   * KEY_BLOCK, KEY_BLOCK_MAC, KEY_BLOCK_UNSUPPORTED
   */
  importKey(request: ImportKeyRequest): Promise<KeyDescription>;

  /** Destroys a key. Does nothing if the key does not exist, because a repeated key exchange may destroy it twice. */
  forgetKey(keyId: string): Promise<void>;

  /** The key check value, 6 hex digits in upper case. */
  kcv(keyId: string): Promise<string>;

  /**
   * Translates a PIN for its next hop, bound to the same PAN.
   *
   * @throws {CryptoError} PIN_BLOCK for every fault of the block, its format or the PAN; KSN
   */
  translatePin(request: TranslatePinRequest): Promise<TranslatedPin>;

  /** @throws {CryptoError} DATA_LENGTH, KEY_LENGTH if the method is not for such a key */
  mac(request: MacRequest): Promise<Uint8Array>;

  /**
   * Whether `mac` is the MAC of the message, compared in constant time; also false if its length differs from
   * `lengthBytes`.
   */
  verifyMac(request: MacRequest & { readonly mac: Uint8Array }): Promise<boolean>;
}

/** Additional operations of the far side of a connection: the simulated switch and card issuer. */
export interface SwitchHsm extends Hsm {
  /** Whether the block contains this PIN. @throws {CryptoError} PIN_BLOCK if it contains none; KSN */
  verifyPin(request: VerifyPinRequest): Promise<boolean>;

  /**
   * Prepares a key for computing and checking the MACs of many messages in this process. The result throws KEY_UNKNOWN
   * after the key is forgotten, and DATA_LENGTH.
   *
   * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH
   */
  keyMac(keyId: string, method: MacMethod): MacFunction;

  /** Creates a random working key and exports it under a transport key, for a key change. */
  generateKey(request: GenerateKeyRequest): Promise<GeneratedKey>;
}

/**
 * The permitted use of a key: wrap keys as bare cryptograms, or as TR-31 key blocks; encipher PINs between two
 * parties (a zone PIN key); authenticate messages; derive the keys of a DUKPT device.
 */
export type KeyUsage = 'keyEncryption' | 'keyBlockProtection' | 'pin' | 'mac' | 'dukptBase';

export interface KeyDescription {
  readonly keyId: string;
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
  readonly kcv: string;
}

export type ImportKeyRequest = {
  /** The id of the imported key. */
  readonly keyId: string;
  /** The intended use; a key block with another use is refused. */
  readonly usage: KeyUsage;
  /** The key it was sent under: `keyBlockProtection` for a key block, `keyEncryption` for a cryptogram. */
  readonly transportKeyId: string;
} & (KeyBlockSource | CryptogramSource);

/** A TR-31 key block, which describes and authenticates its key; a check value is compared if there is one. */
export interface KeyBlockSource {
  readonly block: string;
  readonly kcv?: string | undefined;
}

/**
 * A TDES key under a TDES key, each block encrypted separately (ANSI X9.17). It is not authenticated. The check
 * value, 6 hex digits, is therefore mandatory, and parity must be odd unless the sender is known not to set it.
 */
export interface CryptogramSource {
  readonly cryptogram: Uint8Array;
  readonly kcv: string;
  readonly parity?: 'odd' | 'any' | undefined;
}

/** A zone PIN key with its id, or a transaction's DUKPT PIN key with the base derivation key and the KSN. */
export interface PinKey {
  readonly keyId: string;
  /** 10 bytes with a TDES base derivation key, 12 with an AES one. */
  readonly ksn?: Uint8Array | undefined;
  /** AES DUKPT only: the kind of PIN key that both sides agreed on; by default the base derivation key's own. */
  readonly keyType?: AesDukptKeyType | undefined;
}

export type EncipheredPin = PinKey & {
  readonly format: OnlinePinFormat;
  /** 8 bytes, 16 in format 4. */
  readonly block: Uint8Array;
};

export interface TranslatePinRequest {
  readonly from: EncipheredPin;
  /** Never format 1, which would drop the PAN (ISO 9564-1:2017 9.5). */
  readonly to: PinKey & { readonly format: Exclude<OnlinePinFormat, 1> };
  /** The whole PAN, 8 to 19 digits. */
  readonly pan: string;
}

export interface TranslatedPin {
  readonly block: Uint8Array;
  /** The KSN of `to`, if it has one: it is sent with the block. */
  readonly ksn?: Uint8Array | undefined;
}

export interface MacRequest {
  readonly keyId: string;
  readonly method: MacMethod;
  readonly message: Uint8Array;
  /** How many bytes of the MAC, from the left, a message carries: 4 to the block length of the cipher. */
  readonly lengthBytes: number;
}

export interface VerifyPinRequest {
  readonly from: EncipheredPin;
  readonly pan: string;
  readonly pin: Pin;
}

export interface GenerateKeyRequest {
  readonly keyId: string;
  readonly usage: 'pin' | 'mac';
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
  /** Selects the form: a `keyEncryption` key produces a cryptogram, a `keyBlockProtection` key a key block. */
  readonly transportKeyId: string;
}

export type GeneratedKey = KeyDescription & ({ readonly cryptogram: Uint8Array } | { readonly block: string });

/** Additional operations of a module that opens the card data of DUKPT devices. */
export interface CardDataHsm {
  /**
   * Whether `mac` is the device's MAC over a request: ISO 9797-1 algorithm 3 with padding method 2 (TDES), CMAC (AES).
   * False for a MAC that is not one whole block.
   *
   * @throws {CryptoError} KSN, DATA_LENGTH
   */
  verifyDukptMac(request: DukptMacRequest): Promise<boolean>;

  /**
   * Deciphers data of a request: CBC with an initialization vector of zeros.
   *
   * @throws {CryptoError} KSN, DATA_LENGTH
   */
  decipherDukpt(request: DukptDataRequest): Promise<Uint8Array>;
}

/** A request of a DUKPT device: its base derivation key, and its KSN of 10 bytes (TDES) or 12 (AES). */
export interface DukptRequest {
  readonly keyId: string;
  readonly ksn: Uint8Array;
}

export interface DukptMacRequest extends DukptRequest {
  readonly message: Uint8Array;
  readonly mac: Uint8Array;
}

export interface DukptDataRequest extends DukptRequest {
  /** Whole blocks of the cipher. */
  readonly ciphertext: Uint8Array;
}
