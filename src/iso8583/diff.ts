import { isDeepStrictEqual } from 'node:util';
import { type DescribedValue, type DescribeOptions, describedValues, type MessageRow } from './describe.ts';
import type { Spec } from './spec.ts';

/** A place at which two messages differ; a row is undefined where a message has no value there. */
export interface Difference {
  readonly path: string;
  readonly name: string;
  readonly before: MessageRow | undefined;
  readonly after: MessageRow | undefined;
}

/**
 * Where two messages of a spec differ, in order of the paths of the first. Values are compared whole and shown as
 * `messageRows` shows them: two withheld ones are told apart without being told.
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

/** Values by path, the second of a repeated tag by its path and its turn; composites are left out for what is in them. */
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
  if (a.value instanceof Uint8Array && b.value instanceof Uint8Array) return Buffer.compare(a.value, b.value) === 0;
  return isDeepStrictEqual(a.value, b.value);
}
