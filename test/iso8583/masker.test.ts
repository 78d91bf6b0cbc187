import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TapwireError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { type Codec, compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { type MessageRow, messageRows } from '../../src/codecs/iso8583/describe.ts';
import { maskerOf } from '../../src/codecs/iso8583/masker.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import templateProcessor from '../../src/kits/processor-kit/template/index.ts';
import { messages } from './message-arbitrary.ts';
import { specs } from './specs.ts';

const processors = [...(await loadProcessors()).values(), templateProcessor];
const codecs = [...specs, ...processors.map(({ spec }) => spec)].map((spec) => compileSpec(spec) as Codec<object>);

function decoded(codec: Codec<object>, bytes: Uint8Array): object | undefined {
  try {
    return codec.decode(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(TapwireError);
    return undefined;
  }
}

/** The masked bytes must have the same description as the original message; returns them in hex. */
function expectSameRows({ spec, decode }: Codec<object>, bytes: Uint8Array): string {
  const masked = maskerOf(spec).mask(bytes)!;
  expect(masked).toHaveLength(bytes.length);
  expect(rowsOf(spec, decode(masked))).toEqual(rowsOf(spec, decode(bytes)));
  return toHex(masked);
}

/** An AID that is withheld because it is too long no longer determines a kernel, so the same values get other names. */
function rowsOf(spec: Spec, message: object): MessageRow[] {
  const isWordless = ({ details }: MessageRow) => details.some((line) => /^(84|4F|9F06) .*withheld/.test(line));
  return messageRows(spec, message).map((row) => (isWordless(row) ? { ...row, details: [] } : row));
}

/** Every encoding of digits on the wire: ASCII, EBCDIC and packed from either nibble. */
function expectNowhere(hex: string, digits: string): void {
  for (const high of ['3', 'F']) expect(hex).not.toContain([...digits].map((digit) => high + digit).join(''));
  expect(hex).not.toContain(digits);
}

/** Samples are similar: changes that one of them skips are made in the next. */
const STRIDE = 4;
/** The bits that are inverted, in rotation. */
const CHANGES = [0xff, 0x01, 0x10];

/** Published test cards. */
const PANS = ['4111111111111111', '5413330089010640', '374245001751006', '6799998900000060018'];

describe.each(processors)('of $type', ({ samples, codec, exampleConfig }) => {
  const wires = samples.map(({ config, wireHex }) => {
    return { codec: codec((config ?? exampleConfig) as never) as Codec<object>, bytes: fromHex(wireHex) };
  });

  test('every sample has the same description as before, and nothing of its card except what may be shown', () => {
    for (const { codec, bytes } of wires) {
      const hex = expectSameRows(codec, bytes);
      for (const pan of PANS) expectNowhere(hex, pan.slice(6, -4));
    }
  });

  test('no more of a sample with any byte changed is left than its description shows', () => {
    for (const [index, { codec, bytes }] of wires.entries()) {
      for (let at = index % STRIDE; at < bytes.length; at += STRIDE) {
        const garbled = bytes.slice();
        garbled[at]! ^= CHANGES[at % CHANGES.length]!;
        if (decoded(codec, garbled)) expectSameRows(codec, garbled);
        else expect(() => maskerOf(codec.spec).mask(garbled)).not.toThrow();
      }
    }
  });

  test('a truncated sample cannot be masked', () => {
    for (const { codec, bytes } of wires) {
      for (let end = 0; end < bytes.length; end++) {
        if (decoded(codec, bytes.subarray(0, end)) === undefined) {
          expect(maskerOf(codec.spec).mask(bytes, 0, end)).toBeUndefined();
        }
      }
    }
  });
});

test('any message of any spec has the same description as before', () => {
  for (const codec of codecs) {
    fc.assert(
      fc.property(messages(codec.spec), (message) => {
        expectSameRows(codec, codec.toBytes(message));
      }),
      { numRuns: 60 },
    );
  }
});

test('any bytes are masked or refused, never an exception', () => {
  for (const { spec } of codecs) {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        maskerOf(spec).mask(bytes);
      }),
      { numRuns: 200 },
    );
  }
});

test.each(processors)('a PAN and a track of $type keep only the first 6 and last 4 digits', ({ spec }) => {
  const codec = compileSpec(spec) as Codec<object>;
  for (const pan of PANS) {
    for (const track2 of [`${pan}D30122010000000000000`.slice(0, 37), `${pan}=3012201`]) {
      const hex = expectSameRows(codec, codec.toBytes({ mti: '0200', pan, track2 }));
      for (const secret of [pan.slice(6, -4), '3012201']) expectNowhere(hex, secret);
    }
  }
});

test('a value that is neither a PAN nor a track is overwritten completely', () => {
  const [spec] = processors.map((processor) => processor.spec) as [Spec];
  const codec = compileSpec(spec) as Codec<object>;
  for (const message of [
    { mti: '0200', pan: '1234567' },
    { mti: '0200', track2: '41111111111111112512201' },
    { mti: '0200', track2: '4111111111111111=25=1' },
  ]) {
    const hex = expectSameRows(codec, codec.toBytes(message));
    expect(hex).not.toMatch(/(?:3[1-9]){7}/);
  }
});

test('a spec has one masker', () => {
  const [{ spec }] = codecs as [Codec<object>];
  expect(maskerOf(spec)).toBe(maskerOf(spec));
});
