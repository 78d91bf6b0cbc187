import fc from 'fast-check';
import type { Schema } from '../support/api-document.ts';
import type { Sent } from './row.ts';

/** What no field expects, and databases, logs and addresses stumble over. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\ufeff\u202e',
  '\r\nset-cookie: a=b',
  'x'.repeat(300),
  'x'.repeat(70_000),
  "'; drop table transactions; --",
  '{{7*7}}%s%n',
  '../../../etc/passwd',
  '\u{1f4b3}'.repeat(64),
  '-1',
  '1e999',
  '99999999999999999999',
  'NaN',
  'null',
  '2026-02-31',
  '0000-01-01',
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '2026-01-01T00:00:00+23:59',
  '00000000-0000-0000-0000-000000000000',
  '__proto__',
  'constructor',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  [],
  {},
  [null],
  [[[[[[]]]]]],
  { length: 1 },
  { toString: 1 },
  { $ref: '#' },
  Array.from({ length: 5_000 }, () => 'x'),
];

/** Strange text: by itself, or somewhere in what was right. */
const strangeText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);
const strangeValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: strangeText },
  { weight: 2, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown) },
);

/** Where a value stands: `['overrides', 0, 'aid']`. */
export type Place = readonly (string | number)[];

/** Every place in a value, its own first. */
export function placesIn(value: unknown, here: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [here];
  return [
    here,
    ...Object.entries(value).flatMap(([name, inner]) =>
      placesIn(inner, [...here, Array.isArray(value) ? Number(name) : name]),
    ),
  ];
}

/** The same with another value in one place; undefined takes it away. */
export function changed(value: unknown, [name, ...rest]: Place, to: unknown): unknown {
  if (name === undefined) return to;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...(value as object) };
  const inner = changed((copy as Record<string, unknown>)[name], rest, to);
  Object.defineProperty(copy, name, { value: inner, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** Fields that a body may have, on its first two levels, whether this one has them or not. */
export function fieldsOf(schema: Schema | undefined, schemas: Readonly<Record<string, Schema>>): Place[] {
  const own = (one: Schema | undefined): Schema | undefined => (one?.$ref ? schemas[one.$ref.split('/').at(-1)!] : one);
  return Object.entries(own(schema)?.properties ?? {}).flatMap(([name, inner]) => {
    const nested = own(inner);
    const names = Object.keys(nested?.properties ?? own(nested?.items)?.properties ?? {});
    const on = nested?.items ? [name, 0] : [name];
    return [[name], ...names.map((below) => [...on, below])];
  });
}

/** A request with one thing wrong, or with one that no client would send. Nobody is blocked: the rest would be refused for it. */
export function strangely(
  sent: Sent,
  { fields, parameters }: { readonly fields: readonly Place[]; readonly parameters: readonly string[] },
): fc.Arbitrary<Sent> {
  const inBody = [...placesIn(sent.body), ...fields].filter((place) => place.at(-1) !== 'blocked');
  const inPart = (part: 'params' | 'query' | 'headers', names: readonly string[]) =>
    names.length === 0
      ? []
      : [
          fc
            .tuple(fc.constantFrom(...names), strangeText)
            .map(([name, text]) => ({ ...sent, [part]: { ...sent[part], [name]: text } })),
        ];
  const ways: fc.Arbitrary<Sent>[] = [
    ...inPart('params', Object.keys(sent.params ?? {})),
    ...inPart('query', [...parameters, '__proto__', 'unknown']),
    ...(sent.body === undefined
      ? []
      : [
          fc
            .tuple(fc.constantFrom(...inBody), strangeValue)
            .map(([place, to]) => ({ ...sent, body: changed(sent.body, place, to) })),
        ]),
    ...(sent.body === undefined
      ? []
      : [fc.constantFrom(...inBody).map((place) => ({ ...sent, body: changed(sent.body, place, undefined) }))]),
  ];
  return fc.oneof(...ways);
}
