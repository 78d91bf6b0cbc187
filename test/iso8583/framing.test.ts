import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConnectionError } from '../../src/basics/errors.ts';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import { checkFraming, type Framing, replyHeaderOf } from '../../src/codecs/iso8583/network/framing.ts';
import { LENGTH_HEADERS, type LengthHeaderName } from '../../src/codecs/iso8583/network/length-headers.ts';
import { frameOf } from '../support/frame-of.ts';

const TPDU = { kind: 'tpdu', bytes: Uint8Array.of(0x60, 0x01, 0x02, 0x03, 0x04) } as const;
const PREFIX = { kind: 'prefix', bytes: Buffer.from('ISO026000') } as const;
const plain: Framing = { lengthHeader: 'binary-2', maxFrameBytes: 65_535 };
const limited = (lengthHeader: LengthHeaderName): Framing => ({ lengthHeader, maxFrameBytes: 1_000 });

/** For each row: the length before ten bytes of content, its keep-alive, and the header of a frame of 1,001 bytes. */
const WIRE: Readonly<Record<LengthHeaderName, { ten: string; nothing: string; tooLong: string }>> = {
  'binary-2': { ten: '000A', nothing: '0000', tooLong: '03E9' },
  'binary-2-inclusive': { ten: '000C', nothing: '0002', tooLong: '03EB' },
  'binary-2-reserved-2': { ten: '000A0000', nothing: '00000000', tooLong: '03E90000' },
  'binary-2-little-endian': { ten: '0A00', nothing: '0000', tooLong: 'E903' },
  'binary-4': { ten: '0000000A', nothing: '00000000', tooLong: '000003E9' },
  'binary-4-inclusive': { ten: '0000000E', nothing: '00000004', tooLong: '000003ED' },
  'ascii-4': { ten: '30303130', nothing: '30303030', tooLong: '31303031' },
  'ascii-5': { ten: '3030303130', nothing: '3030303030', tooLong: '3031303031' },
  'bcd-2': { ten: '0010', nothing: '0000', tooLong: '1001' },
  'hex-4': { ten: '30303061', nothing: '30303030', tooLong: '30336539' },
};

const framings: Record<string, Framing> = {
  ...Object.fromEntries(Object.keys(LENGTH_HEADERS).map((name) => [name, limited(name as LengthHeaderName)])),
  'binary-2 and a TPDU': { ...plain, transportHeader: TPDU },
  'bcd-2 and a TPDU': { ...limited('bcd-2'), transportHeader: TPDU },
  'binary-2 and a trailer': { ...plain, trailer: Uint8Array.of(0x03) },
  'bcd-2, a TPDU and a trailer': { ...limited('bcd-2'), transportHeader: TPDU, trailer: Uint8Array.of(0x0d, 0x0a) },
  'ascii-4 and a prefix': { ...limited('ascii-4'), transportHeader: PREFIX },
};

