/** The vectors of one field describe its spec in words; here it is in rows. */
import { expect, test } from 'vitest';
import { Cursor } from '../../src/codecs/bytes/cursor.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { Sink } from '../../src/codecs/bytes/sink.ts';
import { indexTlv } from '../../src/codecs/emv/tlv.ts';
import { compileField } from '../../src/codecs/iso8583/compile-field.ts';
import type { FieldCodec } from '../../src/codecs/iso8583/field-codec.ts';
import {
  binary,
  bitmapped,
  dataset,
  datasets,
  numeric,
  positional,
  tagged,
  text,
  tlv,
} from '../../src/codecs/iso8583/fields.ts';
import type { Field } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import vectors from '../vectors/iso8583.json' with { type: 'json' };
import { refusalOf } from './refusal-of.ts';

const ASCII = defineSpec({ name: 'ascii', mti: { encoding: 'ascii' }, bitmap: { encoding: 'binary' }, fields: {} });

const taggedRow = tagged({
  name: 'composite',
  bytes: 99,
  prefix: 'LL',
  tag: { encoding: 'ascii', length: 2 },
  elementPrefix: 'LL',
  fields: {
    '01': text({ name: 'f1', characters: 2 }),
    '02': text({ name: 'f2', characters: 2 }),
    '03': numeric({ name: 'f3', digits: 2 }),
    '11': tagged({
      name: 'f11',
      bytes: 99,
      minBytes: 0,
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: 'LL',
      fields: { '01': text({ name: 'f1', characters: 2 }) },
    }),
  },
});

const bitmapRow = (bytes: number) =>
  bitmapped({
    name: 'composite',
    bytes: 99,
    prefix: 'LL',
    bitmap: { bytes, encoding: 'hex' },
    fields: {
      1: text({ name: 'f1', characters: 2, prefix: 'LL' }),
      2: text({ name: 'f2', characters: 2, prefix: 'LL' }),
      3: numeric({ name: 'f3', digits: 2, prefix: 'LL' }),
      11: tagged({
        name: 'f11',
        bytes: 99,
        prefix: 'LL',
        tag: { encoding: 'ascii', length: 2 },
        elementPrefix: 'LL',
        fields: { '01': text({ name: 'f1', characters: 2 }) },
      }),
    },
  });

const datasetRow = datasets({
  name: 'datasets',
  bytes: 999,
  prefix: { encoding: 'binary', bytes: 2 },
  fields: {
    '01': tlv({ name: 'f01', bytes: 999, minBytes: 0 }),
    '71': dataset({
      name: 'f71',
      bytes: 999,
      minBytes: 0,
      fields: {
        1: binary({ name: 'f1', bytes: 1 }),
        2: binary({ name: 'f2', bytes: 1 }),
        16: binary({ name: 'f16', bytes: 1 }),
      },
    }),
  },
});

const positionalRow = (bytes: number, prefix?: 'L') =>
  positional({
    name: 'composite',
    bytes,
    ...(prefix && { prefix }),
    fields: [
      text({ name: 'f1', characters: 2 }),
      text({ name: 'f2', characters: 2 }),
      numeric({ name: 'f3', digits: 2 }),
    ],
  });

const skippingRow = tagged({
  name: 'composite',
  bytes: 999,
  prefix: 'LLL',
  tag: { encoding: 'ascii', length: 2 },
  elementPrefix: 'L',
  unknown: 'keep',
  fields: {
    '01': text({ name: 'f01', characters: 9, minCharacters: 0 }),
    '02': text({ name: 'f02', characters: 9, minCharacters: 0 }),
  },
});

const ROWS: Readonly<Record<string, Field>> = {
  'composite-tagged-full': taggedRow,
  'composite-tagged-out-of-order': taggedRow,
  'composite-tagged-partial': taggedRow,
  'composite-tagged-trailing-outside': taggedRow,
  'composite-tagged-reject-bad-length': taggedRow,
  'composite-tagged-reject-bad-tag': taggedRow,
  'composite-tagged-reject-unknown-tag': taggedRow,
  'composite-bitmap-8-bytes': bitmapRow(8),
  'composite-bitmap-3-bytes': bitmapRow(3),
  'composite-bitmap-partial': bitmapRow(8),
  'composite-bitmap-reject-unknown-bit': bitmapRow(8),
  'composite-positional': positionalRow(6),
  'composite-positional-reject-long-prefix': positionalRow(4, 'L'),
  'composite-unknown-tag-ascii-skip': skippingRow,
  'composite-de55-lll-bertlv': tlv({ name: 'chipData', bytes: 999, prefix: 'LLL' }),
  'dataset-dbm': datasetRow,
  'dataset-dbm-continuation': datasetRow,
  'dataset-dbm-plus-tlv': datasetRow,
  'dataset-tlv': datasetRow,
};

/** The published datasets do not include the length of their field. */
const framed = (name: string, hex: string) =>
  name.startsWith('dataset') ? (hex.length / 2).toString(16).padStart(4, '0') + hex : hex;

const cases = vectors.filter(({ spec, expect: wanted }) => !('mti' in spec) && wanted !== 'mac');

function codecOf(name: string): FieldCodec {
  return compileField(ROWS[name]!, '48', ASCII.encodings);
}

test('every vector with a spec in words has its spec here', () => {
  expect(cases.map(({ name }) => name)).toEqual(Object.keys(ROWS));
});

test.each(cases.filter(({ expect: wanted }) => wanted === 'ok'))('$name decodes and encodes back', (vector) => {
  const codec = codecOf(vector.name);
  const bytes = fromHex(framed(vector.name, vector.wireHex));
  const cursor = new Cursor(bytes, 0, bytes.length);
  const value = codec.decode(cursor);
  expect(neutral(value)).toEqual(vector.fields);

  const sink = new Sink(new Uint8Array(bytes.length), 0, bytes.length);
  codec.encode(value, sink);
  expect(toHex(sink.target, 0, sink.position)).toBe(toHex(bytes, 0, cursor.position));
});

test('bytes after the announced length are left to the next field', () => {
  const { name, wireHex } = vectors.find(({ name }) => name === 'composite-tagged-trailing-outside')!;
  const bytes = fromHex(wireHex);
  const cursor = new Cursor(bytes, 0, bytes.length);
  codecOf(name).decode(cursor);
  expect(cursor.position).toBe(20);
});

test.each(cases.filter(({ expect: wanted }) => wanted === 'reject'))('$name', ({ name, wireHex }) => {
  const bytes = fromHex(wireHex);
  const error = refusalOf(() => codecOf(name).decode(new Cursor(bytes, 0, bytes.length)));
  expect(error.field).toMatch(/^48/);
  expect(error.offset).toBeLessThanOrEqual(bytes.length);
});

/**
 * The value in the terms of the vectors: number or tag, bytes in hex, TLV with its tags. Unknown elements that were
 * kept are dropped.
 */
function neutral(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.length === 1 ? toHex(value) : tlvFields(value);
  if (typeof value !== 'object' || value === null) return value;
  const { others, tlv: trailer, ...rest } = value as Record<string, unknown>;
  const fields = Object.entries(rest).map(([name, inner]) => [name.substring(1), neutral(inner)]);
  return { ...Object.fromEntries(fields), ...(trailer === undefined ? {} : tlvFields(trailer as Uint8Array)) };
}

function tlvFields(bytes: Uint8Array): Record<string, string> {
  return Object.fromEntries(
    Array.from(indexTlv(bytes), ({ tag, value }) => [tag.toString(16).toUpperCase(), toHex(value)]),
  );
}
