import { type Framing, writeFrameHeader } from '../../src/connection/framing.ts';

/** One message as a separate frame. A connection of the gateway encodes in place instead. */
export function frameOf(framing: Framing, message: Uint8Array, header = framing.transportHeader): Uint8Array {
  const start = framing.lengthBytes + (header?.length ?? 0);
  const frame = new Uint8Array(start + message.length);
  frame.set(message, start);
  writeFrameHeader(framing, header, frame, start, frame.length);
  return frame;
}
