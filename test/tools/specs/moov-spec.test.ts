import { describe, expect, test } from 'vitest';
import { toHex } from '../../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../../src/codecs/iso8583/codec.ts';
import { binary, text, track2 } from '../../../src/codecs/iso8583/fields.ts';
import { defineSpec } from '../../../src/codecs/iso8583/spec.ts';
import { readMoovSpec, writeMoovSpec } from '../../../src/tools/specs/moov-spec.ts';
import { diffSpecs, Findings } from '../../../src/tools/specs/spec-diff.ts';
import { readAs } from './packager.ts';

const MTI = { type: 'String', length: 4, description: 'MTI', enc: 'ASCII', prefix: 'ASCII.Fixed' };
const BITMAP = { type: 'Bitmap', description: 'Bitmap', enc: 'Binary', prefix: 'Hex.Fixed' };
const specWith = (fields: object, bitmap: object = BITMAP) => ({
  name: 'network',
  fields: { 0: MTI, 1: bitmap, ...fields },
});
const row = (type: string, length: number, enc: string, prefix: string, more = {}) => ({
  type,
  length,
  description: 'Value',
  enc,
  prefix,
  ...more,
});
const LEFT_ZEROS = { padding: { type: 'Left', pad: '0' } };

function wireOf(field: object, value: unknown): string {
  const { spec } = readAs('m.json', specWith({ 2: field }));
  return toHex(compileSpec(spec).toBytes({ mti: '0100', value } as never)).slice(24);
}

describe('the bytes of a field are those of its type, encoding, prefix and padding', () => {
  test.each([
    [row('String', 19, 'ASCII', 'ASCII.LL'), '12', '30323132'],
    [row('Numeric', 6, 'ASCII', 'ASCII.Fixed', LEFT_ZEROS), '000012', '303030303132'],
    [row('String', 19, 'BCD', 'BCD.LL'), '123', '030123'],
    [row('String', 19, 'LBCD', 'Binary.L'), '123', '031230'],
    [row('String', 9, 'EBCDIC1047', 'EBCDIC.LL'), 'A[', 'F0F2C1AD'],
    [row('String', 4, 'ASCII', 'ASCII.Fixed', { padding: { type: 'Right', pad: ' ' } }), 'ab', '61622020'],
    [row('Binary', 99, 'Binary', 'Hex.L'), Uint8Array.of(0xab), '3031AB'],
    [row('Hex', 2, 'HexToASCII', 'ASCII.Fixed'), Uint8Array.of(0xab, 1), '41423031'],
    [row('String', 2, 'ASCIIToHex', 'Hex.Fixed'), Uint8Array.of(0xab, 1), 'AB01'],
    [row('Track2', 37, 'ASCII', 'ASCII.LL'), '4111=30', '3037343131313D3330'],
  ])('%j has the bytes of moov', (field, value, wire) => {
    expect(wireOf(field, value)).toBe(wire);
  });

  test('subfields have a bitmap, tags or an order', () => {
    const part = row('String', 9, 'ASCII', 'ASCII.LL');
    const composite = { type: 'Composite', length: 99, description: 'Value', prefix: 'ASCII.LL' };
    const bitmap = { ...BITMAP, length: 1, disableAutoExpand: true };
    expect(wireOf({ ...composite, bitmap, subfields: { 2: part } }, { value: 'x' })).toBe('303440303178');
    const tag = { length: 2, enc: 'ASCII', sort: 'StringsByInt', padding: { type: 'Left', pad: '0' } };
    expect(wireOf({ ...composite, tag, subfields: { 2: part } }, { value: 'x' })).toBe('30353032303178');
    const ordered = {
      ...composite,
      tag: { sort: 'StringsByInt' },
      subfields: { 10: { ...part, description: 'b' }, 9: part },
    };
    expect(wireOf(ordered, { value: 'x', b: 'y' })).toBe('3036303178303179');
  });

  test('BER-TLV is kept as bytes with the allowed tags', () => {
    const subfields = { '9F02': row('String', 6, 'BCD', 'BerTLV') };
    const field = {
      type: 'Composite',
      length: 255,
      prefix: 'Binary.L',
      tag: { enc: 'BerTLVTag', sort: 'StringsByHex' },
      subfields,
    };
    expect(readAs('m.json', specWith({ 55: field })).spec.fields[55]).toMatchObject({ kind: 'tlv', allow: [0x9f02] });
  });

  test('a bitmap of 16 bytes is always written as a whole, one of 8 bytes announces the next', () => {
    expect(readAs('m.json', specWith({}, { ...BITMAP, length: 16 })).spec.bitmap).toMatchObject({
      form: 'fixed',
      blocks: 2,
    });
    expect(readAs('m.json', specWith({})).spec.bitmap).toEqual({ encoding: 'binary' });
  });
});

