import type { Expectation, Expectations } from './plan.ts';
import type { MaskedField, MaskedMessage } from './recording-proxy.ts';

/** An expectation with what arrived. */
export interface FieldResult {
  /** `request 4`, `reversal response 39`, `outcome`. */
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  readonly passed: boolean;
}

const NOTHING = 'absent';

/**
 * Compares a message with what a plan expects of it. A value that may not be shown can only be present or absent.
 *
 * @param of the message that `sameAs` names; undefined if its case has none
 */
export function checkMessage(
  label: string,
  message: MaskedMessage | undefined,
  expected: Expectations,
  of: (number: number, message: 'request' | 'response') => MaskedMessage | undefined,
): FieldResult[] {
  return Object.entries(expected).map(([path, expectation]) => {
    const field = `${label} ${path}`;
    if (message === undefined)
      return { field, expected: textOf(expectation), actual: 'no message arrived', passed: false };
    const found = fieldOf(message, path);
    if (typeof expectation === 'object' && 'sameAs' in expectation) {
      const { case: number, message: which, field: otherPath } = expectation.sameAs;
      const original = of(number, which);
      const wanted = original && fieldOf(original, otherPath);
      const expected = `${textOf(expectation)}: ${wanted?.value ?? NOTHING}`;
      const isComparable = !(wanted?.withheld || found?.withheld);
      const passed = isComparable && wanted !== undefined && found?.value === wanted.value;
      return { field, expected, actual: shown(found, isComparable), passed };
    }
    return { field, expected: textOf(expectation), ...verdict(found, expectation) };
  });
}

function verdict(
  found: MaskedField | undefined,
  expectation: Exclude<Expectation, { sameAs: unknown }>,
): Pick<FieldResult, 'actual' | 'passed'> {
  if (typeof expectation === 'object' && 'present' in expectation)
    return { actual: shown(found), passed: found !== undefined };
  if (typeof expectation === 'object' && 'absent' in expectation)
    return { actual: shown(found), passed: found === undefined };
  if (found?.withheld) return { actual: shown(found, false), passed: false };
  const value = found?.value;
  const isRight =
    typeof expectation === 'string' ? value === expectation : new RegExp(expectation.pattern, 'v').test(value ?? '');
  return { actual: shown(found), passed: value !== undefined && isRight };
}

/** The field with this path or name. */
export function fieldOf({ fields }: MaskedMessage, path: string): MaskedField | undefined {
  return fields.find((each) => each.path === path) ?? fields.find(({ name }) => name === path);
}

function shown(found: MaskedField | undefined, isComparable = true): string {
  if (found === undefined) return NOTHING;
  return isComparable ? found.value : `${found.value}: expect only that it is present or absent`;
}

function textOf(expectation: Expectation): string {
  if (typeof expectation === 'string') return expectation;
  if ('pattern' in expectation) return `/${expectation.pattern}/`;
  if ('present' in expectation) return 'present';
  if ('absent' in expectation) return NOTHING;
  const { case: number, message, field } = expectation.sameAs;
  return `as ${message} ${field} of case ${number}`;
}
