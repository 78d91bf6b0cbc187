/** Specs that together use every encoding, prefix, unit, padding and composite. */
import { spec as type1Spec } from '../../processors/type-1/spec.ts';
import {
  alpha,
  alphanumeric,
  binary,
  bitmapped,
  dataset,
  datasets,
  numeric,
  positional,
  signedAmount,
  tagged,
  text,
  tlv,
  track2,
} from '../../src/codecs/iso8583/fields.ts';
import { SPACES_LEFT, SPACES_RIGHT, ZEROS_LEFT } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec, type Spec } from '../../src/codecs/iso8583/spec.ts';

/** ISO 8583:1987 packed, as terminals use it with their host. */
export const packed = defineSpec({
  name: 'packed',
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary' },
  encodings: { digits: 'bcd', signed: 'x+bcd', prefix: 'bcd' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, minDigits: 8, prefix: 'LL', encoding: 'bcd-right', fill: 'F' }),
    3: numeric({ name: 'processingCode', digits: 6, safe: true }),
    4: numeric({ name: 'amount', digits: 12, pad: ZEROS_LEFT }),
    11: numeric({ name: 'stan', digits: 6, safe: true }),
    22: numeric({ name: 'posEntryMode', digits: 3 }),
    28: signedAmount({ name: 'fee', digits: 8 }),
    32: numeric({ name: 'acquirerId', digits: 11, prefix: 'LL', unit: 'bytes' }),
    35: track2({ name: 'track2', prefix: 'LL', encoding: 'bcd-right' }),
    36: track2({ name: 'track2InBytes', prefix: 'LL', encoding: 'bcd', unit: 'bytes' }),
    37: alphanumeric({ name: 'rrn', characters: 12 }),
    41: text({ name: 'tid', characters: 8, pad: { ...SPACES_RIGHT, strip: true }, safe: true }),
    48: tagged({
      name: 'privateData',
      bytes: 999,
      prefix: 'LLL',
      tag: { encoding: 'bcd', length: 3 },
      elementPrefix: 'LL',
      unknown: 'keep',
      fields: {
        '001': text({ name: 'appId', characters: 20, minCharacters: 0 }),
        '022': numeric({ name: 'singleTap', digits: 3 }),
        '090': positional({
          name: 'pair',
          bytes: 9,
          minBytes: 0,
          fields: [alpha({ name: 'kind', characters: 2 }), numeric({ name: 'value', digits: 5 })],
        }),
      },
    }),
    52: binary({ name: 'pinBlock', bytes: 8 }),
    53: binary({ name: 'keyData', bytes: 24, prefix: 'LLL', unit: 'nibbles' }),
    55: tlv({ name: 'chipData', bytes: 255, prefix: 'LLL' }),
    62: text({ name: 'free', characters: 300, prefix: { encoding: 'binary', bytes: 2 }, content: 'any' }),
    64: binary({ name: 'mac', bytes: 8 }),
  },
});

/** All in EBCDIC, with a header and hex bitmaps, and fields of the third bitmap. */
export const ebcdic = defineSpec({
  name: 'ebcdic',
  headerBytes: 3,
  mti: { encoding: 'cp1047' },
  bitmap: { encoding: 'ebcdic-hex' },
  encodings: { text: 'cp1047', digits: 'cp500', signed: 'cp500', binary: 'ebcdic-hex', prefix: 'ebcdic' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, prefix: 'LL' }),
    8: signedAmount({ name: 'fee', digits: 8 }),
    39: alpha({ name: 'word', characters: 9, pad: { ...SPACES_LEFT, strip: true } }),
    43: text({ name: 'location', characters: 99, content: 'any', prefix: { encoding: 'hex', digits: 2 } }),
    44: text({ name: 'signs', characters: 9, content: 'as', prefix: 'L' }),
    52: binary({ name: 'pinBlock', bytes: 8 }),
    60: tagged({
      name: 'elements',
      bytes: 9_999,
      prefix: 'LLLL',
      tag: { encoding: 'ebcdic', length: 2 },
      elementPrefix: 'LLL',
      unknown: 'refuse',
      fields: {
        A1: text({ name: 'first', characters: 9, minCharacters: 1 }),
        A2: binary({ name: 'second', bytes: 4 }),
      },
    }),
    100: text({ name: 'padded', characters: 6, content: 'anp', pad: SPACES_RIGHT }),
    130: numeric({ name: 'third', digits: 4 }),
    192: text({ name: 'last', characters: 99_999, prefix: 'LLLLL' }),
  },
});

