import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import type { Codec } from './codec.ts';
import { parseMti } from './message.ts';
import { headerBytesOf, LENGTH_HEADERS, readLengthHeader } from './network/length-headers.ts';

/** What a capture of a connection contains before the message. */
interface Skipped {
  readonly what: 'length header' | 'TPDU';
  readonly bytes: Uint8Array;
}

/** A message, or why it does not decode, and what preceded it. */
export type Decoded =
  | { readonly skipped: readonly Skipped[]; readonly message: object; readonly error?: undefined }
  | { readonly skipped: readonly Skipped[]; readonly message?: undefined; readonly error: Iso8583Error };

const TPDU_BYTES = 5;
/** A TPDU begins with this protocol id; two addresses follow. */
const TPDU_ID = 0x60;

/**
 * Decodes a message as it was captured: alone, or behind a length header, a TPDU, or both. What precedes it is skipped
 * only if the bytes are no message themselves. A length must match the number of bytes.
 */
export function decodeCaptured(codec: Codec<{ readonly mti: string }>, bytes: Uint8Array): Decoded {
  const attempts = Array.from(readings(bytes), (reading) => attempt(codec, reading));
  const isPlausible = (each: Decoded) => parseMti(mtiOf(each.message ?? each.error?.partial)) !== undefined;
  const decoded = attempts.filter(({ message }) => message !== undefined);
  return decoded.find(isPlausible) ?? decoded[0] ?? attempts.filter(isPlausible).sort(byProgress)[0] ?? attempts[0]!;
}

interface Reading {
  readonly skipped: readonly Skipped[];
  readonly bytes: Uint8Array;
}

function* readings(bytes: Uint8Array): Generator<Reading> {
  yield* withoutTpdu({ skipped: [], bytes });
  for (const row of Object.values(LENGTH_HEADERS)) {
    const count = headerBytesOf(row);
    if (bytes.length <= count || readLengthHeader(row, bytes, 0) !== bytes.length - count) continue;
    const header: Skipped = { what: 'length header', bytes: bytes.subarray(0, count) };
    yield* withoutTpdu({ skipped: [header], bytes: bytes.subarray(count) });
  }
}

function* withoutTpdu({ skipped, bytes }: Reading): Generator<Reading> {
  yield { skipped, bytes };
  if (bytes[0] !== TPDU_ID || bytes.length <= TPDU_BYTES) return;
  const tpdu: Skipped = { what: 'TPDU', bytes: bytes.subarray(0, TPDU_BYTES) };
  yield { skipped: [...skipped, tpdu], bytes: bytes.subarray(TPDU_BYTES) };
}

function attempt(codec: Codec<{ readonly mti: string }>, { skipped, bytes }: Reading): Decoded {
  try {
    return { skipped, message: codec.decode(bytes) };
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    return { skipped, error };
  }
}

function mtiOf(message: object | undefined): string {
  const { mti } = (message ?? {}) as { readonly mti?: unknown };
  return typeof mti === 'string' ? mti : '';
}

/** The reading with the most fields before its fault is the likeliest one. */
function byProgress(one: Decoded, other: Decoded): number {
  const fields = ({ error }: Decoded) => Object.keys(error?.partial ?? {}).length;
  return fields(other) - fields(one);
}
