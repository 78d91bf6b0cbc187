import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ConnectionError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import {
  alpha,
  alphanumeric,
  binary,
  numeric,
  positional,
  signedAmount,
  tagged,
  text,
  tlv,
} from '../../src/codecs/iso8583/fields.ts';
import { parseSpec } from '../../src/codecs/iso8583/json-spec.ts';
import { maskerOf } from '../../src/codecs/iso8583/masker.ts';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import { checkFraming } from '../../src/codecs/iso8583/network/framing.ts';
import { readRecords, writeRecords } from '../../src/codecs/iso8583/network/record-files.ts';
import type { Field } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import { WireValues } from '../../src/codecs/iso8583/wire-fields.ts';
import { frameOf } from '../support/frame-of.ts';
import { refusalOf } from './refusal-of.ts';

/** Forms that dialects of real networks have, each with bytes as the network writes them. */

const ascii = (value: string) => Buffer.from(value, 'latin1').toString('hex').toUpperCase();

function codecOf<const F extends Field>(field: F) {
  const fields = { 48: field };
  return compileSpec(defineSpec({ name: 'one', mti: { encoding: 'ascii' }, bitmap: { encoding: 'binary' }, fields }));
}

const HEAD = `${ascii('0100')}0000000000010000`;

/** Decodes to `value`, encodes to the same bytes, and refuses every shorter message. */
function expectBothWays<Message>(
  codec: { decode(bytes: Uint8Array): Message; toBytes(message: Message): Uint8Array },
  hex: string,
  message: object,
): void {
  const bytes = fromHex(hex);
  expect(codec.decode(bytes)).toEqual(message);
  expect(toHex(codec.toBytes(message as Message))).toBe(hex);
  for (let length = 0; length < bytes.length; length++) {
    const prefix = bytes.subarray(0, length);
    const error = refusalOf(() => codec.decode(prefix));
    expect(error.offset).toBeLessThanOrEqual(length);
  }
}

describe('a part of fixed length and then elements', () => {
  const elements = tagged({
    name: 'elements',
    bytes: 998,
    end: 'rest',
    tag: { encoding: 'ascii', length: 2 },
    elementPrefix: 'LL',
    fields: {
      42: positional({
        name: 'commerce',
        bytes: 7,
        fields: [text({ name: 'subfield', characters: 4 }), numeric({ name: 'level', digits: 3 })],
      }),
    },
  });
  const codec = codecOf(
    positional({
      name: 'additional',
      bytes: 999,
      prefix: 'LLL',
      fields: [alpha({ name: 'category', characters: 1 }), elements],
    }),
  );

  test('is DE48 of Mastercard: the category of the transaction, then subelements', () => {
    const message = {
      mti: '0100',
      additional: { category: 'R', elements: { commerce: { subfield: '0103', level: '210' } } },
    };
    expectBothWays(codec, HEAD + ascii('012R42070103210'), message);
  });

  test('may lack the elements', () => {
    expectBothWays(codec, HEAD + ascii('001R'), { mti: '0100', additional: { category: 'R' } });
  });

  test('the rest can be text', () => {
    const rest = codecOf(
      positional({
        name: 'x',
        bytes: 9,
        prefix: 'L',
        fields: [numeric({ name: 'a', digits: 2 }), text({ name: 'b', characters: 4, end: 'rest' })],
      }),
    );
    expectBothWays(rest, HEAD + ascii('512abc'), { mti: '0100', x: { a: '12', b: 'abc' } });
    expect(refusalOf(() => rest.decode(fromHex(HEAD + ascii('712abcde')))).code).toBe('LENGTH_TOO_LONG');
  });

  test.each([
    ['a message', text({ name: 'x', characters: 4, end: 'rest' })],
    [
      'rows before the last one',
      positional({
        name: 'x',
        bytes: 9,
        prefix: 'L',
        fields: [text({ name: 'a', characters: 4, end: 'rest' }), numeric({ name: 'b', digits: 1 })],
      }),
    ],
  ])('%s cannot have the rest', (_what, field) => {
    expect(refusalOf(() => codecOf(field as Field)).code).toBe('SPEC_INVALID');
  });
});

