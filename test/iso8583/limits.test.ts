/** No input may make a decoder hang, allocate out of proportion, or throw an untyped error. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { spec as type1 } from '../../processors/type-1/spec.ts';
import { type Codec, compileSpec, MAX_MESSAGE_BYTES } from '../../src/codecs/iso8583/codec.ts';
import { numeric, positional, tagged, text } from '../../src/codecs/iso8583/fields.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';
import { specs } from './specs.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('memory', () => {
  /** The memory that a decode allocates, garbage included: few enough runs that no collection occurs between them. */
  function allocatedBytes(decode: () => unknown): number {
    const held: unknown[] = new Array(20).fill(undefined);
    decode();
    collectGarbage();
    const before = process.memoryUsage();
    for (let index = 0; index < held.length; index++) held[index] = decode();
    const after = process.memoryUsage();
    expect(held).not.toContain(undefined);
    return (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / held.length;
  }

  /**
   * The memory that a message allocates at any size: its record, and an object and a view for each of at most 256
   * elements.
   */
  const FIXED_BYTES = 4_096 + 256 * 256;

  const spec = defineSpec({
    name: 'dense',
    mti: { encoding: 'ascii' },
    bitmap: { encoding: 'binary' },
    encodings: { digits: 'bcd' },
    fields: {
      2: text({ name: 'long', characters: 9_999, prefix: 'LLLL', content: 'any', encoding: 'cp500' }),
      3: numeric({ name: 'digits', digits: 9_999, prefix: 'LLLL' }),
      4: tagged({
        name: 'elements',
        bytes: 9_999,
        prefix: 'LLLL',
        tag: { encoding: 'binary', length: 1 },
        elementPrefix: { encoding: 'binary', bytes: 1 },
        unknown: 'keep',
        fields: {},
      }),
      5: positional({
        name: 'ones',
        bytes: 99,
        prefix: 'LL',
        fields: Array.from({ length: 99 }, (_, index) => text({ name: `one${index}`, characters: 1 })),
      }),
    },
  });
  const codec = compileSpec(spec);

  test('memory of a message is at most 8 times its size, plus a fixed part', () => {
    const others = Array.from({ length: 256 }, (_, at) => ({ at, tag: 'AA', value: new Uint8Array(20) }));
    const ones = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`one${index}`, 'x']));
    const messages = [
      { mti: '0100', long: 'é'.repeat(9_999) },
      { mti: '0100', digits: '7'.repeat(9_999) },
      { mti: '0100', long: 'e'.repeat(9_999), digits: '7'.repeat(9_999) },
      { mti: '0100', elements: { others } },
      { mti: '0100', ones },
    ];
    for (const message of messages) {
      const bytes = codec.toBytes(message as Parameters<typeof codec.toBytes>[0]);
      expect(allocatedBytes(() => codec.decode(bytes))).toBeLessThan(bytes.length * 8 + FIXED_BYTES);
    }
  });

  test('is not allocated because of a length alone', () => {
    const bytes = Buffer.from('30313030400000000000000039393939', 'hex');
    expect(refusalOf(() => codec.decode(bytes)).code).toBe('TRUNCATED');
  });
});

describe('size', () => {
  test('size of a message is at most 1 MiB, in and out', () => {
    const codec: Codec<{ mti: string }> = compileSpec(type1);
    expect(refusalOf(() => codec.decode(new Uint8Array(MAX_MESSAGE_BYTES + 1)))).toMatchObject({
      code: 'MESSAGE_TOO_LONG',
      offset: 0,
    });
    const huge = defineSpec({
      name: 'huge',
      mti: { encoding: 'ascii' },
      bitmap: { encoding: 'binary' },
      fields: {
        2: text({ name: 'a', characters: 999_999, prefix: 'LLLLLL' }),
        3: text({ name: 'b', characters: 999_999, prefix: 'LLLLLL' }),
      },
    });
    const value = 'x'.repeat(999_999);
    expect(compileSpec(huge).toBytes({ mti: '0100', a: value }).length).toBe(1_000_017);
    expect(refusalOf(() => compileSpec(huge).toBytes({ mti: '0100', a: value, b: value })).code).toBe(
      'TARGET_TOO_SMALL',
    );
  });
});

describe('misuse', () => {
  test('misuse of the bounds is a RangeError, of the message a typed error', () => {
    const codec = compileSpec(specs[1]!);
    const bytes = codec.toBytes({ mti: '0800' });
    expect(() => codec.decode(bytes, 5, 4)).toThrow(RangeError);
    expect(() => codec.decode(bytes, 0, 99)).toThrow(RangeError);
    expect(() => codec.decode(bytes, -1)).toThrow(RangeError);
    expect(() => codec.encode({ mti: '0800' }, new Uint8Array(99), -1)).toThrow(RangeError);
    for (const wrong of [null, undefined, 'text', 7]) {
      expect(refusalOf(() => codec.toBytes(wrong as never)).code).toBe('VALUE_TYPE');
    }
    expect(refusalOf(() => codec.encode({ mti: '0800' }, new Uint8Array(5), 9)).code).toBe('TARGET_TOO_SMALL');
  });
});
