import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import { bitmapCoding, countBits, readBits, writeBits } from '../bitmap.ts';
import { encodeError } from '../field-codec.ts';
import type { BitmappedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Body } from './bounded.ts';
import { type CompileField, NumberedFields } from './numbered-fields.ts';

/** Subfields by number after a bitmap of their own. */
export function bitmappedBody(field: BitmappedField, path: string, encodings: Encodings, compile: CompileField): Body {
  const lengthBytes = field.bitmap.bytes;
  const coding = bitmapCoding(field.bitmap.encoding ?? encodings.binary);
  const fields = new NumberedFields(field.fields, `${path}.`, lengthBytes * 8, compile);
  return {
    decode(cursor) {
      readBits(coding, cursor, fields.bits, 0, lengthBytes, `${path}.bitmap`);
      const record = newRecord(countBits(fields.bits));
      fields.decode(cursor, record);
      return record;
    },
    encode(value, sink) {
      if (typeof value !== 'object' || value === null) throw encodeError('VALUE_TYPE', path, sink.position, sink);
      try {
        fields.take(value as PlainRecord, sink);
        writeBits(coding, sink, fields.bits, 0, lengthBytes, `${path}.bitmap`);
        fields.encode(sink);
      } catch (error) {
        fields.forget();
        throw error;
      }
    },
  };
}