describe('a header that states its own length', () => {
  const spec = defineSpec({
    name: 'visa',
    headerBytes: { lengthOffset: 0, min: 22, max: 26 },
    mti: { encoding: 'bcd' },
    bitmap: { encoding: 'binary' },
    encodings: { digits: 'bcd' },
    fields: { 11: numeric({ name: 'stan', digits: 6 }) },
  });
  const codec = compileSpec(spec);
  const standard = `160102002A0000000000${'00'.repeat(12)}`;
  const rejected = `1A0102002E0000000000${'00'.repeat(12)}80000512`;

  test.each([
    ['standard', standard],
    ['reject', rejected],
  ])('reads a %s header of Visa', (_kind, header) => {
    const message = { mti: '0800', header: Buffer.from(fromHex(header)), stan: '000001' };
    const bytes = fromHex(`${header}08000020000000000000000001`);
    const decoded = codec.decode(bytes);
    expect({ ...decoded, header: Buffer.from(decoded.header!) }).toEqual(message);
    expect(toHex(codec.toBytes(decoded))).toBe(toHex(bytes));
  });

  test('refuses a header of another length, both ways', () => {
    expect(refusalOf(() => codec.decode(fromHex(`15${standard.slice(2)}0800`)))).toMatchObject({ field: 'header' });
    expect(refusalOf(() => codec.decode(fromHex('16')))).toMatchObject({ code: 'TRUNCATED', field: 'header' });
    const message = { mti: '0800', header: new Uint8Array(22).fill(21) };
    expect(refusalOf(() => codec.toBytes(message))).toMatchObject({ code: 'CONTENT_INVALID', field: 'header' });
  });

  test('keeps its length when the message is masked', () => {
    const masked = maskerOf(spec).mask(fromHex(`${rejected}08000020000000000000000001`))!;
    expect(codec.decode(masked).header![0]).toBe(26);
  });
});

describe('a third bitmap', () => {
  const fields = {
    11: numeric({ name: 'stan', digits: 6 }),
    100: numeric({ name: 'institution', digits: 4 }),
    130: numeric({ name: 'beyond', digits: 2 }),
  };
  const define = (thirdAt: 65 | 128 | undefined) =>
    compileSpec(
      defineSpec({ name: 'third', mti: { encoding: 'ascii' }, bitmap: { encoding: 'binary', thirdAt }, fields }),
    );
  const message = { mti: '0800', stan: '000001', institution: '1234', beyond: '99' };
  const first = `${ascii('0800')}8020000000000000`;

  test.each([
    [undefined, `${first}80000000100000004000000000000000${ascii('000001')}${ascii('1234')}${ascii('99')}`],
    [65, `${first}8000000010000000${ascii('000001')}4000000000000000${ascii('1234')}${ascii('99')}`],
    [128, `${first}0000000010000001${ascii('000001')}${ascii('1234')}4000000000000000${ascii('99')}`],
  ] as const)('is where the dialect has it (%s)', (thirdAt, hex) => {
    expectBothWays(define(thirdAt), hex, message);
  });

  test('is absent if no field needs it', () => {
    expect(toHex(define(128).toBytes({ mti: '0800', institution: '1234' }))).toBe(
      `${ascii('0800')}80000000000000000000000010000000${ascii('1234')}`,
    );
  });

  test('takes the number of its field', () => {
    const taken = { ...fields, 128: binary({ name: 'mac', bytes: 8 }) };
    const spec = defineSpec({
      name: 'x',
      mti: { encoding: 'ascii' },
      bitmap: { encoding: 'binary', thirdAt: 128 },
      fields: taken,
    });
    expect(refusalOf(() => compileSpec(spec))).toMatchObject({ code: 'SPEC_INVALID', field: '128' });
  });
});

