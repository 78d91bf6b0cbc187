import { defaultEncoding, isPacked } from '../../codecs/iso8583/leaves/leaf-parts.ts';
import { type Field, type Prefix, subfieldsOf } from '../../codecs/iso8583/rows.ts';
import type { Encodings, Spec } from '../../codecs/iso8583/spec.ts';

/** What decides about the bytes of a field, in words for people. Names, titles and who may see a value do not. */
export type FieldForm = Readonly<Record<string, string>>;

/** The form of a field without its subfields. Encodings that the spec gives to all its fields are those of the field. */
export function formOf(field: Field, encodings: Encodings): FieldForm {
  const { min, max, prefix, end } = field;
  const form: Record<string, string> = {
    content: contentOf(field),
    length: min === max ? `${max}` : `${min} to ${max}`,
  };
  if (prefix !== undefined) form.prefix = prefixInWords(prefix, encodings);
  if (end !== undefined) form.end = JSON.stringify(end);
  const hasCount = prefix !== undefined;
  switch (field.kind) {
    case 'text': {
      const encoding = field.encoding ?? defaultEncoding(field.content, encodings);
      form.encoding = encoding;
      if (isPacked(encoding)) {
        form.fill = min === max && max % 2 === 0 ? 'none' : (field.fill ?? (field.content === 'z' ? 'F' : '0'));
        if (hasCount) form.counts = field.unit === 'bytes' ? 'bytes' : 'digits';
      }
      if (field.pad !== undefined)
        form.padding = `${field.pad.side} '${field.pad.with}'${field.pad.strip ? ', removed' : ''}`;
      break;
    }
    case 'binary':
      form.encoding = field.encoding ?? encodings.binary;
      if (hasCount) form.counts = field.unit === 'digits' || field.unit === 'nibbles' ? 'half bytes' : 'bytes';
      break;
    case 'tlv':
      form.encoding = field.encoding ?? 'binary';
      form.tags = field.allow?.map((tag) => tag.toString(16).toUpperCase()).join(' ') ?? 'all';
      break;
    case 'positional':
      if (field.separator !== undefined) form.separator = `${field.separator}`;
      break;
    case 'bitmapped':
      form.bitmap = `${field.bitmap.bytes} bytes, ${field.bitmap.encoding ?? encodings.binary}, ${field.bitmap.form ?? 'fixed'}`;
      break;
    case 'tagged':
      form.tag = `${field.tag.length} ${field.tag.encoding}, ${field.first ?? 'tag'} first`;
      form.elementPrefix = prefixInWords(field.elementPrefix, encodings);
      form.lengthCounts = ['value', ...(field.lengthCounts ?? [])].join(' and ');
      form.unknown = field.unknown ?? 'refuse';
      break;
    case 'dataset':
      break;
  }
  return form;
}

function contentOf(field: Field): string {
  return field.kind === 'text' ? field.content : field.kind === 'binary' ? 'b' : field.kind;
}

/** `2 ascii digits` or `1 binary byte`. */
function prefixInWords(prefix: Prefix, encodings: Encodings): string {
  if (typeof prefix !== 'string')
    return 'digits' in prefix ? digits(prefix.digits, prefix.encoding) : bytes(prefix.bytes, prefix.encoding);
  if (encodings.prefix !== 'binary') return digits(prefix.length, encodings.prefix);
  return bytes(prefix.length <= 2 ? 1 : prefix.length <= 4 ? 2 : 3, 'binary');
}

const digits = (count: number, encoding: string) => `${count} ${encoding} digits`;
const bytes = (count: number, encoding: string) => `${count} ${encoding} bytes`;

/** A property in which two specs differ; undefined where one of them lacks it. */
export interface SpecDifference {
  /** `127.2`, or `mti`, `bitmap`, `header`, `layouts`, `rules`. */
  readonly field: string;
  readonly property: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Every difference of two specs that a message can show, by field. */
export function diffSpecs(before: Spec, after: Spec): readonly SpecDifference[] {
  const whole = (spec: Spec): Record<string, FieldForm> => ({
    mti: { encoding: spec.mti.encoding },
    bitmap: bitmapForm(spec),
    header: spec.headerBytes === undefined || spec.headerBytes === 0 ? {} : { bytes: JSON.stringify(spec.headerBytes) },
    layouts: spec.layouts?.length ? { fields: JSON.stringify(spec.layouts) } : {},
    rules: spec.rules?.length ? { list: JSON.stringify(spec.rules) } : {},
    ...formsBelow(spec.fields, '', spec.encodings),
  });
  const [a, b] = [whole(before), whole(after)];
  return Object.keys({ ...a, ...b })
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .flatMap((field) => differencesOf(field, a[field], b[field]));
}

function differencesOf(field: string, before: FieldForm | undefined, after: FieldForm | undefined): SpecDifference[] {
  if (before === undefined || after === undefined)
    return [{ field, property: 'field', before: before?.content, after: after?.content }];
  return Object.keys({ ...before, ...after })
    .filter((property) => before[property] !== after[property])
    .map((property) => ({ field, property, before: before[property], after: after[property] }));
}

function bitmapForm({ bitmap: { encoding, form = 'chained', blocks, thirdAt } }: Spec): FieldForm {
  return {
    encoding,
    form,
    ...(blocks === undefined ? {} : { blocks: `${blocks}` }),
    ...(thirdAt === undefined ? {} : { thirdAt: `${thirdAt}` }),
  };
}

function formsBelow(
  fields: Readonly<Record<string, Field>>,
  path: string,
  encodings: Encodings,
): Record<string, FieldForm> {
  const forms: Record<string, FieldForm> = {};
  for (const [key, field] of Object.entries(fields)) {
    forms[path + key] = formOf(field, encodings);
    Object.assign(forms, formsBelow(subfieldsOf(field), `${path}${key}.`, encodings));
  }
  return forms;
}
