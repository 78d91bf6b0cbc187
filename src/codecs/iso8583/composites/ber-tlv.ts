import { TlvError } from '../../../basics/errors/codec-errors.ts';
import { indexTlv, type TlvIndex } from '../../emv/tlv.ts';
import { byteCoding } from '../encodings/bytes.ts';
import { decodeError, encodeError } from '../field-codec.ts';
import type { TlvField } from '../rows.ts';
import type { Body } from './bounded.ts';

/** A value of BER-TLV: kept as bytes, so that order, duplicates and padding survive, and checked both ways. */
export function tlvBody({ allow, onBadChild, encoding = 'binary' }: TlvField, path: string): Body {
  const options = { onBadChild: onBadChild ?? 'refuse' } as const;
  const allowed = allow === undefined ? undefined : new Set(allow);
  const index = (bytes: Uint8Array) => indexTlv(bytes, options);
  const coding = byteCoding(encoding);
  const wireBytes = coding.wireBytes(1);
  return {
    decode(cursor) {
      const from = cursor.position;
      const count = (cursor.end - from) / wireBytes;
      if (!Number.isInteger(count)) throw decodeError('LENGTH_INVALID', path, from, cursor);
      const wrong = coding.firstWrong(cursor.bytes, from, count);
      if (wrong >= 0) throw decodeError('CONTENT_INVALID', path, wrong, cursor);
      const value = coding.read(cursor, from, count);
      const fault = tlvFault(value, index, allowed);
      if (fault !== undefined) throw decodeError(fault.code, path, from + fault.offset * wireBytes, cursor);
      cursor.position = cursor.end;
      return value;
    },
    encode(value, sink) {
      const at = sink.position;
      if (!(value instanceof Uint8Array)) throw encodeError('VALUE_TYPE', path, at, sink);
      const fault = tlvFault(value, index, allowed);
      if (fault !== undefined) throw encodeError(fault.code, path, at + fault.offset * wireBytes, sink);
      const end = at + value.length * wireBytes;
      if (end > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
      coding.write(value, sink.target, at);
      sink.position = end;
    },
  };
}

interface Fault {
  readonly code: 'TLV_INVALID' | 'TAG_UNKNOWN';
  readonly offset: number;
}

/** The fault of a value, if any. The tag is withheld, because after a wrong length it can be part of a PAN. */
function tlvFault(
  value: Uint8Array,
  index: (bytes: Uint8Array) => TlvIndex,
  allowed: ReadonlySet<number> | undefined,
): Fault | undefined {
  try {
    const objects = index(value);
    if (allowed === undefined) return undefined;
    for (const object of objects) {
      if (!allowed.has(object.tag)) return { code: 'TAG_UNKNOWN', offset: object.value.byteOffset - value.byteOffset };
    }
    return undefined;
  } catch (error) {
    if (error instanceof TlvError) return { code: 'TLV_INVALID', offset: error.offset };
    throw error;
  }
}