describe('elements whose length', () => {
  const tag = { encoding: 'ascii', length: 2 } as const;
  const fields = {
    14: alphanumeric({ name: 'visa', characters: 9, minCharacters: 0 }),
    22: numeric({ name: 'host', digits: 4 }),
  };

  test('precedes the tag and counts it, as tables of DE63 of First Data', () => {
    const field = tagged({
      name: 'tables',
      bytes: 999,
      prefix: { digits: 4, encoding: 'bcd' },
      tag,
      elementPrefix: { digits: 4, encoding: 'bcd' },
      first: 'length',
      lengthCounts: ['tag'],
      unknown: 'keep',
      fields,
    });
    const codec = codecOf(field);
    const others = [{ at: 2, tag: '55', value: Uint8Array.of(0x01, 0x02) }];
    const message = { mti: '0100', tables: { host: '0001', visa: 'AB', others } };
    expectBothWays(codec, `${HEAD}00200006${ascii('220001')}0004${ascii('14AB')}0004${ascii('55')}0102`, message);
    expect(refusalOf(() => codec.decode(fromHex(`${HEAD}00040001${ascii('22')}`)))).toMatchObject({
      code: 'LENGTH_INVALID',
    });
    expect(refusalOf(() => codec.decode(fromHex(`${HEAD}00040009${ascii('22')}`)))).toMatchObject({
      code: 'TRUNCATED',
    });
  });

  test.each([
    [['tag', 'length'], '00714AB'],
    [['length'], '00514AB'],
    [['tag'], '00414AB'],
    [[], '00214AB'],
  ] as const)('counts %j', (lengthCounts, wire) => {
    const row = {
      name: 'tokens',
      bytes: 99,
      prefix: 'LL',
      tag,
      elementPrefix: 'LLL',
      first: 'length',
      fields,
    } as const;
    expectBothWays(codecOf(tagged({ ...row, lengthCounts })), HEAD + ascii(`07${wire}`), {
      mti: '0100',
      tokens: { visa: 'AB' },
    });
  });
});

describe('values between separators', () => {
  const codec = codecOf(
    positional({
      name: 'acceptor',
      bytes: 99,
      prefix: 'LL',
      separator: 0x5c,
      fields: [
        text({ name: 'name', characters: 22, minCharacters: 1 }),
        text({ name: 'street', characters: 48, minCharacters: 0 }),
        text({ name: 'city', characters: 13, minCharacters: 0 }),
        text({ name: 'area', characters: 16 }),
      ],
    }),
  );

  test('are DE43 of Mastercard clearing', () => {
    const acceptor = { name: 'ACME', street: '1 HIGH STREET', city: '', area: 'EC1A 1BB  LNDGBR' };
    const wire = 'ACME\\1 HIGH STREET\\\\EC1A 1BB  LNDGBR';
    expectBothWays(codec, HEAD + ascii(wire.length + wire), { mti: '0100', acceptor });
  });

  test('may be fewer, and are never more or longer', () => {
    expect(codec.decode(fromHex(HEAD + ascii('04ACME'))).acceptor).toEqual({ name: 'ACME' });
    expect(codec.decode(fromHex(HEAD + ascii('05ACME\\'))).acceptor).toEqual({ name: 'ACME', street: '' });
    const tooMany = 'A\\B\\C\\EC1A 1BB  LNDGBR\\';
    expect(refusalOf(() => codec.decode(fromHex(HEAD + ascii(tooMany.length + tooMany))))).toMatchObject({
      code: 'TRAILING_BYTES',
    });
    expect(refusalOf(() => codec.decode(fromHex(HEAD + ascii('02\\A')))).code).toBe('LENGTH_TOO_SHORT');
  });

  test('cannot contain the separator', () => {
    const wrong = { mti: '0100', acceptor: { name: 'A\\B' } };
    expect(refusalOf(() => codec.toBytes(wrong))).toMatchObject({ code: 'CONTENT_INVALID', field: '48.1' });
  });

  test('a field of a message can end at a delimiter, which it cannot contain', () => {
    const free = codecOf(text({ name: 'free', characters: 25, end: { until: 0x1c }, content: 'any' }));
    expectBothWays(free, `${HEAD}${ascii('free text')}1C`, { mti: '0100', free: 'free text' });
    expect(refusalOf(() => free.toBytes({ mti: '0100', free: 'a\u001cb' })).code).toBe('CONTENT_INVALID');
    expect(refusalOf(() => free.decode(fromHex(`${HEAD}${ascii('x'.repeat(26))}1C`))).code).toBe('LENGTH_TOO_LONG');
  });

  test.each(['0', 'A', 'z'])('%s is not a delimiter', (letter) => {
    const field = text({ name: 'free', characters: 25, end: { until: letter.charCodeAt(0) } });
    expect(refusalOf(() => codecOf(field)).code).toBe('SPEC_INVALID');
  });
});

