import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import { encodeError, type FieldCodec, nameForError, specError } from '../field-codec.ts';
import type { PositionalField } from '../rows.ts';
import type { Body } from './bounded.ts';
import type { CompileField } from './numbered-fields.ts';

/** Consecutive subfields; their paths count from 1. */
export function positionalBody(field: PositionalField, path: string, compile: CompileField): Body {
  const names = field.fields.map(({ name }) => name);
  if (new Set(names).size < names.length) throw specError(path, 'two subfields have the same name');
  const codecs = field.fields.map((subfield, index) => compile(subfield, `${path}.${index + 1}`));
  const known = new Set(names);
  return {
    /**
     * After the end of the bytes, the remaining subfields are absent; the length check ensures that there are enough
     * bytes.
     */
    decode(cursor) {
      const record = newRecord(codecs.length);
      for (let index = 0; index < codecs.length && cursor.position < cursor.end; index++) {
        record[names[index]!] = codecs[index]!.decode(cursor);
      }
      return record;
    },
    encode(value, sink) {
      if (typeof value !== 'object' || value === null) throw encodeError('VALUE_TYPE', path, sink.position, sink);
      const record = value as PlainRecord;
      for (const name in record) {
        if (!known.has(name)) throw encodeError('FIELD_UNKNOWN', `${path}.${nameForError(name)}`, sink.position, sink);
      }
      const present = countPresent(record, names, codecs);
      for (let index = 0; index < present; index++) {
        const subvalue = record[names[index]!];
        if (subvalue === undefined) throw encodeError('FIELD_MISSING', `${path}.${index + 1}`, sink.position, sink);
        codecs[index]!.encode(subvalue, sink);
      }
    },
  };
}

/** Number of subfields up to the last one with a value: none before it may be absent. */
function countPresent(record: PlainRecord, names: readonly string[], codecs: readonly FieldCodec[]): number {
  let present = codecs.length;
  while (present > 0 && record[names[present - 1]!] === undefined) present--;
  return present;
}
