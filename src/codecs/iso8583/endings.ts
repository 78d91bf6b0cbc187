import { specError } from './field-codec.ts';
import type { Ending } from './rows.ts';

/** Finds the end of a value that has no length prefix. */
export interface EndCoder {
  /** The offset after the last byte of the value at `at`, or -1 if it does not end before `end`. */
  find(bytes: Uint8Array, at: number, end: number): number;
  /** Whether `find` would return `to` for the bytes from `from` on, once `writeAfter` has run. */
  canEnd(bytes: Uint8Array, from: number, to: number): boolean;
  /** The byte after the value, which is not part of it; undefined if the next value follows directly. */
  readonly delimiter: number | undefined;
}

/** What remains of the composite. Its last row has this ending; others may not. */
const REST: EndCoder = { find: (_bytes, _at, end) => end, canEnd: () => true, delimiter: undefined };

/** @throws {Iso8583Error} SPEC_INVALID */
export function endCoder(ending: Ending, path: string): EndCoder {
  if (ending === 'rest') return REST;
  return 'until' in ending ? delimited(delimiterOf(ending.until, path)) : countsItself(ending.lengthOffset, path);
}

/** A byte that no digit and no letter has in ASCII or EBCDIC, so that values can be masked with these. */
export function delimiterOf(byte: number, path: string): number {
  const isByte = Number.isInteger(byte) && byte >= 0 && byte <= 0xff;
  const isAscii = isByte && /[0-9A-Za-z]/.test(String.fromCharCode(byte));
  const isEbcdic = byte >= 0x81 && (byte & 0x0f) <= 9;
  if (!isByte || isAscii || isEbcdic) throw specError(path, 'a delimiter must be a byte that is no digit or letter');
  return byte;
}

function delimited(delimiter: number): EndCoder {
  const find = (bytes: Uint8Array, at: number, end: number) => {
    for (let index = at; index < end; index++) if (bytes[index] === delimiter) return index;
    return -1;
  };
  return { find, canEnd: (bytes, from, to) => find(bytes, from, to) < 0, delimiter };
}

/** One byte of the value is its length, as in the header of a Visa message. */
function countsItself(offset: number, path: string): EndCoder {
  if (!Number.isInteger(offset) || offset < 0 || offset > 0xff) throw specError(path, 'lengthOffset must be 0 to 255');
  return {
    find(bytes, at, end) {
      const length = at + offset < end ? bytes[at + offset]! : 0;
      return length > offset && at + length <= end ? at + length : -1;
    },
    canEnd: (bytes, from, to) => to - from > offset && bytes[from + offset] === to - from,
    delimiter: undefined,
  };
}