/** ISO 8583:2003 with datasets, and a fixed number of bitmaps in lower-case hex. */
export const datasetSpec = defineSpec({
  name: 'datasets',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'hex-lower', form: 'fixed', blocks: 2 },
  encodings: { binary: 'hex-lower' },
  fields: {
    34: datasets({
      name: 'electronicCommerce',
      bytes: 9_999,
      prefix: { encoding: 'binary', bytes: 2 },
      unknown: 'keep',
      fields: {
        '01': tlv({ name: 'authentication', bytes: 999, minBytes: 0 }),
        '71': dataset({
          name: 'verification',
          bytes: 999,
          minBytes: 0,
          fields: {
            1: binary({ name: 'method', bytes: 1, encoding: 'binary' }),
            14: numeric({ name: 'counter', digits: 4, prefix: 'LL' }),
            16: text({ name: 'result', characters: 3, pad: SPACES_RIGHT }),
            71: alphanumeric({ name: 'far', characters: 2 }),
          },
        }),
      },
    }),
    43: positional({
      name: 'acceptor',
      bytes: 99,
      prefix: 'LL',
      fields: [
        text({ name: 'street', characters: 20, prefix: 'LL' }),
        text({ name: 'city', characters: 13, pad: SPACES_RIGHT }),
        positional({
          name: 'area',
          bytes: 5,
          fields: [alpha({ name: 'country', characters: 2 }), numeric({ name: 'zone', digits: 3 })],
        }),
      ],
    }),
    65: text({ name: 'afterTheSecond', characters: 3 }),
    127: bitmapped({
      name: 'national',
      bytes: 999_999,
      prefix: 'LLLLLL',
      bitmap: { bytes: 3 },
      fields: {
        1: binary({ name: 'raw', bytes: 9, prefix: 'LL', encoding: 'hex' }),
        24: bitmapped({
          name: 'deeper',
          bytes: 99,
          prefix: 'LL',
          bitmap: { bytes: 1, encoding: 'binary' },
          fields: { 8: numeric({ name: 'eighth', digits: 1 }) },
        }),
      },
    }),
  },
});

/** Values that end without a length prefix, the other forms of tags and lengths, and a third bitmap as field 65. */
export const endings = defineSpec({
  name: 'endings',
  headerBytes: { lengthOffset: 0, min: 22, max: 26 },
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary', thirdAt: 65 },
  fields: {
    4: signedAmount({ name: 'amount', digits: 12, signs: '+-' }),
    43: positional({
      name: 'acceptor',
      bytes: 99,
      prefix: { bytes: 2, encoding: 'binary-le' },
      separator: 0x5c,
      fields: [
        text({ name: 'street', characters: 20, minCharacters: 1, content: 'an' }),
        numeric({ name: 'postalCode', digits: 9, minDigits: 0 }),
        binary({ name: 'place', bytes: 4, minBytes: 0, encoding: 'hex' }),
      ],
    }),
    44: text({ name: 'free', characters: 25, content: 'an', end: { until: 0x1c } }),
    47: tlv({ name: 'chipText', bytes: 255, prefix: 'LLL', encoding: 'hex' }),
    48: positional({
      name: 'additional',
      bytes: 999,
      prefix: 'LLL',
      fields: [
        alpha({ name: 'category', characters: 1 }),
        tagged({
          name: 'elements',
          bytes: 998,
          end: 'rest',
          tag: { encoding: 'ascii', length: 2 },
          elementPrefix: 'LL',
          unknown: 'keep',
          fields: {
            42: text({ name: 'commerce', characters: 7 }),
            43: alphanumeric({ name: 'proof', characters: 28, minCharacters: 0 }),
          },
        }),
      ],
    }),
    62: tagged({
      name: 'tables',
      bytes: 999,
      prefix: 'LLL',
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: { digits: 4, encoding: 'bcd' },
      first: 'length',
      lengthCounts: ['tag'],
      unknown: 'keep',
      fields: {
        14: alphanumeric({ name: 'visa', characters: 9, minCharacters: 0 }),
        22: numeric({ name: 'host', digits: 4 }),
      },
    }),
    63: tagged({
      name: 'tokens',
      bytes: 999,
      prefix: 'LLL',
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: 'LLL',
      lengthCounts: ['tag', 'length'],
      unknown: 'refuse',
      fields: { Q1: alphanumeric({ name: 'first', characters: 9, minCharacters: 0 }) },
    }),
    100: numeric({ name: 'institution', digits: 11, prefix: 'LL' }),
    129: numeric({ name: 'beyond', digits: 4 }),
    192: text({ name: 'last', characters: 9, prefix: 'L' }),
  },
});

export const specs: readonly Spec[] = [type1Spec, packed, ebcdic, datasetSpec, endings];
