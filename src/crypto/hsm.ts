import type { KeyAlgorithm } from './block-key.ts';
import type { AesDukptKeyType } from './dukpt-aes.ts';
import type { MacFunction, MacMethod } from './mac.ts';
import type { OnlinePinFormat, Pin } from './pin-block.ts';

/**
 * The port to a hardware security module. Keys are named by id and stay inside; so does every PIN. One key serves one
 * use. All methods answer later, since a module is usually on the network, and each rejects with a CryptoError, whose
 * codes KEY_UNKNOWN and KEY_USAGE any of them can have.
 */
export interface Hsm {
  /**
   * Takes in a key that was sent under another one.
   *
   * @throws {CryptoError} KEY_EXISTS, TOO_MANY_KEYS, KEY_CHECK_VALUE, KEY_TOO_WEAK, KEY_LENGTH, KEY_PARITY, KEY_BLOCK,
   *   KEY_BLOCK_MAC, KEY_BLOCK_UNSUPPORTED
   */
  importKey(request: ImportKeyRequest): Promise<KeyDescription>;

  /** Destroys a key. Nothing happens when there is none: a key exchange that is repeated may say so twice. */
  forgetKey(keyId: string): Promise<void>;

  /** The key check value, 6 hex digits in upper case. */
  kcv(keyId: string): Promise<string>;

  /**
   * Enciphers a PIN anew for its next hop, bound to the same PAN.
   *
   * @throws {CryptoError} PIN_BLOCK for everything that is wrong with the block, its format or the PAN; KSN
   */
  translatePin(request: TranslatePinRequest): Promise<TranslatedPin>;

  /** @throws {CryptoError} DATA_LENGTH */
  mac(request: MacRequest): Promise<Uint8Array>;

  /** Whether `mac` is the message's, compared in constant time; false too for one of another length than `lengthBytes`. */
  verifyMac(request: MacRequest & { readonly mac: Uint8Array }): Promise<boolean>;
}

/**
 * A module in this machine, which can authenticate without waiting. The wait itself would be cheap (under 1 µs), but what
 * happens in it is not: a message is encoded into a shared buffer, authenticated and written in one turn, so that its
 * deadline is checked in the turn of writing.
 */
export interface LocalHsm extends Hsm {
  /**
   * Readies a key for many messages of a line, to make MACs and to check them; the key stays inside. The result throws
   * KEY_UNKNOWN once the key is forgotten, and DATA_LENGTH.
   *
   * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH
   */
  keyMac(keyId: string, method: MacMethod): MacFunction;
}

/** What the far side of a line needs besides: the simulated switch and card issuer. */
export interface SwitchHsm extends Hsm {
  /** Whether the block holds this PIN. @throws {CryptoError} PIN_BLOCK when it holds none; KSN */
  verifyPin(request: VerifyPinRequest): Promise<boolean>;

  /** Makes a random working key and gives it out under a transport key, for a key change. */
  generateKey(request: GenerateKeyRequest): Promise<GeneratedKey>;
}

/**
 * What a key may do: carry keys as bare cryptograms, or as TR-31 key blocks; encipher PINs between two parties (a zone
 * PIN key); authenticate messages; give a DUKPT device its keys.
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
  /** The name that the key gets. */
  readonly keyId: string;
  /** What it is wanted for; a key block that says otherwise is refused. */
  readonly usage: KeyUsage;
  /** The key it was sent under: `keyBlockProtection` for a key block, `keyEncryption` for a cryptogram. */
  readonly transportKeyId: string;
} & (KeyBlockSource | CryptogramSource);

/** A TR-31 key block, which says and proves what it holds; a check value is compared when there is one. */
export interface KeyBlockSource {
  readonly block: string;
  readonly kcv?: string | undefined;
}

/**
 * A TDES key under a TDES key, each block by itself (ANSI X9.17). Nothing authenticates it: the check value, 6 hex
 * digits, is mandatory and parity must be odd unless the sender is known not to set it.
 */
export interface CryptogramSource {
  readonly cryptogram: Uint8Array;
  readonly kcv: string;
  readonly parity?: 'odd' | 'any' | undefined;
}

/** A zone PIN key by its id, or a transaction's DUKPT PIN key by the base derivation key and the KSN. */
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
  /** Never format 1, which would let go of the PAN (ISO 9564-1:2017 9.5). */
  readonly to: PinKey & { readonly format: Exclude<OnlinePinFormat, 1> };
  /** The whole PAN, 8 to 19 digits. */
  readonly pan: string;
}

export interface TranslatedPin {
  readonly block: Uint8Array;
  /** The KSN of `to`, when it has one: it travels beside the block. */
  readonly ksn?: Uint8Array | undefined;
}

export interface MacRequest {
  readonly keyId: string;
  readonly method: MacMethod;
  readonly message: Uint8Array;
  /** How many bytes of the MAC, from its left, a message carries: 4 to the cipher's block. */
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
  /** Decides the form: a `keyEncryption` key gives a cryptogram, a `keyBlockProtection` key a key block. */
  readonly transportKeyId: string;
}

export type GeneratedKey = KeyDescription & ({ readonly cryptogram: Uint8Array } | { readonly block: string });
