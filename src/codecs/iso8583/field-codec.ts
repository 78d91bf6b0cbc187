import { Iso8583Error, type Iso8583ErrorCode } from '../../basics/errors/codec-errors.ts';
import type { Cursor } from '../bytes/cursor.ts';
import type { Sink } from '../bytes/sink.ts';
import type { TextRun } from '../bytes/text-run.ts';

/** One field of a spec, compiled. */
export interface FieldCodec {
  /**
   * Present for the most common kind of field: callers may try `readTextRun` and `writeTextRun` first to save a
   * call.
   */
  readonly run: TextRun | undefined;
  /** Reads the value at the cursor and moves past it. */
  decode(cursor: Cursor): unknown;
  /** Writes a value at the sink and moves past it. */
  encode(value: unknown, sink: Sink): void;
}

/** The error for a fault at the absolute offset `at`. */
export function decodeError(code: Iso8583ErrorCode, path: string, at: number, cursor: Cursor): Iso8583Error {
  return new Iso8583Error(code, path, at - cursor.origin);
}

export function encodeError(code: Iso8583ErrorCode, path: string, at: number, sink: Sink): Iso8583Error {
  return new Iso8583Error(code, path, at - sink.origin);
}

export function specError(path: string, detail: string): Iso8583Error {
  return new Iso8583Error('SPEC_INVALID', path, 0, detail);
}

/** A name from a caller, for the path of an error; `?` for a text that may be a misplaced value. */
export function nameForError(name: string): string {
  return /^[A-Za-z]{1,40}[0-9]{0,2}[A-Za-z]{0,20}$/.test(name) ? name : '?';
}
