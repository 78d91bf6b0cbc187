import type { PlainRecord } from '../bytes/record.ts';
import { specError } from './field-codec.ts';
import { matchesPattern } from './message.ts';
import { type Field, subfieldsOf } from './rows.ts';

/** A field, as a path of numbers and tags: `4` or `'127.25.24'`. */
type FieldPath = number | string;

/** Whether a field is present, or the pattern of its text: `x` matches any character. */
interface Condition {
  readonly field: FieldPath;
  /** True: the field must be present; false: it must be absent. */
  readonly present?: boolean | undefined;
  readonly matches?: string | undefined;
}

/** The fields that messages of a kind must or must not have. A message obeys every rule that applies to it. */
export interface MessageRule {
  /** `0200`, or with `x` for any digit: `04x0`. Every message if absent. */
  readonly mti?: string | undefined;
  /** The processing code, DE3, with `x` for any digit: `00xxxx` is a purchase. */
  readonly processingCode?: string | undefined;
  /** Further conditions for the rule to apply. */
  readonly when?: readonly Condition[] | undefined;
  readonly required?: readonly FieldPath[] | undefined;
  readonly forbidden?: readonly FieldPath[] | undefined;
}

/** A rule that a message breaks. */
interface Breach {
  readonly code: 'FIELD_MISSING' | 'FIELD_FORBIDDEN';
  /** The path of the field, by number. */
  readonly path: string;
}

/** Returns the first breach in a message, or undefined. */
export type CheckRules = (message: PlainRecord) => Breach | undefined;

const PROCESSING_CODE = 3;

/** The names on the way to a field, outermost first. */
interface Place {
  readonly path: string;
  readonly names: readonly string[];
}

/**
 * Compiles rules against the fields of a spec.
 *
 * @throws {Iso8583Error} SPEC_INVALID if a rule names a field that the spec lacks
 */
export function compileRules(rules: readonly MessageRule[], fields: Readonly<Record<string, Field>>): CheckRules {
  const compiled = rules.map((rule) => compileRule(rule, fields));
  return (message) => {
    for (const check of compiled) {
      const breach = check(message);
      if (breach !== undefined) return breach;
    }
    return undefined;
  };
}

function compileRule(rule: MessageRule, fields: Readonly<Record<string, Field>>): CheckRules {
  const { mti, processingCode, when = [] } = rule;
  const code: Condition[] = processingCode === undefined ? [] : [{ field: PROCESSING_CODE, matches: processingCode }];
  const conditions = [...code, ...when].map((condition) => ({ ...condition, place: placeOf(condition.field, fields) }));
  const required = (rule.required ?? []).map((path) => placeOf(path, fields));
  const forbidden = (rule.forbidden ?? []).map((path) => placeOf(path, fields));
  const applies = (message: PlainRecord) =>
    (mti === undefined || matches(message.mti, mti)) &&
    conditions.every(({ place, present, matches: pattern }) => {
      const value = valueAt(message, place);
      if (present !== undefined && present !== (value !== undefined)) return false;
      return pattern === undefined || matches(value, pattern);
    });
  return (message) => {
    if (!applies(message)) return undefined;
    const missing = required.find((place) => valueAt(message, place) === undefined);
    if (missing !== undefined) return { code: 'FIELD_MISSING', path: missing.path };
    const excess = forbidden.find((place) => valueAt(message, place) !== undefined);
    return excess && { code: 'FIELD_FORBIDDEN', path: excess.path };
  };
}

function placeOf(path: FieldPath, fields: Readonly<Record<string, Field>>): Place {
  const text = String(path);
  const names: string[] = [];
  let level: Readonly<Record<string, Field>> = fields;
  for (const key of text.split('.')) {
    const field = Object.hasOwn(level, key) ? level[key] : undefined;
    if (field === undefined) throw specError(text, 'a rule names this field, which the spec does not define');
    names.push(field.name);
    level = subfieldsOf(field);
  }
  return { path: text, names };
}

function valueAt(message: PlainRecord, { names }: Place): unknown {
  let value: unknown = message;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as PlainRecord)[name];
  }
  return value;
}

function matches(value: unknown, pattern: string): boolean {
  return typeof value === 'string' && matchesPattern(value, pattern);
}
