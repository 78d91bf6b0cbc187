import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/hex.ts';
import { BlockKey } from '../../src/crypto/block-key.ts';
import { cmac, keyMac } from '../../src/crypto/mac.ts';
import { compileSpec } from '../../src/iso8583/codec.ts';
import { binary, numeric, text } from '../../src/iso8583/fields.ts';
import { type MacOptions, macCodec } from '../../src/iso8583/mac.ts';
import { defineSpec } from '../../src/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';

const spec = defineSpec({
  name: 'with a MAC',
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary' },
  fields: {
    3: numeric({ name: 'processingCode', digits: 6, encoding: 'bcd' }),
    11: numeric({ name: 'stan', digits: 6, encoding: 'bcd' }),
    48: text({ name: 'additionalData', characters: 99, prefix: 'LL' }),
    64: binary({ name: 'mac', bytes: 8 }),
    70: numeric({ name: 'networkCode', digits: 3 }),
    128: binary({ name: 'secondMac', bytes: 8, encoding: 'hex' }),
  },
});
const codec = compileSpec(spec);
const desKey = new BlockKey('tdes', fromHex('0123456789ABCDEFFEDCBA9876543210'));
const retail = keyMac(desKey, { algorithm: 'retail', padding: 1 });
const message = { mti: '0200', processingCode: '000000', stan: '000123', additionalData: 'ABC' };

function sealed(options: MacOptions, given: typeof message): Uint8Array {
  const target = new Uint8Array(100);
  const end = macCodec(spec, codec, options).encode(given, target, 10);
  return target.slice(10, end);
}

describe('a MAC in DE64', () => {
  const options: MacOptions = { field: 64, mac: retail };
  const macs = macCodec(spec, codec, options);

  it('covers every byte in front of it, its own bit in the bitmap included', () => {
    const bytes = sealed(options, message);
    const body = bytes.subarray(0, bytes.length - 8);
    expect(toHex(body)).toBe('02002020000000010001000000000123' + '3033414243');
    expect(toHex(codec.decode(bytes).mac!)).toBe(toHex(retail(body)));
    expect(macs.verify(bytes)).toBe('good');
  });

  it('is bad when any bit of the message or of the MAC differs', () => {
    const bytes = sealed(options, message);
    for (let at = bytes.length - 11; at < bytes.length; at++) {
      bytes[at]! ^= 1;
      expect(macs.verify(bytes)).toBe('bad');
      bytes[at]! ^= 1;
    }
    expect(macs.verify(bytes)).toBe('good');
  });

  it('is absent where the message has none', () => {
    expect(macs.verify(codec.toBytes(message))).toBe('absent');
  });

  it('must be the last field', () => {
    const target = new Uint8Array(100);
    const behind = { ...message, networkCode: '001' };
    expect(refusalOf(() => macs.encode(behind, target, 0))).toMatchObject({ code: 'FIELD_FORBIDDEN', field: '64' });
  });

  it('replaces what the message has there', () => {
    const again = sealed(options, { ...message, mac: new Uint8Array(8) } as typeof message);
    expect(toHex(again)).toBe(toHex(sealed(options, message)));
  });
});

describe('a MAC in DE128', () => {
  it('can be written in hex and come from AES', () => {
    const mac = cmac(new BlockKey('aes', new Uint8Array(16).fill(7)));
    const options: MacOptions = { field: 128, mac };
    const bytes = sealed(options, message);
    const body = bytes.subarray(0, bytes.length - 16);
    expect(Buffer.from(bytes.subarray(-16)).toString('latin1')).toBe(toHex(mac(body), 0, 8));
    expect(macCodec(spec, codec, options).verify(bytes)).toBe('good');
  });

  it('can cover chosen fields and carry a key number', () => {
    const compose = (mac: Uint8Array) => Uint8Array.from([0, 0, 0, 2, ...mac.subarray(0, 4)]);
    const options: MacOptions = { field: 128, cover: [48, 3, 70], mac: retail, compose };
    const bytes = sealed(options, message);
    const covered = fromHex('000000' + '3033414243');
    expect(toHex(codec.decode(bytes).secondMac!)).toBe(toHex(compose(retail(covered))));
    const macs = macCodec(spec, codec, options);
    const otherStan = sealed(options, { ...message, stan: '000124' });
    expect([macs.verify(bytes), macs.verify(otherStan)]).toEqual(['good', 'good']);
    expect(toHex(otherStan.subarray(-16))).toBe(toHex(bytes.subarray(-16)));
  });

  it('is refused when what is composed is not as long as the field', () => {
    const options: MacOptions = { field: 128, mac: retail, compose: (mac) => mac.subarray(0, 4) };
    expect(refusalOf(() => sealed(options, message))).toMatchObject({ code: 'LENGTH_INVALID', field: '128' });
  });
});

it('a MAC cannot be in a field that is text', () => {
  expect(refusalOf(() => macCodec(spec, codec, { field: 48, mac: retail })).code).toBe('SPEC_INVALID');
});
