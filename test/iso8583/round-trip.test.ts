import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Cursor } from '../../src/codecs/bytes/cursor.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { Sink } from '../../src/codecs/bytes/sink.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { compileField } from '../../src/codecs/iso8583/compile-field.ts';
import type { FieldCodec } from '../../src/codecs/iso8583/field-codec.ts';
import type {
  BinaryEncoding,
  Content,
  Field,
  LengthUnit,
  Prefix,
  TextEncoding,
} from '../../src/codecs/iso8583/rows.ts';
import { messages, valuesOf } from './message-arbitrary.ts';
import { refusalOf } from './refusal-of.ts';
import { packed, specs } from './specs.ts';

const PREFIXES: readonly (Prefix | undefined)[] = [
  undefined,
  { encoding: 'ascii', digits: 2 },
  { encoding: 'ascii', digits: 6 },
  { encoding: 'bcd', digits: 3 },
  { encoding: 'bcd', digits: 4 },
  { encoding: 'ebcdic', digits: 3 },
  { encoding: 'hex', digits: 2 },
  { encoding: 'hex', digits: 5 },
  { encoding: 'binary', bytes: 1 },
  { encoding: 'binary', bytes: 3 },
];
const UNITS: readonly (LengthUnit | undefined)[] = [undefined, 'bytes', 'digits', 'nibbles'];
const CHARACTERS: readonly TextEncoding[] = ['ascii', 'cp500', 'cp1047'];
const CONTENTS: readonly Content[] = ['n', 'a', 'an', 'anp', 'ns', 'as', 'ans', 'z', 'x+n', 'any'];
const BINARY: readonly BinaryEncoding[] = ['binary', 'hex', 'hex-lower', 'ebcdic-hex'];

/** Every combination of encoding, content, length, unit and padding. */
function* combinations(): Generator<Field> {
  for (const prefix of PREFIXES) {
    const size = prefix === undefined ? { min: 7, max: 7 } : { min: 2, max: 31, prefix };
    for (const content of CONTENTS) {
      for (const encoding of CHARACTERS) {
        yield { kind: 'text', name: 'value', content, encoding, ...size };
        for (const side of ['left', 'right'] as const) {
          for (const strip of content === 'any' ? [] : [false, true]) {
            yield { kind: 'text', name: 'value', content, encoding, pad: { side, with: ' ', strip }, ...size };
          }
        }
      }
    }
    for (const content of ['n', 'z'] as const) {
      for (const encoding of ['bcd', 'bcd-right'] as const) {
        for (const unit of UNITS)
          for (const fill of ['0', 'F'] as const) {
            yield { kind: 'text', name: 'value', content, encoding, unit, fill, ...size };
          }
      }
    }
    yield { kind: 'text', name: 'value', content: 'x+n', encoding: 'x+bcd', ...size };
    for (const encoding of BINARY)
      for (const unit of UNITS) yield { kind: 'binary', name: 'value', encoding, unit, ...size };
  }
}

/** Two thousand compiled fields take time on a busy machine. */
const PATIENCE = { timeout: 300_000 };

describe('every combination of encoding, content, length, unit and padding', PATIENCE, () => {
  const fields = [...combinations()];

  test(`round-trips its values, in ${fields.length} combinations`, () => {
    for (const field of fields) {
      const codec = compileField(field, '2', packed.encodings);
      fc.assert(
        fc.property(valuesOf(field), (value) => {
          const bytes = encoded(codec, value);
          const cursor = new Cursor(bytes, 0, bytes.length);
          const decoded = codec.decode(cursor);
          const isSame = isDeepStrictEqual(decoded, value) && cursor.position === bytes.length;
          return isSame && toHex(encoded(codec, decoded)) === toHex(bytes);
        }),
        { numRuns: 8 },
      );
    }
    expect(fields.length).toBeGreaterThan(1_000);
  });

  test('refuses every truncated value', () => {
    for (const field of fields) {
      const codec = compileField(field, '2', packed.encodings);
      fc.assert(
        fc.property(valuesOf(field), (value) => {
          const bytes = encoded(codec, value);
          for (let end = 0; end < bytes.length; end++) {
            const { code, offset } = refusalOf(() => codec.decode(new Cursor(bytes, 0, end)));
            if (code !== 'TRUNCATED' || offset > end) return false;
          }
          return true;
        }),
        { numRuns: 1 },
      );
    }
    expect(fields.length).toBeGreaterThan(1_000);
  });
});

function encoded(codec: FieldCodec, value: unknown): Uint8Array {
  const sink = new Sink(new Uint8Array(200), 0, 200);
  codec.encode(value, sink);
  return sink.target.subarray(0, sink.position);
}

describe.each(specs.map((spec) => ({ name: spec.name, spec })))('spec $name', PATIENCE, ({ spec }) => {
  const codec = compileSpec(spec);

  test('every message round-trips, and gives the same bytes again', () => {
    fc.assert(
      fc.property(messages(spec), (message) => {
        const bytes = codec.toBytes(message);
        const decoded = codec.decode(bytes);
        expect(plain(decoded)).toEqual(plain(message));
        expect(toHex(codec.toBytes(decoded))).toBe(toHex(bytes));
      }),
      { numRuns: 150 },
    );
  });

  test('any prefix of a message is refused, with an offset inside it', () => {
    fc.assert(
      fc.property(messages(spec), (message) => {
        const bytes = codec.toBytes(message);
        for (let end = 0; end < bytes.length; end++) {
          expect(refusalOf(() => codec.decode(bytes, 0, end)).offset).toBeLessThanOrEqual(end);
        }
      }),
      { numRuns: 10 },
    );
  });

  test('any bytes give a message or a typed error with an offset inside them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => decodesOrRefuses(codec, bytes)),
      { numRuns: 500 },
    );
  });

  test('a message with any byte changed gives a message or a typed error, too', () => {
    fc.assert(
      fc.property(messages(spec), fc.nat(), fc.nat(255), (message, place, byte) => {
        const bytes = codec.toBytes(message);
        bytes[place % bytes.length] = byte;
        decodesOrRefuses(codec, bytes);
      }),
      { numRuns: 500 },
    );
  });
});

/** A message that was read can be written, and is then read as the same message. */
function decodesOrRefuses(codec: ReturnType<typeof compileSpec>, bytes: Uint8Array): void {
  let message: ReturnType<typeof codec.decode>;
  try {
    message = codec.decode(bytes);
  } catch (error) {
    expect(
      refusalOf(() => {
        throw error;
      }).offset,
    ).toBeLessThanOrEqual(bytes.length);
    return;
  }
  expect(plain(codec.decode(codec.toBytes(message)))).toEqual(plain(message));
}

/** Bytes as hex, so that views and copies compare as equal; absent fields are left out. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `0x${toHex(value)}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}
