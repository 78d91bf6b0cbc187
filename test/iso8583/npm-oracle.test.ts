/**
 * Type 1 compared with the package `iso_8583`, which models the same dialect: equal where the package is right, and a
 * test where it is wrong.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spec as type1Spec } from '../../processors/type-1/spec.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import type { BitmappedField, Field, FieldTable, TextField } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import { messages } from './message-arbitrary.ts';
import { type NpmFields, npmDecode, npmEncode } from './npm-iso-8583.ts';
import { refusalOf } from './refusal-of.ts';

/** Fields that have another length or type in the package than in the dialect. */
const OTHERWISE_THERE: Readonly<Record<string, string>> = {
  '36': 'digits only there',
  '55': 'text there',
  '64': '4 bytes there',
  '96': '4 bytes there',
  '120': 'digits only there',
  '121': 'digits only there',
  '122': 'digits only there',
  '58': 'LL there, LLL in the dialect',
  '127.2': 'digits only there',
  '127.32': 'bytes that it reads as UTF-8',
  '128': '4 bytes there',
};

/** Type 1 without those, and with the secondary bitmap that the package always writes. */
const comparable = defineSpec({
  ...type1Spec,
  bitmap: { encoding: 'binary', blocks: 2 },
  fields: without(type1Spec.fields, ''),
});
const codec = compileSpec(comparable);

function without(fields: FieldTable, path: string): FieldTable {
  const kept: Record<string, Field> = {};
  for (const [key, field] of Object.entries(fields as Readonly<Record<string, Field>>)) {
    if (path + key in OTHERWISE_THERE) continue;
    if (field.kind === 'bitmapped') kept[key] = { ...field, fields: without(field.fields, `${path + key}.`) };
    else kept[key] = field.kind === 'text' && field.content === 'any' ? { ...field, content: 'ans' } : field; // UTF-8 there
  }
  return kept;
}

/** A message in the terms of the package: flat, by number, bytes in hex; fixed fields with their length on the wire. */
function npmFields(message: { mti: string }): NpmFields {
  const flat: NpmFields = { 0: message.mti };
  flatten(comparable.fields, message, '', flat);
  return flat;
}

function flatten(fields: FieldTable, record: object, path: string, flat: NpmFields): void {
  for (const [key, field] of Object.entries(fields)) {
    const value = (record as Record<string, unknown>)[field.name];
    if (typeof value === 'string') flat[path + key] = padded(field as TextField, value);
    else if (value instanceof Uint8Array) flat[path + key] = toHex(value);
    else if (value !== undefined) flatten((field as BitmappedField).fields, value as object, `${path + key}.`, flat);
  }
}

function padded({ pad, max }: TextField, value: string): string {
  return pad === undefined ? value : value.padEnd(max);
}

/**
 * Messages without what the package does not support: an unknown MTI, empty values and composites, `#`, DE127 alone.
 */
const readable = messages(comparable).map(
  (message) => withoutEmpty({ posDataCode: 'A1', ...message, mti: '0200' }) as TestMessage,
);

const bytesOf = (message: object) => codec.toBytes(message as Parameters<typeof codec.toBytes>[0]);

type TestMessage = { mti: string; switchData?: { icc?: unknown } };

function withoutEmpty(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('#', '*');
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, withoutEmpty(inner)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== '' && !isEmptyObject(inner)));
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof Uint8Array) && Object.keys(value as object).length === 0;
}

describe('cases in which the package is right', () => {
  test('writes the same bytes for the same message', () => {
    fc.assert(
      fc.property(readable, (complete) => {
        const { icc: _, ...switchData } = complete.switchData ?? {};
        const message = withoutEmpty({ ...complete, switchData }) as TestMessage;
        const theirs = npmEncode(npmFields(message));
        expect('error' in theirs ? theirs.error : toHex(theirs)).toBe(toHex(bytesOf(message)));
      }),
      { numRuns: 60 },
    );
  });

  test('reads the same fields from the same bytes', () => {
    fc.assert(
      fc.property(readable, (message) => {
        const theirs = npmDecode(bytesOf(message)) as NpmFields;
        const lowerCase = Object.entries(npmFields(message)).map(([path, value]) => [path, value.toLowerCase()]);
        const read = Object.entries(theirs).map(([path, value]) => [path, value.toLowerCase()]);
        expect(Object.fromEntries(read)).toEqual(Object.fromEntries(lowerCase));
      }),
      { numRuns: 60 },
    );
  });
});