/** Reads the chunks; returns the messages as text. */
function read(framing: Framing, chunks: readonly Uint8Array[]): string[] {
  const messages: string[] = [];
  const reader = new FrameReader(framing, (bytes, start, end) => {
    messages.push(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  });
  for (const chunk of chunks) reader.push(chunk);
  return messages;
}

const bytesOf = (text: string) => Buffer.from(text, 'latin1');
const stream = (framing: Framing, ...texts: string[]) =>
  Buffer.concat(texts.map((text) => frameOf(framing, bytesOf(text))));
const hex = (text: string) => Buffer.from(text, 'hex');
const byByte = (bytes: Uint8Array) => Array.from(bytes, (byte) => Uint8Array.of(byte));

test.each(Object.entries(WIRE))('the length header %s has its bytes', (name, { ten }) => {
  const frame = frameOf(limited(name as LengthHeaderName), bytesOf('0123456789'));
  expect(Buffer.from(frame).toString('hex')).toBe(`${ten.toLowerCase()}${bytesOf('0123456789').toString('hex')}`);
});

test.each(Object.keys(WIRE))('the length header %s announces every length up to its limit', (name) => {
  const lengthHeader = name as LengthHeaderName;
  const most = { 'bcd-2': 9_999, 'ascii-4': 9_999, 'binary-2-inclusive': 65_533 }[name] ?? 65_535;
  const framing = { lengthHeader, maxFrameBytes: most };
  for (const length of [1, 9, 10, 99, 100, 255, 256, 999, 1_000, 4_095, 9_999, most]) {
    const text = 'x'.repeat(length);
    expect(read(framing, [stream(framing, text, 'next')])).toEqual([text, 'next']);
  }
});

describe.each(Object.entries(framings))('frames with %s', (_, framing) => {
  test('are read with the stream split in two at any byte', () => {
    const bytes = stream(framing, 'first', 'the second', 'x');
    for (let at = 0; at <= bytes.length; at++) {
      expect(read(framing, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(['first', 'the second', 'x']);
    }
  });

  test('are read byte by byte, and several in one chunk', () => {
    const bytes = stream(framing, 'first', 'second');
    expect(read(framing, byByte(bytes))).toEqual(['first', 'second']);
    expect(read(framing, [bytes])).toEqual(['first', 'second']);
  });

  test('are read with the stream split in any way', () => {
    const texts = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }), { maxLength: 8 });
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 });
    fc.assert(
      fc.property(texts, cuts, (messages, at) => {
        const bytes = stream(framing, ...messages);
        const edges = [0, ...at.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
        const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(read(framing, chunks)).toEqual(messages);
      }),
    );
  });

  test('are complete or refused with a typed error, for any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (chunks) => {
        let readBytes = 0;
        const reader = new FrameReader({ ...framing, maxFrameBytes: 100 }, (_bytes, start, end) => {
          readBytes += end - start;
        });
        const given = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        try {
          for (const chunk of chunks) reader.push(chunk);
        } catch (error) {
          expect(error).toBeInstanceOf(ConnectionError);
        }
        expect(readBytes).toBeLessThanOrEqual(given);
      }),
    );
  });

  test('are read between frames without content, which are passed over however they are split', () => {
    const keepAlive = hex(WIRE[framing.lengthHeader].nothing);
    const messages = ['one', 'two'].flatMap((text) => [stream(framing, text), keepAlive]);
    const bytes = Buffer.concat([keepAlive, keepAlive, ...messages]);
    for (let at = 0; at <= bytes.length; at++)
      expect(read(framing, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(['one', 'two']);
    expect(read(framing, byByte(bytes))).toEqual(['one', 'two']);
  });

  test('are refused as soon as their length is known, if they are longer than the limit', () => {
    const tooLong = hex(WIRE[framing.lengthHeader].tooLong);
    const short = { ...framing, maxFrameBytes: 1_000 };
    const refusal = expect.objectContaining({ code: 'FRAME_TOO_LONG' });
    expect(() => read(short, [tooLong])).toThrow(refusal);
    expect(() => read(short, byByte(tooLong))).toThrow(refusal);
  });
});

