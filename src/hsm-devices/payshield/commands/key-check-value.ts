import { commandBody, type HostCommand, type Lmk, lmkField } from '../host-command.ts';
import { type KeyType, keyLengthBytes, keyTypeField } from '../key-field.ts';

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
