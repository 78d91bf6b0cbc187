import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { alphanumeric, binary, bitmapped, numeric, text } from '../../src/codecs/iso8583/fields.ts';
import { defineSpec, type MessageOf } from '../../src/codecs/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';

const spec = defineSpec({
  name: 'small',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, minDigits: 12, prefix: 'LL' }),
    3: numeric({ name: 'processingCode', digits: 6 }),
    41: text({ name: 'terminalId', characters: 8 }),
    52: binary({ name: 'pinBlock', bytes: 8 }),
    123: alphanumeric({ name: 'posDataCode', characters: 15, prefix: 'LLL' }),
    127: bitmapped({
      name: 'postBridge',
      bytes: 999_999,
      prefix: 'LLLLLL',
      bitmap: { bytes: 8 },
      fields: { 2: text({ name: 'switchKey', characters: 32, prefix: 'LL' }) },
    }),
  },
});
const codec = compileSpec(spec);
const message: MessageOf<typeof spec> = {
  mti: '0200',
  pan: '4111111111111111',
  processingCode: '000000',
  terminalId: 'TERM0001',
  pinBlock: fromHex('0123456789ABCDEF'),
  posDataCode: 'A1010151134C101',
  postBridge: { switchKey: '0000000001234' },
};

describe('a compiled spec', () => {
  test('writes MTI, bitmaps, lengths and fields in order of their numbers, for any order of the object', () => {
    const reversed = Object.fromEntries(Object.entries(message).reverse()) as typeof message;
    expect(toHex(codec.toBytes(reversed))).toBe(
      '30323030E0000000008010000000000000000022' +
        '313634313131313131313131313131313131' +
        '303030303030' +
        '5445524D30303031' +
        '0123456789ABCDEF' +
        '303135413130313031353131333443313031' +
        '3030303032334000000000000000' +
        '313330303030303030303031323334',
    );
  });

  test('reads back what it wrote, as a plain object with the names of the spec', () => {
    const decoded = codec.decode(codec.toBytes(message));
    expect({ ...decoded, pinBlock: toHex(decoded.pinBlock!) }).toEqual({ ...message, pinBlock: '0123456789ABCDEF' });
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
  });

  test('leaves the secondary bitmap out if no field needs it', () => {
    expect(toHex(codec.toBytes({ mti: '0800', processingCode: '990000' }))).toBe(
      '303830302000000000000000393930303030',
    );
  });

  test('writes into a given target from an offset and returns the end', () => {
    const target = new Uint8Array(64).fill(0xee);
    const end = codec.encode({ mti: '0800', processingCode: '990000' }, target, 2);
    expect(end).toBe(20);
    expect([target[1], target[2], target[end]]).toEqual([0xee, 0x30, 0xee]);
  });

  test('reads a message within other bytes', () => {
    const bytes = new Uint8Array(200);
    const end = codec.encode(message, bytes, 3);
    expect(codec.decode(bytes, 3, end).postBridge).toEqual({ switchKey: '0000000001234' });
  });

  test('refuses every prefix of a message, with an offset inside it', () => {
    const bytes = codec.toBytes(message);
    for (let length = 0; length < bytes.length; length++) {
      const error = refusalOf(() => codec.decode(bytes.subarray(0, length)));
      expect(error.offset).toBeLessThanOrEqual(length);
    }
  });

  test('names the subfield with its path and prints nothing of the fields before it', () => {
    const bytes = codec.toBytes(message);
    bytes[bytes.length - 14] = 0x00;
    const error = refusalOf(() => codec.decode(bytes));
    expect(error).toMatchObject({ code: 'LENGTH_INVALID', field: '127.2' });
    expect((error.partial as typeof message).pan).toBe('4111111111111111');
    expect(JSON.stringify(error) + String(error) + Object.keys(error).join()).not.toMatch(/4111|partial/);
  });

  test('refuses bytes after the last field', () => {
    const bytes = new Uint8Array([...codec.toBytes({ mti: '0800', processingCode: '990000' }), 0x30]);
    expect(refusalOf(() => codec.decode(bytes))).toMatchObject({ code: 'TRAILING_BYTES', field: '3', offset: 18 });
  });

  test.each([
    [{ pan: '41111111111' }, 'LENGTH_TOO_SHORT', '2'],
    [{ pan: '41111111111111111111' }, 'LENGTH_TOO_LONG', '2'],
    [{ pan: '4111x11111111111' }, 'CONTENT_INVALID', '2'],
    [{ processingCode: 0 }, 'VALUE_TYPE', '3'],
    [{ pinBlock: '0123456789ABCDEF' }, 'VALUE_TYPE', '52'],
    [{ panToken: '1' }, 'FIELD_UNKNOWN', 'panToken'],
    [{ postBridge: { switchKey: '\u0100' } }, 'CONTENT_INVALID', '127.2'],
    [{ mti: '02x0' }, 'CONTENT_INVALID', 'mti'],
    [{ mti: undefined }, 'VALUE_TYPE', 'mti'],
  ])('refuses to encode %o', (change, code, field) => {
    const wrong = { ...message, ...change } as unknown as typeof message;
    expect(refusalOf(() => codec.toBytes(wrong))).toMatchObject({ code, field });
  });

  test('refuses a target that is too small instead of writing past its end', () => {
    const target = new Uint8Array(64);
    const error = refusalOf(() => codec.encode(message, target.subarray(0, 40), 0));
    expect(error.code).toBe('TARGET_TOO_SMALL');
    expect(target.subarray(40).every((byte) => byte === 0)).toBe(true);
  });

  test('keeps nothing of a refused message', () => {
    refusalOf(() => codec.toBytes({ ...message, pan: 'x'.repeat(16) }));
    expect(Object.keys(codec.decode(codec.toBytes({ mti: '0800', processingCode: '990000' })))).toEqual([
      'mti',
      'processingCode',
    ]);
  });
});
