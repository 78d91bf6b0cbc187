import { isDigits } from '../../codecs/bytes/digits.ts';
import type { KeyUsage } from '../../codecs/crypto/hsm.ts';

/**
 * A host command: its code and fields, and how its response is read. No command here changes a device, so each can be
 * repeated on another device.
 *
 * The layouts are those of the payShield 9000 and 10K manuals as far as they are public: field tables of the manuals that
 * are cited on web pages, and open codecs and clients (README.md lists them).
 */
export interface HostCommand<Result> {
  /** Two characters. The code of the response has the next letter or digit as its second character. */
  readonly code: string;
  /** The fields after the code. */
  readonly body: Uint8Array;
  /** Error codes other than 00 with which `read` is called: a warning, or a negative result. */
  readonly readableErrors?: readonly string[];
  /**
   * Reads every field after the error code.
   *
   * @throws FieldFault
   */
  read(fields: FieldReader, errorCode: string): Result;
}

/** Sends a command to a device, or to any device of a group. */
export type SendCommand = <Result>(command: HostCommand<Result>) => Promise<Result>;

/** How the local master key protects keys, and which of several it is. */
export interface Lmk {
  /** `variant`: bare cryptograms, a variant of the key for each use. `keyBlock`: key blocks that name the use. */
  readonly form: 'variant' | 'keyBlock';
  /** Two digits; undefined for the default of the device. */
  readonly id?: string | undefined;
}

/** @param parts texts with one byte for each character, or bytes */
export function commandBody(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
}

/** Delimiter `%` and LMK Identifier (2 N), the last fields of every command that uses keys. */
export function lmkField({ id }: Lmk): string {
  return id === undefined ? '' : `%${id}`;
}

export function responseCodeOf(code: string): string {
  return code[0]! + String.fromCharCode(code.charCodeAt(1) + 1);
}

const HEX = /^[0-9A-F]*$/;

/** A field is missing, too long, or has characters that its type does not allow; never with its value. */
export class FieldFault extends Error {}

/** Reads the fields of a command or of a response in order. Every field must be complete, and none may be left. */
export class FieldReader {
  readonly #text: string;
  #at = 0;