describe('what the form of this gateway cannot express is refused with field and property', () => {
  test.each([
    [
      'a code page of its own',
      row('String', 9, 'EBCDIC', 'ASCII.LL'),
      'm.json: field 2, String with enc EBCDIC: its table writes | as 6A',
    ],
    [
      'a length that differs on reading',
      row('String', 8, 'HexToASCII', 'Hex.Fixed'),
      'field 2, String with enc HexToASCII, prefix Hex.Fixed: ',
    ],
    ['padding under a prefix', row('String', 9, 'ASCII', 'ASCII.LL', LEFT_ZEROS), 'field 2, padding: '],
    ['a length of four bytes', row('String', 9, 'ASCII', 'Binary.LLLL'), 'field 2, prefix Binary.LLLL: '],
    ['an unknown type', row('Money', 9, 'ASCII', 'ASCII.LL'), 'field 2, Money with enc ASCII: no such value here'],
    ['an unknown prefix', row('String', 9, 'ASCII', 'None.Fixed'), 'field 2, prefix None.Fixed: no such length here'],
    [
      'elements with different lengths',
      {
        type: 'Composite',
        length: 99,
        prefix: 'ASCII.LL',
        tag: { length: 2, enc: 'ASCII', sort: 'StringsByInt' },
        subfields: { '01': row('String', 9, 'ASCII', 'ASCII.LL'), '02': row('String', 9, 'ASCII', 'ASCII.LLL') },
      },
      'field 2, subfields: all elements have one kind of length prefix',
    ],
  ])('%s is refused', (_what, field, reason) => {
    expect(() => readAs('m.json', specWith({ 2: field }))).toThrow(reason);
  });

  test('a field whose bit announces a bitmap is refused', () => {
    const field = row('Binary', 1, 'Binary', 'Binary.Fixed');
    expect(() => readAs('m.json', specWith({ 65: field }))).toThrow('field 65: its bit announces a bitmap');
  });
});

describe('export', () => {
  const spec = defineSpec({
    name: 'network',
    mti: { encoding: 'bcd' },
    bitmap: { encoding: 'hex' },
    fields: {
      41: text({ name: 'tid', characters: 8, content: 'any', pad: { side: 'right', with: ' ', strip: true } }),
      52: binary({ name: 'pinBlock', bytes: 8 }),
      100: text({ name: 'institution', characters: 11, content: 'any', prefix: 'LL' }),
    },
  });

  test('an exported spec is read back with the same bytes', () => {
    const written = JSON.parse(writeMoovSpec(spec, new Findings('network')));
    expect(diffSpecs(spec, readMoovSpec(written, 'again', new Findings('again')).spec)).toEqual([]);
  });

  test('an export names every field that moov cannot express', () => {
    const other = {
      ...spec,
      headerBytes: 4,
      fields: { ...spec.fields, 35: track2({ name: 'track2', encoding: 'bcd', prefix: 'LL' }) },
    };
    expect(() => writeMoovSpec(other, new Findings('network'))).toThrow(
      /headerBytes: .*\nnetwork: field 35: moov has no z in bcd/,
    );
  });
});
