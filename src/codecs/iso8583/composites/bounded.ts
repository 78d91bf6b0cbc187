import type { Cursor } from '../../bytes/cursor.ts';
import type { Sink } from '../../bytes/sink.ts';
import { decodeError, encodeError, type FieldCodec, specError } from '../field-codec.ts';
import { writeEnding } from '../leaves/leaf-codec.ts';
import { type EndCoder, endCoder, type PrefixCoder, prefixCoder } from '../prefixes.ts';
import type { Ending, Prefix } from '../rows.ts';
import type { Encodings } from '../spec.ts';

/** The content of a composite, independent of how its length is encoded. */
export interface Body {
  /** Reads up to `cursor.end`; remaining bytes are refused. */
  decode(cursor: Cursor): unknown;
  encode(value: unknown, sink: Sink): void;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly prefix?: Prefix | undefined;
  readonly end?: Ending | undefined;
}

/** Adds the length of a composite, in bytes, to its body: as a prefix or an ending if there is one, fixed otherwise. */
export function bounded(body: Body, { min, max, prefix, end }: Bounds, path: string, encodings: Encodings): FieldCodec {
  const length = prefix === undefined ? undefined : prefixCoder(prefix, encodings.prefix);
  if (length !== undefined && max > length.most) throw specError(path, `a length of ${max} does not fit its prefix`);
  if (end !== undefined) return endedBody(body, min, max, endCoder(end, path), path);
  return {
    run: undefined,
    decode: boundedDecoder(body, min, max, length, path),
    encode: boundedEncoder(body, min, max, length, path),
  };
}

function boundedDecoder(
  body: Body,
  min: number,
  max: number,
  prefix: PrefixCoder | undefined,
  path: string,
): FieldCodec['decode'] {
  const width = prefix === undefined ? 0 : prefix.width;
  return (cursor) => {
    const at = cursor.position;
    const outerEnd = cursor.end;
    if (at + width > outerEnd) throw decodeError('TRUNCATED', path, at, cursor);
    const length = prefix === undefined ? max : prefix.read(cursor.bytes, at);
    if (length < 0) throw decodeError('LENGTH_INVALID', path, at, cursor);
    if (length > max) throw decodeError('LENGTH_TOO_LONG', path, at, cursor);
    if (length < min) throw decodeError('LENGTH_TOO_SHORT', path, at, cursor);
    const end = at + width + length;
    if (end > outerEnd) throw decodeError('TRUNCATED', path, at + width, cursor);
    cursor.position = at + width;
    cursor.end = end;
    const value = body.decode(cursor);
    if (cursor.position < end) throw decodeError('TRAILING_BYTES', path, cursor.position, cursor);
    cursor.end = outerEnd;
    return value;
  };
}

function boundedEncoder(
  body: Body,
  min: number,
  max: number,
  prefix: PrefixCoder | undefined,
  path: string,
): FieldCodec['encode'] {
  const width = prefix === undefined ? 0 : prefix.width;
  return (value, sink) => {
    const at = sink.position;
    if (at + width > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
    sink.position = at + width;
    body.encode(value, sink);
    const length = sink.position - at - width;
    if (length > max) throw encodeError('LENGTH_TOO_LONG', path, at, sink);
    if (length < min) throw encodeError('LENGTH_TOO_SHORT', path, at, sink);
    if (prefix !== undefined) prefix.write(sink.target, at, length);
  };
}

function endedBody(body: Body, min: number, max: number, end: EndCoder, path: string): FieldCodec {
  const afterBytes = end.delimiter === undefined ? 0 : 1;
  return {
    run: undefined,
    decode(cursor) {
      const at = cursor.position;
      const outerEnd = cursor.end;
      const to = end.find(cursor.bytes, at, outerEnd);
      if (to < 0) throw decodeError('TRUNCATED', path, at, cursor);
      if (to - at > max) throw decodeError('LENGTH_TOO_LONG', path, at, cursor);
      if (to - at < min) throw decodeError('LENGTH_TOO_SHORT', path, at, cursor);
      cursor.end = to;
      const value = body.decode(cursor);
      if (cursor.position < to) throw decodeError('TRAILING_BYTES', path, cursor.position, cursor);
      cursor.end = outerEnd;
      cursor.position = to + afterBytes;
      return value;
    },
    encode(value, sink) {
      const at = sink.position;
      body.encode(value, sink);
      const length = sink.position - at;
      if (length > max) throw encodeError('LENGTH_TOO_LONG', path, at, sink);
      if (length < min) throw encodeError('LENGTH_TOO_SHORT', path, at, sink);
      writeEnding(end, sink, at, path);
    },
  };
}
