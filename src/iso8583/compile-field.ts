import { bitmappedBody } from './bitmapped.ts';
import { bounded } from './bounded.ts';
import { type FieldCodec, specError } from './field-codec.ts';
import { leafCodec } from './leaf-codec.ts';
import type { Encodings, Field } from './spec.ts';

/** Composites in composites: PostBridge goes to 127.25.x, the third level. */
export const MAX_DEPTH = 4;

const NAME_PATTERN = /^[a-z][A-Za-z0-9]{0,63}$/;
/** Names that a message has for itself or an object by birth. */
const TAKEN_NAMES: readonly string[] = ['mti', 'header', 'constructor', 'others'];

/** `path` is the field's number, with those of the composites around it in front. */
export function compileField(field: Field, path: string, encodings: Encodings, depth = 1): FieldCodec {
  if (!NAME_PATTERN.test(field.name) || TAKEN_NAMES.includes(field.name)) {
    throw specError(path, 'its name is taken, or is not letters and digits with a small letter in front');
  }
  if (depth > MAX_DEPTH) throw specError(path, `composites are nested deeper than ${MAX_DEPTH}`);
  const inside = (inner: Field, innerPath: string) => compileField(inner, innerPath, encodings, depth + 1);
  if (field.kind === 'bitmapped') {
    return bounded(bitmappedBody(field, path, encodings, inside), field, path, encodings);
  }
  return leafCodec(field, path, encodings);
}
