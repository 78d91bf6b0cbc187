import { areEqualBytes } from '../bytes/equal-bytes.ts';
import { type DescribedValue, type DescribeOptions, describedValues, type MessageRow } from './describe.ts';
import type { Spec } from './spec.ts';

/** A place where two messages differ; a row is undefined if the message has no value there. */
export interface Difference {
  readonly path: string;
  readonly name: string;
  readonly before: MessageRow | undefined;
  readonly after: MessageRow | undefined;
}

/**
 * The places where two messages of a spec differ, in order of the paths of the first. Complete values are compared
 * and then shown as `messageRows` shows them, so a difference of withheld values is reported without the values.
 */
export function diffMessages(spec: Spec, before: object, after: object, options?: DescribeOptions): Difference[] {
  const left = placesOf(spec, before, options);
  const right = placesOf(spec, after, options);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((place) => !isSame(left.get(place), right.get(place)))
    .map((place) => {
      const [a, b] = [left.get(place)?.row, right.get(place)?.row];
      const { path, name } = (a ?? b)!;
      return { path, name, before: a, after: b };
    });
}

/**
 * Values by path; a repeated tag also has its repetition number. Composites are left out, because their contents are
 * listed.
 */
function placesOf(spec: Spec, message: object, options?: DescribeOptions): Map<string, DescribedValue> {
  const places = new Map<string, DescribedValue>();
  for (const described of describedValues(spec, message, options)) {
    if (isComposite(described.value)) continue;
    const { path } = described.row;
    let turn = 1;
    while (places.has(`${path}#${turn}`)) turn++;
    places.set(`${path}#${turn}`, described);
  }
  return places;
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}

function isSame(a: DescribedValue | undefined, b: DescribedValue | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a.value instanceof Uint8Array && b.value instanceof Uint8Array) return areEqualBytes(a.value, b.value);
  return a.value === b.value;
}
