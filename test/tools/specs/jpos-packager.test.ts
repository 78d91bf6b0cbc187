import { describe, expect, test } from 'vitest';
import type1993 from '../../../processors/type-1993/index.ts';
import { toHex } from '../../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../../src/codecs/iso8583/codec.ts';
import { numeric, positional, tagged, text } from '../../../src/codecs/iso8583/fields.ts';
import { defineSpec } from '../../../src/codecs/iso8583/spec.ts';
import { readJposPackager, writeJposPackager } from '../../../src/tools/specs/jpos-packager.ts';
import { diffSpecs, Findings } from '../../../src/tools/specs/spec-diff.ts';
import { BITMAP, isofield, MTI, packager, readAs, subfields } from './packager.ts';

/** The bytes of a message with one field, after MTI and bitmap. */
function wireOf(row: string, value: unknown): string {
  const { spec } = readAs('p.xml', packager(row));
  const message = { mti: '0100', [Object.values(spec.fields)[0]!.name]: value };
  return toHex(compileSpec(spec).toBytes(message as never)).slice(24);
}

describe('the bytes of a field are those of its class', () => {
  test.each([
    ['IFA_LLNUM', 19, '', '123', '3033313233'],
    ['IFB_NUMERIC', 3, '', '123', '1230'],
    ['IFB_NUMERIC', 3, 'pad="true"', '123', '0123'],
    ['IFB_LLNUM', 19, '', '123', '031230'],
    ['IFB_LLHNUM', 19, 'pad="true"', '123', '030123'],
    ['IFB_FLLNUM', 19, '', '123', '03123F'],
    ['IFEB_LLNUM', 19, '', '123', 'F0F2123F'],
    ['IF_CHAR', 4, '', 'ab', '61622020'],
    ['IFE_LLLCHAR', 99, '', 'A[', 'F0F0F2C1AD'],
    ['IFAE_LLCHAR', 99, '', 'A1', '3032C1F1'],
    ['IFB_LLLHCHAR', 999, '', 'A1', '00024131'],
    ['IFA_BINARY', 2, '', Uint8Array.of(0xab, 0x01), '41423031'],
    ['IFA_LLLBINARY', 99, '', Uint8Array.of(0xab), '303031AB'],
    ['IFB_AMOUNT', 9, '', 'C00000100', '4300000100'],
    ['IFA_AMOUNT', 9, '', 'D00000100', '443030303030313030'],
  ])('a value of %s with length %i %s has the bytes of jPOS', (type, length, more, value, wire) => {
    expect(wireOf(isofield(2, type, length, more), value)).toBe(wire);
  });

  test('subfields have a bitmap of 8 bytes, or follow one another', () => {
    const within = [isofield(1, 'IFB_BITMAP', 8), isofield(2, 'IFA_LLCHAR', 9), isofield(3, 'IF_CHAR', 2)];
    expect(wireOf(subfields(48, '', ...within), { field2: 'x' })).toBe('0B4000000000000000303178');
    const listed = [
      isofield(0, 'IF_CHAR', 1),
      isofield(1, 'IFB_NUMERIC', 2),
      isofield(2, 'IFE_CHAR', 9, 'trim="true"'),
    ];
    const value = { field0: 'x', field1: '12', field2: 'A' };
    expect(wireOf(subfields(48, 'emitBitmap="false" firstField="0"', ...listed), value)).toBe('037812C1');
  });

  test('a header, an MTI and bitmaps in EBCDIC are read', () => {
    const { spec, notes } = readAs(
      'p.xml',
      `<isopackager headerLength="9">${isofield(0, 'IFE_NUMERIC', 4)}${isofield(1, 'IFE_BITMAP', 16)}${isofield(70, 'IFE_NUMERIC', 3)}</isopackager>`,
    );
    expect(spec).toMatchObject({ headerBytes: 9, mti: { encoding: 'cp1047' }, bitmap: { encoding: 'ebcdic-hex' } });
    expect(notes).toEqual([expect.stringContaining('no field above 32')]);
  });

  test('the third bitmap can be a field', () => {
    const rows = [MTI, BITMAP, isofield(65, 'IFB_BITMAP', 8), isofield(130, 'IF_CHAR', 1)];
    const { spec } = readAs('p.xml', `<isopackager thirdBitmapField="65">${rows.join('')}</isopackager>`);
    expect(spec.bitmap).toEqual({ encoding: 'binary', thirdAt: 65 });
    expect(Object.keys(spec.fields)).toEqual(['130']);
  });
});

