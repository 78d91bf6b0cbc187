import { StartError } from '../../basics/errors.ts';
import type { Prefix } from '../../codecs/iso8583/rows.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';

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
