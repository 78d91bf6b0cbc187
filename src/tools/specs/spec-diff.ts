import { StartError } from '../../basics/errors.ts';
import { defaultEncoding, isPacked } from '../../codecs/iso8583/leaves/leaf-parts.ts';
import { type Field, type Prefix, subfieldsOf } from '../../codecs/iso8583/rows.ts';
import type { Encodings, Spec } from '../../codecs/iso8583/spec.ts';

/** What decides about the bytes of a field, in words for people. Names, titles and who may see a value do not. */
type FieldForm = Readonly<Record<string, string>>;

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

/** The public packagers have at most 60 kB. A file of this size is read at once, and is never a stream of something else. */
export const MAX_SPEC_BYTES = 1_048_576;
/** The most fields of a file, subfields included: the largest public packager has 330. More would be no specification. */
export const MAX_SPEC_FIELDS = 4_000;
/** Elements or objects in each other: four levels of composites, and what surrounds and describes them. */
export const MAX_SPEC_DEPTH = 16;

/** Where a file says what this gateway's form cannot express. */
export interface Place {
  readonly line?: number | undefined;
  /** `43`, or `127.2` for a subfield. */
  readonly field?: string | undefined;
  /** The class or property: `class IFA_FLLCHAR`. */
  readonly property?: string | undefined;
}

/** A specification that was read from another form. */
export interface ImportedSpec {
  readonly spec: Spec;
  /** What the other form has and the table lacks without any effect on the bytes of a message. */
  readonly notes: readonly string[];
}

/** Collects every fault of a file, because a person who corrects it wants to know all of them. */
export class Findings {
  readonly notes: string[] = [];
  readonly #file: string;
  readonly #faults: string[] = [];
  #fields = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Records what cannot be expressed. The result replaces the field, so that reading can continue. */
  refuse(place: Place, reason: string): undefined {
    this.#faults.push(`${this.#at(place)}: ${reason}`);
  }

  note(place: Place, text: string): void {
    this.notes.push(`${this.#at(place)}: ${text}`);
  }

  /** Counts a field. @throws StartError BAD_CONFIG if there are too many */
  count(place: Place): void {
    if (++this.#fields > MAX_SPEC_FIELDS) throw this.fault(place, `The file has more than ${MAX_SPEC_FIELDS} fields.`);
  }

  /** An error that ends the reading. */
  fault(place: Place, reason: string): StartError {
    return new StartError('BAD_CONFIG', `${this.#at(place)}: ${reason}`);
  }

  /** @throws StartError BAD_CONFIG with every fault */
  check(): void {
    if (this.#faults.length > 0) throw new StartError('BAD_CONFIG', this.#faults.join('\n'));
  }

  #at({ line, field, property }: Place): string {
    const what = [field === undefined ? '' : `field ${field}`, property ?? ''].filter(Boolean).join(', ');
    return `${this.#file}${line === undefined ? '' : `:${line}`}${what && `: ${what}`}`;
  }
}

/** Whether a text is a number from 0 to 999,999, the longest field that a prefix of six digits can announce. */
export function readSize(text: unknown): number | undefined {
  const size =
    typeof text === 'number' ? text : typeof text === 'string' && /^\s*\d+\s*$/.test(text) ? Number(text) : -1;
  return Number.isInteger(size) && size >= 0 && size <= 999_999 ? size : undefined;
}

/** Names that a message, a composite or every object has already. */
const TAKEN_NAMES = ['mti', 'header', 'others', 'tlv'];
const MAX_NAME_CHARACTERS = 48;
const MAX_TITLE_CHARACTERS = 80;

/** Makes names of one level of fields from their descriptions, each one once. */
export class FieldNames {
  readonly #taken = new Set<string>(TAKEN_NAMES);

  /** The name and title of the field with this number or tag. */
  of(description: unknown, key: string): { readonly name: string; readonly title?: string } {
    const text = typeof description === 'string' ? description.trim().replace(/\s+/g, ' ') : '';
    const name = this.#free(camelCase(text) || `field${camelCase(key, true)}`, camelCase(key, true));
    this.#taken.add(name);
    return text === '' ? { name } : { name, title: text.slice(0, MAX_TITLE_CHARACTERS) };
  }

  #free(name: string, key: string): string {
    const isFree = (each: string) => !this.#taken.has(each) && !(each in Object.prototype);
    if (isFree(name)) return name;
    for (let suffix = key; ; suffix += 'x') if (isFree(name + suffix)) return name + suffix;
  }
}

/** `PAN - PRIMARY ACCOUNT NUMBER` becomes `panPrimaryAccountNumber`. */
function camelCase(text: string, isPart = false): string {
  const words = text.replace(/[’']/g, '').match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words
    .map((word) => word.toLowerCase())
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
    .slice(0, MAX_NAME_CHARACTERS);
  if (isPart || joined === '') return joined;
  return /^[A-Z]/.test(joined) ? joined.charAt(0).toLowerCase() + joined.slice(1) : `field${joined}`;
}

/** The greatest length that a prefix can announce. */
export function mostOf(prefix: Prefix): number {
  if (typeof prefix === 'string') return 10 ** prefix.length - 1;
  if ('bytes' in prefix) return 256 ** prefix.bytes - 1;
  return (prefix.encoding === 'hex' ? 16 : 10) ** prefix.digits - 1;
}
