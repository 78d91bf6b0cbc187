import { type Framing, prefixBytesOf, writeFrameHeader } from '../../src/codecs/iso8583/network/framing.ts';

/** One message as a separate frame. A connection of the gateway encodes in place instead. */
export function frameOf(framing: Framing, message: Uint8Array): Uint8Array {
  const start = prefixBytesOf(framing);
  const frame = new Uint8Array(start + message.length);
  frame.set(message, start);
  writeFrameHeader(framing, frame, start, frame.length);
  return frame;
}
