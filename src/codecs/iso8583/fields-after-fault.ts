import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import type { PlainRecord } from '../bytes/record.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import type { Spec } from './spec.ts';
import { wireFields } from './wire-fields.ts';

/**
 * The texts of fixed length of a message that has a fault in the content of one of its fields: among them are those that
 * pair a response with its request, and most of these come after the card number and the amount.
 */
export function fieldsAfterFault(spec: Spec, bytes: Uint8Array): PlainRecord {
  const found: PlainRecord = {};
  for (const { field, path, from, to } of wireFields(spec, bytes)) {
    if (field.kind !== 'text' || field.prefix !== undefined || path === 'mti') continue;
    try {
      found[field.name] = leafCodec(field, path, spec.encodings).decode(new Cursor(bytes, from, to));
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
    }
  }
  return found;
}