/** A row of the table in `test/README.md`: how the package reads bytes that Tapwire refuses. */
describe('cases in which the package is wrong: bytes that it accepts', () => {
  test.each<[what: string, hex: string, code: string, theirs: NpmFields]>([
    ['a fixed field that is cut off is shortened', '30323030200000000000000030', 'TRUNCATED', { 3: '0' }],
    ['a variable field that is cut off is shortened', '303230304000000000000000313634', 'TRUNCATED', { 2: '4' }],
    ['a length in letters counts as none', '303230304000000000000000585834313131', 'LENGTH_INVALID', { 2: '' }],
    [
      'bytes behind the last field are dropped',
      '30323030200000000000000030303030303058',
      'TRAILING_BYTES',
      { 3: '000000' },
    ],
    ['letters are read as digits', '303230302000000000000000414243444546', 'CONTENT_INVALID', { 3: 'ABCDEF' }],
    [
      'a PAN of 20 digits is read',
      `3032303040000000000000003230${'34'.repeat(20)}`,
      'LENGTH_TOO_LONG',
      { 2: '4'.repeat(20) },
    ],
    ['a missing bitmap is an empty message', '30323030', 'TRUNCATED', {}],
  ])('%s', (_what, hex, code, theirs) => {
    expect(npmDecode(fromHex(hex))).toEqual({ 0: '0200', ...theirs });
    expect(refusalOf(() => compileSpec(type1Spec).decode(fromHex(hex))).code).toBe(code);
  });
});

describe('cases in which the package is wrong: messages that it refuses, or writes differently', () => {
  const type1 = compileSpec(type1Spec);
  const posDataCode = 'A10101511344101';

  test('refuses an empty value of a variable field', () => {
    expect(npmEncode({ 0: '0200', 48: '', 123: posDataCode })).toHaveProperty('error');
    const bytes = type1.toBytes({ mti: '0200', additionalData: '', posDataCode });
    expect(type1.decode(bytes).additionalData).toBe('');
  });

  test('refuses the special characters @, # and \\', () => {
    expect(npmEncode({ 0: '0200', 48: 'a@b', 123: posDataCode })).toHaveProperty('error');
    const bytes = type1.toBytes({ mti: '0200', additionalData: 'a@b#c\\d', posDataCode });
    expect(type1.decode(bytes).additionalData).toBe('a@b#c\\d');
  });

  test('allows a letter after the sign of an amount', () => {
    const theirs = npmEncode({ 0: '0200', 28: 'CX0000000', 123: posDataCode }) as Buffer;
    expect(refusalOf(() => type1.decode(theirs))).toMatchObject({ code: 'CONTENT_INVALID', field: '28' });
  });

  test('omits the fixed elements of DE127.25', () => {
    const icc = { amountAuthorized: '000000001234', terminalType: '21' };
    const bytes = type1.toBytes({ mti: '0200', posDataCode, switchData: { switchKey: '0123456789AB', icc } });
    const fields = npmDecode(bytes) as NpmFields;
    expect(fields).toMatchObject({ '127.25.2': '000000001234', '127.25.23': '21' });
    expect(toHex(npmEncode({ ...fields, '127.25.1': '4000020000000000' }) as Buffer)).not.toBe(toHex(bytes));
  });

  test('has a MAC of 4 bytes instead of 8 in DE128', () => {
    const mac = fromHex('0123456789ABCDEF');
    const bytes = type1.toBytes({ mti: '0200', posDataCode, mac });
    expect(npmDecode(bytes)).toMatchObject({ 128: '01234567' });
    expect(type1.decode(bytes).mac).toEqual(mac);
  });

  test('reads binary data of DE127.32 as UTF-8 and loses it', () => {
    const ucafData = fromHex('C3FF');
    const bytes = type1.toBytes({ mti: '0200', posDataCode, switchData: { ucafData } });
    expect((npmDecode(bytes) as NpmFields)['127.32']).toBe('\ufffd\ufffd');
    expect(type1.decode(bytes).switchData?.ucafData).toEqual(ucafData);
  });

  test('reads past the end of DE127 if its length says so', () => {
    const bytes = type1.toBytes({ mti: '0200', posDataCode, switchData: { switchKey: '0123456789AB' } });
    const shorter = Buffer.from(bytes);
    shorter.write('000021', shorter.length - 28, 'latin1');
    expect(npmDecode(shorter)).toMatchObject({ '127.2': '0123456789AB' });
    expect(refusalOf(() => type1.decode(shorter))).toMatchObject({ code: 'TRUNCATED', field: '127.2' });
  });
});