describe('what the form of this gateway cannot express is refused with line, field and class', () => {
  test.each([
    ['an unknown class', isofield(2, 'IFX_NEW', 4), 'p.xml:4: field 2, class IFX_NEW: an unknown class'],
    [
      'a length before padding',
      isofield(2, 'IFA_FLLNUM', 19),
      'field 2, class IFA_FLLNUM: its prefix is the length before',
    ],
    ['a length that counts itself', isofield(2, 'IFB_LLHBINARY', 9, 'inclusive="true"'), 'field 2, inclusive: '],
    ['parameters of a class', isofield(2, 'IFA_LLNUM', 9, 'params="x"'), 'field 2, params: '],
    ['a length that its prefix cannot have', isofield(2, 'IFA_LLNUM', 100), 'field 2, length: 100 does not fit'],
    ['no length', isofield(2, 'IFA_LLNUM', 0), 'field 2, length: expected'],
    [
      'an odd sign with digits',
      isofield(28, 'IFB_AMOUNT', 8),
      'field 28, class IFB_AMOUNT: packed digits after a sign',
    ],
    ['a field without a number', isofield(-1, 'IFA_LLNUM', 9), 'field -1: a field has a number'],
    ['an element that is no field', '<isomsg id="3"/>', 'field 3: the element isomsg is no field'],
    ['a shorter field', isofield(2, 'IF_CHAR', 9, 'trim="true"'), 'field 2, trim: '],
    [
      'a bitmap of subfields that is a text',
      subfields(48, '', isofield(0, 'IF_CHAR', 1), isofield(1, 'IF_CHAR', 1)),
      'field 48, packager GenericSubFieldPackager: it takes subfield 1 for the bitmap',
    ],
    [
      'a bit with two meanings',
      subfields(48, 'bitmapField="0"', isofield(0, 'IFB_BITMAP', 16), isofield(1, 'IF_CHAR', 1)),
      'field 48.0, class IFB_BITMAP: subfield 1 and a second bitmap',
    ],
    [
      'a list with a gap',
      subfields(48, 'emitBitmap="false" firstField="0"', isofield(0, 'IF_CHAR', 1), isofield(2, 'IF_CHAR', 1)),
      'field 48.2: a subfield before it is missing',
    ],
    [
      'a packager in a class of its own',
      subfields(48, '', isofield(1, 'IF_CHAR', 1)).replace('GenericSubFieldPackager', 'OwnPackager'),
      'field 48, packager OwnPackager: ',
    ],
  ])('%s is refused', (_what, row, reason) => {
    expect(() => readAs('p.xml', packager(row))).toThrow(reason);
  });

  test('all faults of a file are reported together', () => {
    const rows = [isofield(2, 'IFX_ONE', 4), isofield(3, 'IFA_NUMERIC', 6), isofield(4, 'IFX_TWO', 4)];
    expect(() => readAs('p.xml', packager(...rows))).toThrow(/p\.xml:4: field 2, .*\n.*p\.xml:6: field 4, /);
  });

  test.each([
    ['no bitmap', `<isopackager>${MTI}${isofield(2, 'IFA_LLNUM', 19)}</isopackager>`, 'field 1: no bitmap'],
    [
      'a packager that writes no bitmap',
      packager().replace('<isopackager', '<isopackager emitBitmap="false"'),
      'emitBitmap',
    ],
    [
      'fields that its bitmap lacks',
      packager(isofield(129, 'IF_CHAR', 1)),
      'a bitmap of 16 bytes does not have every field',
    ],
    ['another document', '<isomsg/>', 'Expected an isopackager, not isomsg.'],
  ])('%s is refused', (_what, text, reason) => {
    expect(() => readAs('p.xml', text)).toThrow(reason);
  });
});

test('a field without bytes is left out, which is noted', () => {
  const { spec, notes } = readAs('p.xml', packager(isofield(2, 'IFA_LLNUM', 19), isofield(3, 'IF_NOP', 0)));
  expect(Object.keys(spec.fields)).toEqual(['2']);
  expect(notes).toEqual([expect.stringContaining('p.xml:5: field 3, class IF_NOP: it has no bytes')]);
});

test('of two fields with one number the later one counts, as in jPOS, which is noted', () => {
  const { spec, notes } = readAs('p.xml', packager(isofield(2, 'IFA_LLNUM', 19), isofield(2, 'IFB_LLNUM', 19)));
  expect(spec.fields[2]).toMatchObject({ max: 19 });
  expect(spec.encodings.digits).toBe('bcd-right');
  expect(notes).toEqual([expect.stringContaining('replaces an earlier field')]);
});

test('track 2 takes the separator that numbers do not have', () => {
  expect(wireOf(isofield(35, 'IFB_LLNUM', 37), '4111=30')).toBe('074111D300');
});

describe('export', () => {
  test('the exported packager of type-1993 is read back with the same bytes', () => {
    const written = writeJposPackager(type1993.spec, new Findings('type-1993'));
    const again = readJposPackager(written, 'again', new Findings('again.xml')).spec;
    // jPOS has bytes in place of the TLV of DE55.
    const differences = diffSpecs(type1993.spec, again).filter(({ field }) => field !== '55');
    const properties = new Set(differences.map(({ property }) => property));
    for (const property of properties) expect(['content', 'length', 'padding']).toContain(property);
  });

  test('an export names every field that no class of jPOS writes', () => {
    const spec = defineSpec({
      name: 'other',
      mti: { encoding: 'ascii' },
      bitmap: { encoding: 'hex-lower' },
      fields: {
        2: numeric({ name: 'pan', digits: 19, prefix: { digits: 2, encoding: 'hex' } }),
        48: tagged({
          name: 'private',
          bytes: 99,
          prefix: 'LL',
          tag: { encoding: 'ascii', length: 2 },
          elementPrefix: 'LL',
          fields: { '01': text({ name: 'one', characters: 9 }) },
        }),
        60: positional({
          name: 'parts',
          bytes: 9,
          prefix: 'LL',
          separator: 0x1c,
          fields: [text({ name: 'a', characters: 4 })],
        }),
      },
    });
    expect(() => writeJposPackager(spec, new Findings('other'))).toThrow(
      /other: field bitmap: .*hex-lower\nother: field 2: .*\nother: field 48: .*\nother: field 60: /,
    );
  });
});
