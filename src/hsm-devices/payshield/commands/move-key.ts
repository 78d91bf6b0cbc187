import { commandBody, type FieldReader, type HostCommand, type Lmk, lmkField } from '../host-command.ts';
import { type KeyType, keyLengthBytes, keyTypeField, readKeyField } from '../key-field.ts';

/** A key and its check value: the first 6 hex digits. */
export interface KeyResponse {
  /** The key, with its scheme. */
  readonly key: string;
  readonly kcv: string;
  readonly hasOddParity: boolean;
}

const KCV_CHARS = 6;
/** The error code of A7 for a key without odd parity. It is a warning: the fields of the response follow. */
const PARITY_WARNING = '01';

/** What the header of a new key block states if the imported key is a bare cryptogram (A6, fields after `#`). */
export interface KeyBlockAttributes {
  /** Key Usage (2 A), `P0`. */
  readonly usage: string;
  /** Mode of Use (1 A), `B`. */
  readonly modeOfUse: string;
}

export interface ImportKey {
  readonly lmk: Lmk;
  readonly keyType: KeyType;
  readonly zmk: string;
  /** The key under the ZMK: `X`, `Y` or no scheme for X9.17, `R` for TR-31. */
  readonly key: string;
  /** Key Scheme (LMK), 1 A. */
  readonly scheme: string;
  /** Required for a bare cryptogram under a key block LMK. */
  readonly attributes?: KeyBlockAttributes | undefined;
}

/**
 * A6 (Import a Key): Key Type, ZMK, Key (ZMK), Key Scheme (LMK), LMK Identifier, then for a bare cryptogram under a key block
 * LMK the delimiter `#`, Key Usage, Mode of Use, Key Version Number 00, Exportability N and no optional blocks.
 *
 * @returns the key under the LMK; undefined if the device refused a key without odd parity
 */
export function importKey(request: ImportKey): HostCommand<KeyResponse | undefined> {
  const { lmk, keyType, zmk, key, scheme, attributes } = request;
  const header = attributes === undefined ? '' : `#${attributes.usage}${attributes.modeOfUse}00N00`;
  return {
    code: 'A6',
    body: commandBody(keyTypeField(lmk, keyType), zmk, key, scheme, lmkField(lmk), header),
    readableErrors: [PARITY_WARNING],
    read: readKeyResponse,
  };
}

function readKeyResponse(fields: FieldReader, errorCode: string): KeyResponse | undefined {
  const hasOddParity = errorCode !== PARITY_WARNING;
  if (!hasOddParity && fields.isAtEnd) return undefined;
  const key = readKeyField(fields);
  const kcv = fields.hex(KCV_CHARS);
  fields.end();
  return { key, kcv, hasOddParity };
}

/** Key Type Code FF: the field Key Type follows after a delimiter. */
const TYPE_FOLLOWS = 'FF';
/** Reserved (2 A, 00) and Key Check Value Type 1: 6 H. */
const SHORT_KCV = '001';
/** Key Length Flag: single, double or triple length, or a key block. */
const LENGTH_FLAGS: Readonly<Record<number, string>> = { 8: '0', 16: '1', 24: '2' };
const LENGTH_FLAG_OF_BLOCK = 'F';

export interface KeyCheckValueFields {
  readonly lmk: Lmk;
  readonly keyType: KeyType;
  readonly key: string;
}

/**
 * BU (Generate a Key Check Value): Key Type Code, Key Length Flag, Key, `;` Key Type, `;` reserved and Key Check Value
 * Type.
 *
 * @returns 6 hex digits
 */
export function keyCheckValue({ lmk, keyType, key }: KeyCheckValueFields): HostCommand<string> {
  const lengthFlag = LENGTH_FLAGS[keyLengthBytes(key) ?? 0] ?? LENGTH_FLAG_OF_BLOCK;
  return {
    code: 'BU',
    body: commandBody(TYPE_FOLLOWS, lengthFlag, key, `;${keyTypeField(lmk, keyType)};${SHORT_KCV}`, lmkField(lmk)),
    read(fields) {
      const kcv = fields.hex(6);
      fields.end();
      return kcv;
    },
  };
}
