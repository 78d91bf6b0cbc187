import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { binary, numeric, positional, text } from '../../src/codecs/iso8583/fields.ts';
import { SPACES_RIGHT } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec } from '../../src/codecs/iso8583/spec.ts';
import { WireValues } from '../../src/codecs/iso8583/wire-fields.ts';

const spec = defineSpec({
  name: 'packed',
  headerBytes: 2,
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary' },
  encodings: { digits: 'bcd', prefix: 'bcd' },
  fields: {
    3: numeric({ name: 'processingCode', digits: 6 }),
    32: numeric({ name: 'acquirerId', digits: 11, prefix: 'LL', unit: 'digits' }),
    41: text({ name: 'tid', characters: 8, pad: { ...SPACES_RIGHT, strip: true } }),
    56: positional({
      name: 'original',
      bytes: 2,
      prefix: 'LLL',
      fields: [numeric({ name: 'messageType', digits: 4 })],
    }),
    64: binary({ name: 'mac', bytes: 8 }),
  },
});

const message = {
  header: Uint8Array.of(1, 2),
  mti: '0200',
  processingCode: '010203',
  acquirerId: '123',
  tid: 'T1',
  original: { messageType: '0100' },
};

function wireOf(value: object, before = 3): WireValues {
  const bytes = compileSpec(spec).toBytes(value as never);
  const target = new Uint8Array(before + bytes.length + 5);
  target.set(bytes, before);
  return new WireValues(spec).turnTo(target, before, before + bytes.length);
}

const hexOf = (wire: WireValues, name: string) => {
  const value = wire.valueOf(name);
  return value && toHex(value);
};

test('values are as encoded: padded, without length prefixes, composites as a whole', () => {
  const wire = wireOf(message);
  const names = ['header', 'mti', 'processingCode', 'acquirerId', 'tid', 'original'];
  expect(names.map((name) => hexOf(wire, name))).toEqual([
    '0102',
    '0200',
    '010203',
    '0123',
    '5431202020202020',
    '0100',
  ]);
});

test('a field that the message or the spec does not have is undefined', () => {
  expect(hexOf(wireOf(message), 'mac')).toBeUndefined();
  expect(hexOf(wireOf(message), 'pan')).toBeUndefined();
});

test('one object serves one message after another, and keeps nothing of the previous one', () => {
  const wire = wireOf(message);
  expect(hexOf(wire, 'tid')).toBe('5431202020202020');
  const other = compileSpec(spec).toBytes({ header: Uint8Array.of(3, 4), mti: '0800' } as never);
  wire.turnTo(other, 0, other.length);
  expect([hexOf(wire, 'header'), hexOf(wire, 'tid')]).toEqual(['0304', undefined]);
});

test('values are joined with a separator, and an absent one is empty', () => {
  expect(toHex(wireOf(message).joined(['mti', 'mac', 'tid', 'pan'], 0x20))).toBe('020020205431202020202020' + '20');
  expect(wireOf(message).joined([], 0x20)).toHaveLength(0);
});

test('every field of a sample of type 1 is found where the codec wrote it', () => {
  for (const { message: sample, wireHex } of type1.samples) {
    const bytes = Buffer.from(wireHex, 'hex');
    const wire = new WireValues(type1.spec).turnTo(bytes, 0, bytes.length);
    for (const [name, value] of Object.entries(sample)) {
      if (typeof value === 'string') expect(Buffer.from(wire.valueOf(name)!).toString('latin1').trimEnd()).toBe(value);
    }
  }
});