  /** @param bytes the fields, one character for each byte */
  constructor(bytes: Uint8Array) {
    this.#text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** The next characters without moving on; fewer at the end. */
  peek(chars: number): string {
    return this.#text.substring(this.#at, this.#at + chars);
  }

  /** Type `A` of the manual: any characters. @throws FieldFault */
  text(chars: number): string {
    const end = this.#at + chars;
    if (!(chars >= 0) || end > this.#text.length) throw new FieldFault('a field is incomplete');
    const value = this.#text.substring(this.#at, end);
    this.#at = end;
    return value;
  }

  /** Type `H`: hex digits in upper case. @throws FieldFault */
  hex(chars: number): string {
    const value = this.text(chars);
    if (!HEX.test(value)) throw new FieldFault('a field has other characters than hex digits');
    return value;
  }

  /** Type `N`: decimal digits. @throws FieldFault */
  digits(chars: number): string {
    const value = this.text(chars);
    if (!isDigits(value)) throw new FieldFault('a field has other characters than digits');
    return value;
  }

  /** Type `B`. @throws FieldFault */
  bytes(count: number): Uint8Array {
    return Buffer.from(this.text(count), 'latin1');
  }

  /** @throws FieldFault if the text continues differently */
  literal(expected: string): void {
    if (this.text(expected.length) !== expected) throw new FieldFault('a field has an unexpected value');
  }

  /** @throws FieldFault if a field is left */
  end(): void {
    if (!this.isAtEnd) throw new FieldFault('unexpected fields follow');
  }
}

/**
 * Standard error codes and their names. Source: the list of standard error codes of the manual, as ut-codec-payshield
 * and PayShieldPressureTest repeat it.
 */
const ERROR_NAMES: Readonly<Record<string, string>> = {
  '00': 'No error',
  '01': 'Verification failure or warning of imported key parity error',
  '02': 'Key inappropriate length for algorithm',
  '04': 'Invalid key type code',
  '05': 'Invalid key length flag',
  '10': 'Source key parity error',
  '11': 'Destination key parity error or key all zeros',
  '12': 'Contents of user storage not available',
  '13': 'Invalid LMK Identifier',
  '14': 'PIN encrypted under LMK pair 02-03 is invalid',
  '15': 'Invalid input data',
  '16': 'Console or printer not ready or not connected',
  '17': 'HSM not authorized, or operation prohibited by security settings',
  '18': 'Document format definition not loaded',
  '19': 'Specified Diebold Table is invalid',
  '20': 'PIN block does not contain valid values',
  '21': 'Invalid index value',
  '22': 'Invalid account number',
  '23': 'Invalid PIN block format code',
  '24': 'PIN is fewer than 4 or more than 12 digits in length',
  '25': 'Decimalization Table error',
  '26': 'Invalid key scheme',
  '27': 'Incompatible key length',
  '28': 'Invalid key type',
  '29': 'Key function not permitted',
  '30': 'Invalid reference number',
  '33': 'LMK key change storage is corrupted',
  '39': 'Fraud detection',
  '40': 'Invalid checksum',
  '41': 'Internal hardware/software error',
  '42': 'DES failure',
  '47': 'Algorithm not licensed',
  '49': 'Private key error',
  '51': 'Invalid message header',
  '65': 'Transaction Key Scheme set to None',
  '67': 'Command not licensed',
  '68': 'Command has been disabled',
  '69': 'PIN block format has been disabled',
  '75': 'Single length key masquerading as double or triple length key',
  '80': 'Data length error',
  '83': 'Key block format error',
  '84': 'Key block check value error',
  '90': 'Data parity error in the request message',
  '91': 'Longitudinal Redundancy Check does not match',
  '92': 'The Count value is not between limits, or is not correct',
  A1: 'Incompatible LMK schemes',
  A2: 'Incompatible LMK identifiers',
  A3: 'Incompatible keyblock LMK identifiers',
  A4: 'Key block authentication failure',
  A5: 'Incompatible key length',
  A6: 'Invalid key usage',
  A7: 'Invalid algorithm',
  A8: 'Invalid mode of use',
  A9: 'Invalid key version number',
  AA: 'Invalid export field',
  AB: 'Invalid number of optional blocks',
  AC: 'Optional header block error',
  AD: 'Key status optional block error',
  AE: 'Invalid start date/time',
  AF: 'Invalid end date/time',
  B0: 'Invalid encryption mode',
  B1: 'Invalid authentication mode',
  B2: 'Miscellaneous keyblock error',
  B3: 'Invalid number of optional blocks',
  B4: 'Optional block data error',
  B5: 'Incompatible components',
  B6: 'Incompatible key status optional blocks',
  B7: 'Invalid change field',
  BA: 'No key status block in the keyblock',
  BB: 'Invalid wrapping key',
  BC: 'Repeated optional block',
  BD: 'Incompatible key types',
};

export const NO_ERROR = '00';
export const COMMAND_DISABLED = '68';

export function errorName(errorCode: string): string {
  return ERROR_NAMES[errorCode] ?? 'an error code that the list does not contain';
}

/**
 * What an error code blames.
 *
 * - `pin`: the PIN block or the account number. Another device would respond in the same way.
 * - `command`: a key or a field of the command, or a command or algorithm that is not enabled. Another device may succeed. A
 *   device is not blamed: the commands of one acquirer must not take it out of use for others.
 * - `device`: all others. The device is not able to work.
 */
type Blame = 'pin' | 'command' | 'device';

const PIN_CODES = new Set(['20', '22', '24']);
const COMMAND_CODES = new Set([
  ...[
    '01',
    '02',
    '04',
    '05',
    '10',
    '11',
    '13',
    '14',
    '15',
    '17',
    '21',
    '23',
    '26',
    '27',
    '28',
    '29',
    '30',
    '47',
    '65',
    '67',
    '68',
    '69',
    '75',
    '80',
    '83',
    '84',
  ],
  // Key blocks.
  ...Object.keys(ERROR_NAMES).filter((code) => /^[AB]/.test(code)),
]);

export function blameOf(errorCode: string): Blame {
  if (PIN_CODES.has(errorCode)) return 'pin';
  return COMMAND_CODES.has(errorCode) ? 'command' : 'device';
}

/**
 * Key Type codes (3 H) of a variant LMK: the digit of the variant, then the code of the LMK pair. Source: the key type
 * table as implemented in the open Thales Simulator Library, and the examples of ut-codec-payshield.
 */
const KEY_TYPE_CODES = {
  ZMK: '000',
  ZPK: '001',
  TPK: '002',
  TAK: '003',
  ZAK: '008',
  BDK: '009',
} as const;

export type KeyType = keyof typeof KEY_TYPE_CODES;

/** The types of a use; the first is the type of an imported key. */
export const KEY_TYPES: Readonly<Record<KeyUsage, readonly [KeyType, ...KeyType[]]>> = {
  keyEncryption: ['ZMK'],
  keyBlockProtection: ['ZMK'],
  pin: ['ZPK', 'TPK'],
  mac: ['ZAK', 'TAK'],
  dukptBase: ['BDK'],
};

/** Hex digits after a scheme. U and T: under an LMK; X and Y: under a ZMK, each block separately (ANSI X9.17). */
const SCHEME_CHARS: Readonly<Record<string, number>> = { Z: 16, U: 32, X: 32, T: 48, Y: 48 };

/** A single-length key without a scheme. */
const BARE_CHARS = 16;
/** `S` is a Thales key block, `R` a TR-31 key block. */
const BLOCK_SCHEMES = 'SR';
/** Version (1 A) and length (4 N) begin a key block; the length counts from the version. */
const BLOCK_HEAD_CHARS = 5;
const BLOCK_CHARS_LEAST = 16;

/** For a key block LMK, the field Key Type is ignored and should be FFF (A6, Key Type). */
export function keyTypeField({ form }: Lmk, type: KeyType): string {
  return form === 'keyBlock' ? 'FFF' : KEY_TYPE_CODES[type];
}

/**
 * Reads a key with its scheme.
 *
 * @throws FieldFault
 */
export function readKeyField(fields: FieldReader): string {
  const scheme = fields.peek(1);
  if (BLOCK_SCHEMES.includes(scheme) && scheme !== '') return readBlock(fields);
  const chars = SCHEME_CHARS[scheme];
  return chars === undefined ? fields.hex(BARE_CHARS) : fields.text(1) + fields.hex(chars);
}

function readBlock(fields: FieldReader): string {
  const length = fields.peek(1 + BLOCK_HEAD_CHARS).substring(2);
  if (!/^\d{4}$/.test(length) || Number(length) < BLOCK_CHARS_LEAST) throw new FieldFault('a key block has no length');
  return fields.text(1 + Number(length));
}

/** Whether a text is one key as this LMK protects it. */
export function isKeyUnderLmk({ form }: Lmk, key: string): boolean {
  if (form === 'variant') return /^([0-9A-F]{16}|Z[0-9A-F]{16}|U[0-9A-F]{32}|T[0-9A-F]{48})$/.test(key);
  return /^S[01]\d{4}[0-9A-Z]+$/.test(key) && Number(key.substring(2, 6)) === key.length - 1;
}

/** The length of a key under a variant LMK; undefined for a key block, which does not reveal it. */
export function keyLengthBytes(key: string): number | undefined {
  if (BLOCK_SCHEMES.includes(key[0]!)) return undefined;
  return (SCHEME_CHARS[key[0]!] ?? BARE_CHARS) / 2;
}

/** The scheme for a TDES key of this length under a variant LMK. Z is a single-length key, returned without a scheme. */
export function lmkScheme({ form }: Lmk, lengthBytes: number): string {
  if (form === 'keyBlock') return 'S';
  return lengthBytes === 8 ? 'Z' : lengthBytes === 16 ? 'U' : 'T';
}
