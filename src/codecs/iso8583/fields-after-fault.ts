import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import type { PlainRecord } from '../bytes/record.ts';
import type { FieldCodec } from './field-codec.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import type { TextField } from './rows.ts';
import type { Spec } from './spec.ts';
import { wireFields } from './wire-fields.ts';

/** A switch may send any number of faulty messages, so the codec of a field is made once. */
const codecs = new WeakMap<Spec, WeakMap<TextField, FieldCodec>>();

/**
 * The texts of fixed length of a message that has a fault in the content of one of its fields: among them are those that
 * pair a response with its request, and most of these come after the card number and the amount.
 */
export function fieldsAfterFault(spec: Spec, bytes: Uint8Array): PlainRecord {
  const found: PlainRecord = {};
  for (const { field, path, from, to } of wireFields(spec, bytes)) {
    if (field.kind !== 'text' || field.prefix !== undefined || path === 'mti') continue;
    try {
      found[field.name] = codecOf(spec, field, path).decode(new Cursor(bytes, from, to));
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
    }
  }
  return found;
}

/** The first path of a field that several composites share names it in faults, which are not reported here. */
function codecOf(spec: Spec, field: TextField, path: string): FieldCodec {
  let ofSpec = codecs.get(spec);
  if (ofSpec === undefined) {
    ofSpec = new WeakMap();
    codecs.set(spec, ofSpec);
  }
  let codec = ofSpec.get(field);
  if (codec === undefined) {
    codec = leafCodec(field, path, spec.encodings);
    ofSpec.set(field, codec);
  }
  return codec;
}
