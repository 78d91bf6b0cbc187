/** The gain of each trick of the codec, compared with straightforward code. */

import { Cursor } from '../../src/codecs/bytes/cursor.ts';
import { newRecord, type PlainRecord } from '../../src/codecs/bytes/record.ts';
import { copyLatin1, DIGIT } from '../../src/codecs/bytes/text-run.ts';
import { compileField } from '../../src/codecs/iso8583/compile-field.ts';
import { numeric } from '../../src/codecs/iso8583/fields.ts';
import { ZEROS_LEFT } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';

const FIELDS = 25;
const FIELD_BYTES = 10;
const NAMES = Array.from({ length: FIELDS }, (_, index) => `field${index}`);
const BYTES = Buffer.alloc(FIELDS * FIELD_BYTES, '1');
const TARGET = new Uint8Array(64);
const FORTY_DIGITS = Buffer.alloc(40, '1').toString('latin1');

const { encodings } = defineSpec({ name: '', mti: { encoding: 'ascii' }, bitmap: { encoding: 'binary' }, fields: {} });
const defaultValue = compileField(numeric({ name: 'field', digits: FIELD_BYTES }), '2', encodings);
const fromParts = compileField(numeric({ name: 'field', digits: FIELD_BYTES, pad: ZEROS_LEFT }), '2', encodings);

export const tricks: Readonly<Record<string, () => unknown>> = {
  'records: 25 values into a new record': () => fill(newRecord(FIELDS)),
  'records: 25 values into {}': () => fill({}),
  'text: 25 fields cut from one text': () => cutAll(new Cursor(BYTES, 0, BYTES.length)),
  'text: 25 fields converted one by one': () =>
    NAMES.map((_, index) => BYTES.toString('latin1', index * 10, index * 10 + 10)),
  'runs: 25 usual fields in one go': () => decodeAll(defaultValue),
  'runs: 25 fields put together from parts': () => decodeAll(fromParts),
  'copy: 40 characters natively': () => copyLatin1(FORTY_DIGITS, TARGET, 0, ~DIGIT),
  'copy: 40 characters one by one': () => copyLatin1(FORTY_DIGITS, TARGET, 0, 0),
};

function fill(record: PlainRecord): PlainRecord {
  for (const name of NAMES) record[name] = name;
  return record;
}

function cutAll(cursor: Cursor): string[] {
  return NAMES.map((_, index) => cursor.latin1Of(index * FIELD_BYTES, (index + 1) * FIELD_BYTES));
}

function decodeAll({ decode }: { decode: (cursor: Cursor) => unknown }): unknown {
  const cursor = new Cursor(BYTES, 0, BYTES.length);
  let last: unknown;
  for (let index = 0; index < FIELDS; index++) last = decode(cursor);
  return last;
}