describe('numbers', () => {
  test('a length can be little-endian', () => {
    const codec = codecOf(text({ name: 'free', characters: 999, prefix: { bytes: 2, encoding: 'binary-le' } }));
    expect(toHex(codec.toBytes({ mti: '0100', free: 'x'.repeat(258) })).slice(HEAD.length, HEAD.length + 4)).toBe(
      '0201',
    );
    expectBothWays(codec, `${HEAD}0300${ascii('abc')}`, { mti: '0100', free: 'abc' });
  });

  test('an amount can have the signs + and -', () => {
    const codec = codecOf(signedAmount({ name: 'fee', digits: 8, signs: '+-' }));
    expectBothWays(codec, HEAD + ascii('-00000150'), { mti: '0100', fee: '-00000150' });
    expect(refusalOf(() => codec.decode(fromHex(HEAD + ascii('C00000150')))).code).toBe('CONTENT_INVALID');
    expect(refusalOf(() => codec.toBytes({ mti: '0100', fee: '00000150-' })).code).toBe('CONTENT_INVALID');
  });
});

describe('TLV as text in hex', () => {
  const codec = codecOf(tlv({ name: 'chipData', bytes: 255, prefix: 'LLL', encoding: 'hex', allow: [0x9f02] }));

  test('has two characters for each byte', () => {
    const value = fromHex('9F0206000000001000');
    expectBothWays(codec, HEAD + ascii('0189F0206000000001000'), { mti: '0100', chipData: value });
  });

  test.each([
    ['0039F0', 'LENGTH_INVALID', 0],
    ['0069F02ZZ', 'CONTENT_INVALID', 4],
    ['0069F0206', 'TLV_INVALID', 6],
    ['0069F0300', 'TAG_UNKNOWN', 6],
  ])('%s is refused', (wire, code, at) => {
    const error = refusalOf(() => codec.decode(fromHex(HEAD + ascii(wire))));
    expect(error).toMatchObject({ code, offset: 15 + at });
  });

  test('is masked as TLV is', () => {
    const spec = defineSpec({
      name: 'masked',
      mti: { encoding: 'ascii' },
      bitmap: { encoding: 'binary' },
      fields: { 48: tlv({ name: 'chipData', bytes: 255, prefix: 'LLL', encoding: 'hex' }) },
    });
    const masked = maskerOf(spec).mask(fromHex(HEAD + ascii('0385A0841111111111111119F0206000000001000')))!;
    const text = Buffer.from(masked.subarray(12)).toString('latin1');
    expect(text).not.toContain('4111111111111111');
    expect(text).toMatch(/^0385A08.{16}9F0206000000001000$/);
  });
});

describe('a layout by MTI', () => {
  const spec = defineSpec({
    name: 'layouts',
    mti: { encoding: 'ascii' },
    bitmap: { encoding: 'binary' },
    fields: {
      11: numeric({ name: 'stan', digits: 6 }),
      48: text({ name: 'additional', characters: 99, prefix: 'LL' }),
    },
    rules: [{ mti: '0100', required: [48] }],
    layouts: [
      {
        mti: '08xx',
        fields: {
          48: positional({
            name: 'network',
            bytes: 4,
            fields: [numeric({ name: 'code', digits: 3 }), alpha({ name: 'flag', characters: 1 })],
          }),
        },
      },
      { mti: 'x4xx', fields: { 48: null, 90: numeric({ name: 'original', digits: 4, safe: true }) } },
    ],
  });
  const codec = compileSpec(spec);

  test.each([
    [`${ascii('0100')}0000000000010000${ascii('02ab')}`, { mti: '0100', additional: 'ab' }],
    [`${ascii('0810')}0000000000010000${ascii('301Y')}`, { mti: '0810', network: { code: '301', flag: 'Y' } }],
    [`${ascii('0420')}80000000000000000000004000000000${ascii('0200')}`, { mti: '0420', original: '0200' }],
  ])('%s is read with its own fields', (hex, message) => {
    expectBothWays(codec, hex, message);
  });

  test('gives its names to the compiler', () => {
    const message = codec.decode(fromHex(`${ascii('0810')}0000000000010000${ascii('301Y')}`));
    expect(message.network?.code).toBe('301');
    expect(message.original satisfies string | undefined).toBeUndefined();
  });

  test('a field of another layout is refused', () => {
    expect(refusalOf(() => codec.toBytes({ mti: '0400', additional: 'ab' }))).toMatchObject({ code: 'FIELD_UNKNOWN' });
    expect(refusalOf(() => codec.decode(fromHex(`${ascii('0420')}0000000000010000${ascii('02ab')}`)))).toMatchObject({
      code: 'FIELD_UNKNOWN',
      field: '48',
    });
  });

  test('is followed by masks and by MACs over fields', () => {
    const bytes = fromHex(`${ascii('0420')}80000000000000000000004000000000${ascii('0200')}`);
    expect(maskerOf(spec).mask(bytes)).toEqual(Buffer.from(bytes));
    const values = new WireValues(spec).turnTo(bytes, 0, bytes.length);
    expect(Buffer.from(values.valueOf('original')!).toString()).toBe('0200');
  });

  test('has a JSON form', () => {
    const json = {
      name: 'json',
      mti: { encoding: 'ascii' },
      bitmap: { encoding: 'binary' },
      fields: { 48: { name: 'additional', type: 'ans', max: 99, prefix: 'LL' } },
      layouts: [{ mti: '08xx', fields: { 48: null, 70: { name: 'code', type: 'n', length: 3 } } }],
    };
    const parsed = compileSpec(parseSpec(json));
    expect(parsed.toBytes({ mti: '0800', code: '301' } as never)).toHaveLength(23);
    expect(refusalOf(() => parseSpec({ ...json, layouts: [{ mti: '8', fields: {} }] }))).toMatchObject({
      code: 'SPEC_INVALID',
    });
  });
});

