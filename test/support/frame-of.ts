import { type Framing, prefixBytesOf, trailerBytesOf, writeFraming } from '../../src/codecs/iso8583/network/framing.ts';

/** One message as a separate frame. A connection of the gateway encodes in place instead. */
export function frameOf(framing: Framing, message: Uint8Array): Uint8Array {
  const start = prefixBytesOf(framing);
  const frame = new Uint8Array(start + message.length + trailerBytesOf(framing));
  frame.set(message, start);
  writeFraming(framing, frame, start, start + message.length);
  return frame;
}
