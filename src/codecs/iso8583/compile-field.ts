import { type Body, bounded } from './composites/bounded.ts';
import { datasetBody, tlvBody } from './composites/dataset.ts';
import { bitmappedBody, type CompileField } from './composites/numbered-fields.ts';
import { positionalBody } from './composites/positional.ts';
import { taggedBody } from './composites/tagged.ts';
import { type FieldCodec, specError } from './field-codec.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import type { BinaryField, Field, TextField } from './rows.ts';
import type { Encodings } from './spec.ts';

/** Composites in composites: PostBridge goes to 127.25.x, the third level. */
export const MAX_DEPTH = 4;

const NAME_PATTERN = /^[a-z][A-Za-z0-9]{0,63}$/;
/** Names with a fixed meaning in a message or a composite. */
const TAKEN_NAMES: readonly string[] = ['mti', 'header', 'others', 'tlv'];

/**
 * Compiles one field. `path` is its number, preceded by those of the composites that contain it.
 *
 * @throws {Iso8583Error} SPEC_INVALID
 */
export function compileField(field: Field, path: string, encodings: Encodings, depth = 1): FieldCodec {
  checkName(field.name, path);
  if (depth > MAX_DEPTH) throw specError(path, `composites are nested deeper than ${MAX_DEPTH}`);
  checkLengths(field, path);
  if (field.kind === 'text' || field.kind === 'binary') return leafCodec(field, path, encodings);
  const inside: CompileField = (inner, innerPath) => compileField(inner, innerPath, encodings, depth + 1);
  return bounded(bodyOf(field, path, encodings, inside), field, path, encodings);
}

function bodyOf(
  field: Exclude<Field, TextField | BinaryField>,
  path: string,
  encodings: Encodings,
  inside: CompileField,
): Body {
  switch (field.kind) {
    case 'tlv':
      return tlvBody(field, path);
    case 'positional':
      return positionalBody(field, path, inside);
    case 'tagged':
      return taggedBody(field, path, encodings, inside);
    case 'bitmapped':
      return bitmappedBody(field, path, encodings, inside);
    case 'dataset':
      return datasetBody(field, path, inside);
  }
}

function checkName(name: string, path: string): void {
  const isTaken = TAKEN_NAMES.includes(name) || name in Object.prototype;
  if (isTaken || !NAME_PATTERN.test(name)) {
    throw specError(path, 'its name is reserved, or is not letters and digits that begin with a small letter');
  }
}

function checkLengths({ kind, min, max, prefix, end }: Field, path: string): void {
  if (!Number.isSafeInteger(max) || !Number.isSafeInteger(min) || min < 0 || max < 1 || min > max) {
    throw specError(path, 'min and max must be integers with 0 <= min <= max and max >= 1');
  }
  if (prefix !== undefined && end !== undefined) throw specError(path, 'a field has a prefix or an end, not both');
  if (prefix === undefined && end === undefined && min !== max)
    throw specError(path, 'a field without a prefix must have one fixed length');
  if (typeof end === 'object' && 'lengthOffset' in end && kind !== 'binary')
    throw specError(path, 'only bytes can contain their own length');
}
