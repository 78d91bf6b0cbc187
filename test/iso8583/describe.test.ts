import { describe, expect, test } from 'vitest';
import { samples } from '../../processors/type-1/samples.ts';
import { spec as type1 } from '../../processors/type-1/spec.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { describeMessage, messageRows } from '../../src/codecs/iso8583/describe.ts';
import { numeric, tagged, text, tlv, track2 } from '../../src/codecs/iso8583/fields.ts';
import { diffMessages, messageFromJson, messageToJson } from '../../src/codecs/iso8583/message-inspection.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';
import { specs } from './specs.ts';

const spec = defineSpec({
  name: 'described',
  headerBytes: 2,
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, prefix: 'LL', title: 'Primary account number' }),
    4: numeric({ name: 'amount', digits: 12, safe: true }),
    35: track2({ name: 'track2', prefix: 'LL' }),
    44: text({ name: 'tvr', characters: 10, safe: true, emvTag: 0x95 }),
    45: text({ name: 'free', characters: 99, prefix: 'LL', content: 'any', safe: true }),
    48: tagged({
      name: 'privateData',
      bytes: 99,
      prefix: 'LL',
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: 'LL',
      unknown: 'keep',
      fields: { A1: text({ name: 'appId', characters: 9, minCharacters: 0, safe: true }) },
    }),
    55: tlv({ name: 'chipData', bytes: 255, prefix: 'LLL' }),
  },
});

const PAN = '4111111111111111';
const message = {
  header: fromHex('60FF'),
  mti: '0100',
  pan: PAN,
  amount: '000000001234',
  track2: `${PAN}D30122010000000`,
  tvr: '8000000000',
  free: 'a\u001b[31m\u00e9',
  privateData: { appId: 'app', others: [{ at: 0, tag: 'Z9', value: fromHex('414141') }] },
  chipData: fromHex(`9F02060000000012345A08${PAN}9F2608112233445566778895058000000000`),
};

describe('a described message', () => {
  test('shows what is safe, masks the PAN, and withholds the rest', () => {
    expect(describeMessage(spec, message)).toEqual([
      'header   header                  b 2        [withheld, 2 bytes]',
      'mti      message type            n 4        0100 (authorization request, acquirer, ISO 8583:1987)',
      '2        Primary account number  n ..19     411111******1111',
      '4        amount                  n 12       000000001234',
      '35       track2                  z ..37     [withheld, 31 characters]',
      '         - PAN 411111******1111',
      '44       tvr                     ans 10     8000000000',
      '         - byte 1 bit 8: Offline data authentication was not performed',
      '45       free                    any ..99   a\\x1B[31m\\xE9',
      '48       privateData',
      '  48.Z9  unknown                            [withheld, 3 bytes]',
      '  48.A1  appId                   ans ..9    app',
      '55       chipData                TLV ..255  37 bytes',
      '         9F02   Amount, Authorised (Numeric)  000000001234',
      '         5A     Application Primary Account Number (PAN)  [withheld, 8 bytes]',
      '                - PAN 411111******1111',
      '         9F26   Application Cryptogram (AC)  1122334455667788',
      '         95     Terminal Verification Results (TVR)  8000000000',
      '                - byte 1 bit 8: Offline data authentication was not performed',
    ]);
  });

  test('shows everything on request', () => {
    const lines = describeMessage(spec, message, { unmasked: true }).join('\n');
    expect(lines).toContain(PAN);
    expect(lines).toContain('- PAN 4111111111111111, expiry 3012, service code 201');
    expect(lines).toContain('414141');
  });

  test('describes malformed values only as malformed', () => {
    const wrong = {
      mti: 'XX',
      pan: PAN.substring(1),
      track2: 'no track',
      chipData: fromHex('9F'),
      tvr: 'XYZ',
      amount: 7,
    };
    const rows = messageRows(spec, wrong);
    expect(rows.map(({ path, value, details }) => [path, value, ...details])).toEqual([
      ['mti', 'XX'],
      ['2', expect.stringMatching(/^(1{5,6}\*+1111|\[withheld, 15 characters\])$/)],
      ['4', '[no text]'],
      ['35', '[withheld, 8 characters]'],
      ['44', 'XYZ', '- 95 Terminal Verification Results (TVR)'],
      ['55', '[withheld, 1 byte]'],
    ]);
  });

  test('reveals no card data, for any message', () => {
    const withPan = samples.filter(({ name, wireHex }) => /34313131313131/.test(wireHex) && !/XML/.test(name));
    expect(withPan.length).toBeGreaterThan(1);
    for (const { wireHex } of withPan) {
      const decoded = compileSpec(type1).decode(fromHex(wireHex));
      const text = describeMessage(type1, decoded).join('\n');
      for (const secret of [PAN, '3012201']) expect(text).not.toContain(secret);
      expect(text).toContain('411111******1111');
    }
  });

  test('describes the part of a message that an error contains', () => {
    const bytes = compileSpec(spec).toBytes(message);
    const error = refusalOf(() => compileSpec(spec).decode(bytes.subarray(0, -1)));
    const lines = describeMessage(spec, error.partial!);
    expect(lines[2]).toContain('411111******1111');
    expect(lines.at(-1)).toContain('appId');
  });
});

