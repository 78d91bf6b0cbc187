import { isDeepStrictEqual } from 'node:util';
import { type DescribeOptions, type MessageRow, messageRows } from './describe.ts';
import type { Spec } from './spec.ts';
import { type Entry, walkMessage } from './walk.ts';

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
    .filter((key) => !isSame(left.get(key), right.get(key)))
    .map((key) => {
      const [a, b] = [left.get(key)?.row, right.get(key)?.row];
      const { path, name } = (a ?? b)!;
      return { path, name, before: a, after: b };
    });
}

interface PlacedRow {
  readonly row: MessageRow;
  readonly value: unknown;
}

/** Rows by path, the second of a repeated tag by its path and its turn; composites are left out for what is in them. */
function placesOf(spec: Spec, message: object, options?: DescribeOptions): Map<string, PlacedRow> {
  const places = new Map<string, PlacedRow>();
  const rows = messageRows(spec, message, options);
  const values = valuesOf(spec, message);
  for (const [index, row] of rows.entries()) {
    const value = values[index];
    if (isComposite(value)) continue;
    let turn = 1;
    while (places.has(`${row.path}#${turn}`)) turn++;
    places.set(`${row.path}#${turn}`, { row, value });
  }
  return places;
}

/** The values of `messageRows`, one for each row. */
function valuesOf(spec: Spec, message: object): unknown[] {
  const { mti, header } = message as { readonly mti?: unknown; readonly header?: unknown };
  const values: unknown[] = [];
  if (header instanceof Uint8Array) values.push(header);
  if (typeof mti === 'string') values.push(mti);
  return [...values, ...Array.from(walkMessage(spec, message), ({ value }: Entry) => value)];
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}

function isSame(a: PlacedRow | undefined, b: PlacedRow | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a.value instanceof Uint8Array && b.value instanceof Uint8Array) return Buffer.compare(a.value, b.value) === 0;
  return isDeepStrictEqual(a.value, b.value);
}
