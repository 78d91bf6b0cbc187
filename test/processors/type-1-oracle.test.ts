import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { samples } from '../../processors/type-1/samples.ts';
import { codecs, spec, type Type1Message } from '../../processors/type-1/spec.ts';
import type { Field } from '../../src/codecs/iso8583/spec.ts';
import { valuesOf } from '../../src/kits/processor-kit/conformance/sample-checks.ts';

/** The package `iso_8583` models the same dialect, with fields by number as text. */
type Numbered = Record<string, string>;
interface Package {
  new (
    message?: Numbered,
  ): { getRawMessage(): Buffer | { error: string }; getIsoJSON(message: Buffer, config: object): Numbered };
}
const Iso8583 = createRequire(import.meta.url)('iso_8583') as Package;

/** Fields for which the package is wrong, and what it does instead. */
const PACKAGE_IS_WRONG: Readonly<Record<string, string>> = {
  36: 'takes digits alone; track 3 has separators',
  55: 'writes binary data as the text it was given',
  58: 'takes the length as two digits; the network writes three',
  64: 'takes four bytes; a MAC has eight',
  96: 'takes four bytes; the code has eight',
  120: 'takes digits alone; the standard leaves the content open',
  121: 'takes digits alone; the standard leaves the content open',
  122: 'takes digits alone; the standard leaves the content open',
  '127.2': 'takes digits alone; the network allows letters',
  '127.32': 'writes binary data as the text it was given, and counts characters',
  '127.25': 'cannot pack its elements (it stops at the first that is absent); it is compared by unpacking',
};

/** DE123 is in every message, so that both write two bitmaps. The package always does; the standard does if needed. */
const CARRIER: Type1Message = { mti: '0200', posDataCode: 'A00101A00044021' };

const fields = spec.fields as Record<string, Field>;
const subfields = (fields[127] as unknown as { fields: Record<string, Field> }).fields;

function numbered(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}

function bytesOf(message: Type1Message): string {
  const target = new Uint8Array(110_000);
  return Buffer.from(target.subarray(0, codecs.bitmap.encode(message, target, 0))).toString('hex');
}

function packedByPackage(fieldNumber: string, value: unknown): string {
  const packed = new Iso8583({ 0: '0200', 123: CARRIER.posDataCode!, [fieldNumber]: numbered(value) }).getRawMessage();
  return Buffer.isBuffer(packed) ? packed.toString('hex') : packed.error;
}

const isCompared = ([number]: [string, unknown]) => PACKAGE_IS_WRONG[number] === undefined;

describe('a field has the same bytes as from the package iso_8583', () => {
  const single = Object.entries(fields).filter(([number]) => !['123', '127', '128'].includes(number));
  test.each(single.filter(isCompared))('DE%s', (number, field) => {
    for (const value of valuesOf(field)) {
      expect(bytesOf({ ...CARRIER, [field.name]: value })).toBe(packedByPackage(number, value));
    }
  });

  const nested = Object.entries(subfields).map(([number, field]): [string, Field] => [`127.${number}`, field]);
  test.each(nested.filter(isCompared))('%s', (number, field) => {
    for (const value of valuesOf(field)) {
      expect(bytesOf({ ...CARRIER, switchData: { [field.name]: value } })).toBe(packedByPackage(number, value));
    }
  });
});

describe('the package iso_8583 reads a message as intended', () => {
  const messages = samples.filter(({ config }) => config === undefined);
  test.each(messages)('$name', ({ message, wireHex }) => {
    const read = new Iso8583().getIsoJSON(Buffer.from(wireHex, 'hex'), { lenHeader: false });
    expect(read).toEqual(byNumber(message as Type1Message));
  });
});

function byNumber(message: Type1Message): Numbered {
  const values: Numbered = { 0: message.mti };
  const put = (table: Record<string, Field>, prefix: string, holder: Record<string, unknown>) => {
    for (const [number, field] of Object.entries(table)) {
      const value = holder[field.name];
      if (value === undefined) continue;
      if (field.kind === 'bitmapped') {
        put(field.fields as Record<string, Field>, `${prefix}${number}.`, value as Record<string, unknown>);
      } else values[`${prefix}${number}`] = numbered(value);
    }
  };
  put(fields, '', message);
  return values;
}

describe('the package iso_8583 is wrong', () => {
  test('the package iso_8583 is wrong about DE58: its length has three digits', () => {
    const ours = Buffer.from(bytesOf({ ...CARRIER, authorizingAgentId: '123' }), 'hex').toString('latin1');
    expect(ours).toContain('003123');
    expect(Buffer.from(packedByPackage('58', '123'), 'hex').toString('latin1')).not.toContain('003123');
  });

  test('the package iso_8583 is wrong about 127.2: letters are allowed; digits are written in the same way', () => {
    expect(packedByPackage('127.2', 'ABC')).toContain("127.2: provided data is not of type 'n'");
    expect(bytesOf({ ...CARRIER, switchData: { switchKey: '123' } })).toBe(packedByPackage('127.2', '123'));
  });

  test('the package iso_8583 is wrong about DE64, DE96 and DE128: they have eight bytes, not four', () => {
    for (const field of ['64', '96', '128'])
      expect(packedByPackage(field, '0102030405060708')).toContain(`invalid length of data on field ${field}`);
    expect(bytesOf({ ...CARRIER, mac: new Uint8Array(8).fill(1) })).toMatch(/(01){8}$/);
  });

  test('the package iso_8583 is wrong about 127.32: it contains binary data as bytes', () => {
    expect(bytesOf({ ...CARRIER, switchData: { ucafData: Uint8Array.of(0xab, 0xcd) } })).toMatch(/3032abcd$/);
    expect(packedByPackage('127.32', Uint8Array.of(0xab, 0xcd))).toMatch(/303461626364$/);
  });

  test('the package iso_8583 is wrong about a truncated message: it is read as if nothing were missing', () => {
    const [tap] = samples;
    const cut = Buffer.from(tap!.wireHex, 'hex').subarray(0, 100);
    expect(new Iso8583().getIsoJSON(cut, { lenHeader: false })).toMatchObject({ 0: '0200', 41: '' });
    expect(() => codecs.bitmap.decode(cut)).toThrow();
  });
});
