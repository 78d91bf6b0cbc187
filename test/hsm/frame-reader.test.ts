import { describe, expect, test } from 'vitest';
import {
  FrameFault,
  FrameReader,
  frameOf,
  MAX_FRAME_BYTES,
} from '../../src/hsm-devices/payshield/device/connection.ts';

function readAll(chunks: readonly Uint8Array[], leastBytes = 8): string[] {
  const reader = new FrameReader(leastBytes);
  const messages: string[] = [];
  for (const chunk of chunks) reader.read(chunk, (message) => messages.push(Buffer.from(message).toString('latin1')));
  return messages;
}

describe('a stream is divided into messages', () => {
  const texts = ['0001ND00', '0002M7000123456789ABCDEF', '0003B300\u0000\u0019ÿ'];
  const stream = Buffer.concat(texts.map((text) => frameOf(Buffer.from(text, 'latin1'))));

  test('split at every byte, and all in one', () => {
    for (let at = 0; at <= stream.length; at++) {
      expect(readAll([stream.subarray(0, at), stream.subarray(at)])).toEqual(texts);
    }
    expect(readAll([...stream].map((byte) => Buffer.of(byte)))).toEqual(texts);
  });

  test('a prefix yields only whole messages', () => {
    for (let at = 0; at < stream.length; at++) {
      expect(texts.join('')).toContain(readAll([stream.subarray(0, at)]).join(''));
    }
  });

  test.each([0, 1, 7, MAX_FRAME_BYTES + 1, 65_535])('a length of %d is a fault', (length) => {
    expect(() => readAll([Buffer.of(length >> 8, length & 0xff)])).toThrow(FrameFault);
  });

  test('the longest frame is read', () => {
    const longest = Buffer.alloc(MAX_FRAME_BYTES, 0x41);
    expect(readAll([frameOf(longest)])[0]).toHaveLength(MAX_FRAME_BYTES);
  });
});