describe('two messages', () => {
  test('are distinguished where they differ, without revealing withheld values', () => {
    const changed = {
      ...message,
      pan: '5413330089010640',
      track2: '5413330089010640D30122010000000',
      privateData: { appId: 'app' },
      tvr: undefined,
    };
    const differences = diffMessages(spec, message, changed);
    expect(differences.map(({ path, before, after }) => [path, before?.value, after?.value])).toEqual([
      ['2', '411111******1111', '541333******0640'],
      ['35', '[withheld, 31 characters]', '[withheld, 31 characters]'],
      ['44', '8000000000', undefined],
      ['48.Z9', '[withheld, 3 bytes]', undefined],
    ]);
    expect(diffMessages(spec, message, { ...message, header: fromHex('60FF') })).toEqual([]);
  });

  test('differ in the second of a repeated element', () => {
    const others = (hex: string) => ({
      ...message.privateData,
      others: [1, 2].map((at) => ({ at, tag: 'Z9', value: fromHex(hex) })),
    });
    const before = { ...message, privateData: others('41') };
    const after = {
      ...message,
      privateData: {
        ...others('41'),
        others: [...others('41').others.slice(0, 1), { at: 2, tag: 'Z9', value: fromHex('42') }],
      },
    };
    expect(diffMessages(spec, before, after).map(({ path }) => path)).toEqual(['48.Z9']);
  });
});

describe('a message in JSON', () => {
  test('round-trips, with every spec', () => {
    const codec = compileSpec(spec);
    const json = JSON.parse(JSON.stringify(messageToJson(spec, message, { unmasked: true })));
    expect(json).toMatchObject({
      header: '60FF',
      pan: PAN,
      privateData: { others: [{ at: 0, tag: 'Z9', value: '414141' }] },
    });
    expect(codec.toBytes(messageFromJson(spec, json))).toEqual(codec.toBytes(message));
    for (const any of specs) {
      const empty = {
        mti: '0800',
        ...(any.headerBytes && { header: any.headerBytes === 3 ? '000000' : `16${'00'.repeat(21)}` }),
      };
      expect(compileSpec(any).decode(compileSpec(any).toBytes(messageFromJson(any, empty))).mti).toBe('0800');
    }
  });

  test.each([
    [[], 'VALUE_TYPE', 'message'],
    [{ pan: PAN }, 'VALUE_TYPE', 'mti'],
    [{ mti: '0100', PAN }, 'FIELD_UNKNOWN', 'PAN'],
    [{ mti: '0100', pan: 4 }, 'VALUE_TYPE', '2'],
    [{ mti: '0100', chipData: '9' }, 'CONTENT_INVALID', '55'],
    [{ mti: '0100', header: 'XY' }, 'CONTENT_INVALID', 'header'],
    [{ mti: '0100', privateData: 'x' }, 'VALUE_TYPE', '48'],
    [{ mti: '0100', privateData: { others: {} } }, 'VALUE_TYPE', '48.others'],
    [{ mti: '0100', privateData: { others: [{ at: 0, tag: 'Z9', value: 'zz' }] } }, 'CONTENT_INVALID', '48.others'],
    [{ mti: '0100', privateData: { tlv: '00' } }, 'FIELD_UNKNOWN', '48'],
  ])('%j is refused', (json, code, field) => {
    expect(refusalOf(() => messageFromJson(spec, json))).toMatchObject({ code, field });
  });
});
