import type { KeyUsage } from '../../codecs/crypto/hsm.ts';
import { FieldFault, type FieldReader, type Lmk } from './host-command.ts';

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
