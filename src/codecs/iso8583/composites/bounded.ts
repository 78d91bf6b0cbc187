import type { Cursor } from '../../bytes/cursor.ts';
import type { Sink } from '../../bytes/sink.ts';
import { decodeError, encodeError, type FieldCodec, specError } from '../field-codec.ts';
import { type PrefixCoder, prefixCoder } from '../prefixes.ts';
import type { Prefix } from '../rows.ts';
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
}

/** Adds the length of a composite, in bytes, to its body: as a prefix if there is one, fixed otherwise. */
export function bounded(body: Body, { min, max, prefix }: Bounds, path: string, encodings: Encodings): FieldCodec {
  const length = prefix === undefined ? undefined : prefixCoder(prefix, encodings.prefix);
  if (length !== undefined && max > length.most) throw specError(path, `a length of ${max} does not fit its prefix`);
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