describe('a frame with a trailer, as BASE24 sends', () => {
  const framing = { lengthHeader: 'binary-2', maxFrameBytes: 1_000, trailer: Uint8Array.of(0x03) } as const;

  test('has a length that counts the trailer', () => {
    expect(toHex(frameOf(framing, Buffer.from('ISO')))).toBe(`0004${ascii('ISO')}03`);
  });

  test('is refused if other bytes are in its place', () => {
    const reader = new FrameReader(framing, () => expect.unreachable());
    expect(() => reader.push(fromHex(`0004${ascii('ISO')}04`))).toThrow(ConnectionError);
  });

  test.each([new Uint8Array(0), new Uint8Array(9)])('cannot have a trailer of any length', (trailer) => {
    expect(() => checkFraming({ ...framing, trailer })).toThrow('trailer must be');
  });
});

describe('a file of records', () => {
  const records = [Buffer.from('first record'), Buffer.from('x'.repeat(1_100))];
  /** SHA-256 of what the Python package cardutil 0.7 writes for the same two records. */
  const FOREIGN = {
    plain: '7d1178c704f7b42e98b527867e62f81b37565dfdf1f8091b34e16673b3805da0',
    blocked: 'beea67b6aef1b7131aa16291eea7e25fd8b2cbb21600fd56a921f5c387c757f3',
  };

  test.each([
    ['plain', false],
    ['blocked', true],
  ] as const)('a file of records of the form %s is what a foreign program writes, and is read again', (form, blocked) => {
    const file = writeRecords(records, { blocked });
    expect(createHash('sha256').update(file).digest('hex')).toBe(FOREIGN[form]);
    expect(Array.from(readRecords(file, { blocked }), (record) => Buffer.from(record))).toEqual(records);
  });

  test('a file of records of any number of records is read again', () => {
    for (const count of [0, 1, 7, 300]) {
      const some = Array.from({ length: count }, (_, n) => Buffer.alloc(1 + ((n * 397) % 2_000), n));
      for (const blocked of [false, true]) {
        const read = Array.from(readRecords(writeRecords(some, { blocked }), { blocked }), (record) =>
          Buffer.from(record),
        );
        expect(read).toEqual(some);
      }
    }
  });

  test.each([false, true])('a file of records that is cut is refused (blocked: %s)', (blocked) => {
    const file = writeRecords(records, { blocked });
    for (let length = 0; length < file.length; length += 13) {
      expect(() => Array.from(readRecords(file.subarray(0, length), { blocked }))).toThrow();
    }
  });

  test.each([
    ['a record longer than the limit', fromHex('00010000'), false, 'LENGTH_TOO_LONG'],
    ['bytes after the end', fromHex('0000000041'), false, 'TRAILING_BYTES'],
    ['a block with other fill bytes', new Uint8Array(1_014), true, 'PADDING_INVALID'],
  ])('a file of records with %s is refused', (_what, bytes, blocked, code) => {
    expect(refusalOf(() => Array.from(readRecords(bytes, { blocked }))).code).toBe(code);
  });

  test('cannot contain an empty record, which would end it', () => {
    expect(refusalOf(() => writeRecords([new Uint8Array(0)])).code).toBe('LENGTH_TOO_SHORT');
  });
});
