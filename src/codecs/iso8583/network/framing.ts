import { ConnectionError } from '../../../basics/errors/gateway-errors.ts';
import {
  headerBytesOf,
  LENGTH_HEADER_NAMES,
  LENGTH_HEADERS,
  type LengthHeader,
  type LengthHeaderName,
  longestContentOf,
  writeLengthHeader,
} from './length-headers.ts';

/** Much longer than any ISO 8583 message. A connection reserves room for several of its longest frames. */
const LARGEST_FRAME_BYTES = 2 ** 20;
/** Channels end frames with one or two control characters. */
const MAX_TRAILER_BYTES = 8;

/** Bytes between the length and the message, which the length counts. Those of a received frame are not checked. */
export interface TransportHeader {
  /**
   * `tpdu`: an id followed by destination and source, sent as given; a response has those of its request, swapped.
   * `prefix`: the same bytes before every message that is sent.
   */
  readonly kind: 'tpdu' | 'prefix';
  readonly bytes: Uint8Array;
}

/** How messages are delimited in the stream: a length, an optional transport header, the message, an optional trailer. */
export interface Framing {
  /** A row of `LENGTH_HEADERS`. */
  readonly lengthHeader: LengthHeaderName;
  readonly transportHeader?: TransportHeader | undefined;
  /** The same bytes after every message, which the length counts: `03` (ETX) in BASE24. */
  readonly trailer?: Uint8Array | undefined;
  /**
   * The longest frame that either side may send, in bytes without the length, with transport header and trailer. The
   * connection is closed when a longer one is announced.
   */
  readonly maxFrameBytes: number;
}

/** @throws ConnectionError FRAMING_INVALID if the framing is no framing, or no frame could satisfy it */
export function checkFraming(framing: Framing): void {
  const fault = framingFault(framing);
  if (fault !== undefined) throw new ConnectionError('FRAMING_INVALID', fault);
}

/** Why a framing cannot be used, for the author of a processor type; undefined if it can. */
export function framingFault(framing: Framing | undefined): string | undefined {
  if (framing === undefined || !LENGTH_HEADER_NAMES.includes(framing.lengthHeader))
    return `lengthHeader must be one of ${LENGTH_HEADER_NAMES.join(', ')}`;
  const { transportHeader, trailer, maxFrameBytes } = framing;
  const transportFault = transportHeader && transportHeaderFault(transportHeader);
  if (transportFault !== undefined) return transportFault;
  if (
    trailer !== undefined &&
    !(trailer instanceof Uint8Array && trailer.length > 0 && trailer.length <= MAX_TRAILER_BYTES)
  )
    return `trailer must be 1 to ${MAX_TRAILER_BYTES} bytes`;
  const longest = Math.min(longestContentOf(lengthHeaderOf(framing)), LARGEST_FRAME_BYTES);
  const least = transportBytesOf(framing) + trailerBytesOf(framing) + 1;
  const isPossible = Number.isInteger(maxFrameBytes) && maxFrameBytes >= least && maxFrameBytes <= longest;
  return isPossible ? undefined : `maxFrameBytes must be an integer from ${least} to ${longest}`;
}

function transportHeaderFault({ kind, bytes }: TransportHeader): string | undefined {
  if (kind !== 'tpdu' && kind !== 'prefix') return 'transportHeader.kind must be tpdu or prefix';
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) return 'transportHeader.bytes must be bytes';
  const isTpdu = bytes.length >= 3 && bytes.length % 2 === 1;
  return kind === 'tpdu' && !isTpdu ? 'a tpdu must be an id and two addresses of one length' : undefined;
}

export function lengthHeaderOf({ lengthHeader }: Framing): LengthHeader {
  return LENGTH_HEADERS[lengthHeader];
}

/** The length of the transport header. */
export function transportBytesOf({ transportHeader }: Framing): number {
  return transportHeader?.bytes.length ?? 0;
}

/** The length of the trailer. */
export function trailerBytesOf({ trailer }: Framing): number {
  return trailer?.length ?? 0;
}

/** The bytes before each message: length and transport header. */
export function prefixBytesOf(framing: Framing): number {
  return headerBytesOf(lengthHeaderOf(framing)) + transportBytesOf(framing);
}

/** The bytes of the longest frame, length included. */
export function largestFrameBytesOf(framing: Framing): number {
  return headerBytesOf(lengthHeaderOf(framing)) + framing.maxFrameBytes;
}

/**
 * Writes length and transport header before a message that starts at `messageStart`, which must be `prefixBytesOf` bytes
 * or more from the start of the target, and the trailer after it.
 *
 * @returns the end of the frame
 * @param transport the transport header of a response (`replyHeaderOf`); by default that of the framing
 */
export function writeFraming(
  framing: Framing,
  target: Uint8Array,
  messageStart: number,
  messageEnd: number,
  transport: Uint8Array | undefined = framing.transportHeader?.bytes,
): number {
  let at = messageStart;
  if (transport) {
    at -= transport.length;
    target.set(transport, at);
  }
  const { trailer } = framing;
  if (trailer) target.set(trailer, messageEnd);
  const end = messageEnd + trailerBytesOf(framing);
  const header = lengthHeaderOf(framing);
  writeLengthHeader(header, target, at - headerBytesOf(header), end - at);
  return end;
}

/**
 * The transport header of a response to the message at `messageStart` of a received frame: its TPDU with destination and
 * source swapped. Undefined if the framing has no TPDU: the response is then sent as every other message.
 */
export function replyHeaderOf(framing: Framing, frame: Uint8Array, messageStart: number): Uint8Array | undefined {
  if (framing.transportHeader?.kind !== 'tpdu') return undefined;
  const tpdu = frame.subarray(messageStart - transportBytesOf(framing), messageStart);
  const addressBytes = (tpdu.length - 1) / 2;
  const reply = Uint8Array.from(tpdu);
  reply.set(tpdu.subarray(1 + addressBytes), 1);
  reply.set(tpdu.subarray(1, 1 + addressBytes), 1 + addressBytes);
  return reply;
}