describe('a length that is not a number is refused without its bytes', () => {
  const lengths: readonly (readonly [LengthHeaderName, string])[] = [
    ['ascii-4', 'card'],
    ['ascii-4', '12 4'],
    ['ascii-4', '+123'],
    ['ascii-4', '0\u00b23\u00b9'],
    ['ascii-5', '000:5'],
    ['ascii-5', '/0005'],
    ['bcd-2', '\x00\x0a'],
    ['bcd-2', '\xa0\x01'],
    ['hex-4', '00g1'],
    ['hex-4', '0x1f'],
  ];
  test.each(lengths)('%s: %j', (name, length) => {
    const bytes = Buffer.concat([bytesOf(length), bytesOf('4111111111111111')]);
    for (const chunks of [[bytes], byByte(bytes)]) {
      let thrown: unknown;
      try {
        read(limited(name), chunks);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({
        code: 'FRAME_LENGTH_INVALID',
        message: 'FRAME_LENGTH_INVALID: the length before a frame is not a number',
      });
    }
  });
});

describe('a frame reader', () => {
  test('passes on a frame that is complete in a chunk without copying it', () => {
    const chunk = stream(plain, 'one', 'two');
    const places: [Uint8Array, number, number][] = [];
    const reader = new FrameReader(plain, (bytes, start, end) => places.push([bytes, start, end]));
    reader.push(chunk);
    expect(places.map(([, start, end]) => [start, end])).toEqual([
      [2, 5],
      [7, 10],
    ]);
    expect(places.every(([bytes]) => bytes === chunk)).toBe(true);
  });

  test('collects each split frame in its own buffer, so that views of earlier ones stay valid', () => {
    const seen: Uint8Array[] = [];
    const reader = new FrameReader(plain, (bytes, start, end) => seen.push(bytes.subarray(start, end)));
    const bytes = stream(plain, 'first', 'other');
    for (const at of [0, 3, 10]) reader.push(bytes.subarray(at, at === 0 ? 3 : at === 3 ? 10 : undefined));
    expect(seen.map((view) => Buffer.from(view).toString())).toEqual(['first', 'other']);
    expect(seen[0]!.buffer).not.toBe(seen[1]!.buffer);
  });

  test('passes over a length of zero also where a length counts itself, as AmexChannel of jPOS sends it', () => {
    const framing = limited('binary-2-inclusive');
    expect(read(framing, [hex('0000'), stream(framing, 'one')])).toEqual(['one']);
  });

  test('reads hex digits of either case', () => {
    expect(read(limited('hex-4'), [bytesOf('000B'), bytesOf('hello world'), bytesOf('000bhello again')])).toEqual([
      'hello world',
      'hello again',
    ]);
  });

  test('does not read the reserved bytes', () => {
    expect(read(limited('binary-2-reserved-2'), [hex('0003FF01'), bytesOf('one')])).toEqual(['one']);
  });

  test.each([
    ['of 65,535 bytes where less is allowed', { ...plain, maxFrameBytes: 8_192 }, 'FFFF', 'FRAME_TOO_LONG'],
    ['of four gigabytes', limited('binary-4'), 'FFFFFFFF', 'FRAME_TOO_LONG'],
    ['shorter than its own length bytes', limited('binary-2-inclusive'), '0001', 'FRAME_TOO_SHORT'],
    ['with a TPDU and nothing else', { ...plain, transportHeader: TPDU }, '0005', 'FRAME_TOO_SHORT'],
    ['with a prefix and nothing else', { ...plain, transportHeader: PREFIX }, '0009', 'FRAME_TOO_SHORT'],
  ] as const)('refuses a frame %s as soon as its length is known', (_, framing, length, code) => {
    expect(() => read(framing, [hex(length)])).toThrow(expect.objectContaining({ code }));
    expect(() => read(framing, byByte(hex(length)))).toThrow(expect.objectContaining({ code }));
  });

  test('passes on nothing after it was stopped, within the chunk or after it', () => {
    const seen: number[] = [];
    const reader = new FrameReader(plain, (_bytes, start) => {
      seen.push(start);
      reader.stop();
    });
    reader.push(stream(plain, 'a', 'b', 'c'));
    reader.push(stream(plain, 'd'));
    expect(seen).toEqual([2]);
  });
});

describe('a framing', () => {
  test.each([
    ['a longest frame that its length cannot announce', { ...plain, maxFrameBytes: 65_536 }, 'from 1 to 65535'],
    ['four digits that cannot announce it', { lengthHeader: 'ascii-4', maxFrameBytes: 10_000 }, 'from 1 to 9999'],
    ['no room beside the transport header', { ...plain, transportHeader: TPDU, maxFrameBytes: 5 }, 'from 6 to'],
    [
      'a length that counts itself and overflows',
      { lengthHeader: 'binary-2-inclusive', maxFrameBytes: 65_534 },
      '65533',
    ],
    ['frames of gigabytes', { lengthHeader: 'binary-4', maxFrameBytes: 2 ** 31 }, 'to 1048576'],
    ['no limit', { ...plain, maxFrameBytes: Number.NaN }, 'an integer'],
    ['a length header of three bytes', { ...plain, lengthHeader: 'binary-3' as never }, 'one of binary-2, '],
    ['a TPDU of two bytes', { ...plain, transportHeader: { kind: 'tpdu', bytes: hex('6001') } }, 'two addresses'],
    ['an empty prefix', { ...plain, transportHeader: { kind: 'prefix', bytes: hex('') } }, 'must be bytes'],
    ['a transport header of no kind', { ...plain, transportHeader: hex('60') as never }, 'tpdu or prefix'],
  ] as const)('a framing with %s is refused', (_, framing, detail) => {
    const refusal = { code: 'FRAMING_INVALID', message: expect.stringContaining(detail) };
    expect(() => checkFraming(framing)).toThrow(expect.objectContaining(refusal));
  });

  test('responds to a TPDU with destination and source swapped, and does not change the original', () => {
    const framing: Framing = { ...plain, transportHeader: TPDU };
    const frame = stream(framing, 'hello');
    expect([...replyHeaderOf(framing, frame, 7)!]).toEqual([0x60, 0x03, 0x04, 0x01, 0x02]);
    expect([...frame.subarray(2, 7)]).toEqual([...TPDU.bytes]);
  });

  test('has no header of its own for the response to a frame with a prefix or without transport header', () => {
    const framing: Framing = { ...plain, transportHeader: PREFIX };
    expect(replyHeaderOf(framing, stream(framing, 'hello'), 11)).toBeUndefined();
    expect(replyHeaderOf(plain, stream(plain, 'hello'), 2)).toBeUndefined();
  });
});
