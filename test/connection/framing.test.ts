import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerHeader, checkFraming, FrameReader, type Framing } from '../../src/connection/framing.ts';
import { ConnectionError } from '../../src/errors.ts';
import { frameOf } from '../support/frame-of.ts';

const plain: Framing = { lengthBytes: 2, lengthIncludesHeader: false, maxFrameBytes: 65_535 };
const tpdu = Uint8Array.of(0x60, 0x01, 0x02, 0x03, 0x04);
const framings: Record<string, Framing> = {
  'two bytes of length': plain,
  'four bytes of length': { ...plain, lengthBytes: 4 },
  'a length that counts itself': { ...plain, lengthIncludesHeader: true, maxFrameBytes: 65_533 },
  'a TPDU': { ...plain, transportHeader: tpdu },
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

describe.each(Object.entries(framings))('frames with %s', (_, framing) => {
  test('are read with the stream split in two at any byte', () => {
    const bytes = stream(framing, 'first', 'the second', 'x');
    for (let at = 0; at <= bytes.length; at++) {
      expect(read(framing, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(['first', 'the second', 'x']);
    }
  });

  test('are read byte by byte', () => {
    const bytes = stream(framing, 'first', 'second');
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(read(framing, chunks)).toEqual(['first', 'second']);
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

  test('accepts the longest frame that two bytes can announce', () => {
    const text = 'x'.repeat(65_535);
    expect(read(plain, [stream(plain, text)])).toEqual([text]);
  });

  test.each([
    ['two bytes of length', plain, [0, 0]],
    ['four bytes of length', { ...plain, lengthBytes: 4 }, [0, 0, 0, 0]],
    ['a length that counts itself', { ...plain, lengthIncludesHeader: true, maxFrameBytes: 1_000 }, [0, 2]],
    ['a TPDU before each message', { ...plain, transportHeader: tpdu }, [0, 0]],
  ] as const)('passes over frames without content, with %s, however they are split', (_, framing, empty) => {
    const keepAlive = Uint8Array.from(empty);
    const bytes = Buffer.concat([
      keepAlive,
      keepAlive,
      stream(framing, 'one'),
      keepAlive,
      stream(framing, 'two'),
      keepAlive,
    ]);
    for (let at = 0; at <= bytes.length; at++)
      expect(read(framing, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(['one', 'two']);
    expect(
      read(
        framing,
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(['one', 'two']);
  });

  test.each([
    ['longer than the limit', { ...plain, maxFrameBytes: 10 }, [0, 11], 'FRAME_TOO_LONG'],
    ['of 65,535 bytes where less is allowed', { ...plain, maxFrameBytes: 8_192 }, [255, 255], 'FRAME_TOO_LONG'],
    ['of four gigabytes', { ...plain, lengthBytes: 4 }, [255, 255, 255, 255], 'FRAME_TOO_LONG'],
    [
      'shorter than its own length bytes',
      { ...plain, lengthIncludesHeader: true, maxFrameBytes: 9 },
      [0, 1],
      'FRAME_TOO_SHORT',
    ],
    ['with a TPDU and nothing else', { ...plain, transportHeader: tpdu }, [0, 5], 'FRAME_TOO_SHORT'],
  ] as const)('refuses a frame %s as soon as its length is known', (_, framing, length, code) => {
    expect(() => read(framing, [Uint8Array.from(length)])).toThrow(expect.objectContaining({ code }));
    const byByte = Array.from(length, (byte) => Uint8Array.of(byte));
    expect(() => read(framing, byByte)).toThrow(expect.objectContaining({ code }));
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
    ['a longest frame that its length cannot tell', { ...plain, maxFrameBytes: 65_536 }],
    ['no room beside the transport header', { ...plain, transportHeader: tpdu, maxFrameBytes: 5 }],
    ['a length that counts itself and overflows', { ...plain, lengthIncludesHeader: true, maxFrameBytes: 65_534 }],
    ['frames of gigabytes', { ...plain, lengthBytes: 4, maxFrameBytes: 2 ** 31 }],
    ['no limit', { ...plain, maxFrameBytes: Number.NaN }],
  ] as const)('with %s is refused', (_, framing) => {
    expect(() => checkFraming(framing)).toThrow(expect.objectContaining({ code: 'FRAMING_INVALID' }));
  });

  test('answers a TPDU with destination and source swapped, and does not change the original', () => {
    expect([...answerHeader(tpdu)]).toEqual([0x60, 0x03, 0x04, 0x01, 0x02]);
    expect([...tpdu]).toEqual([0x60, 0x01, 0x02, 0x03, 0x04]);
  });

  test('answers a header without two halves unchanged', () => {
    expect([...answerHeader(Uint8Array.of(1, 2))]).toEqual([1, 2]);
    expect([...answerHeader(Uint8Array.of(7))]).toEqual([7]);
  });
});
