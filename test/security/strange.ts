import fc from 'fast-check';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { anyText } from '../support/any-text.ts';
import type { Schema } from '../support/api-document.ts';
import type { Sent } from './row.ts';

/** Unexpected texts that cause faults in databases, logs and addresses. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\ufeff\u202e',
  '\r\nset-cookie: a=b',
  '\t\n',
  '\u200b\u00a0\u3000',
  'x'.repeat(300),
  'x'.repeat(10_000),
  'x'.repeat(70_000),
  "'; drop table transactions; --",
  '{{7*7}}%s%n',
  '../../../etc/passwd',
  '\u{1f4b3}'.repeat(64),
  '-1',
  '1e999',
  '2147483648',
  '9223372036854775808',
  '99999999999999999999',
  '1.5',
  '1e-10',
  '0x10',
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
/** A number as a body can spell it, if JavaScript would write it differently. */
const spelled = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** Fractions that no integer column can store, integers that exceed every column, and forms that few clients write. */
export const NUMBERS: readonly unknown[] = [
  0,
  -0,
  -1,
  0.0001,
  0.1,
  1.5,
  59.999999,
  60.5,
  1e-7,
  1e-10,
  5e-324,
  99.999_999_999,
  2 ** 31 - 0.5,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 31) - 1,
  -(2 ** 63),
  1e21,
  1e308,
  ...['1e400', '-1e400', '1E2', '100e-2', '1.00000000000000000001', '9007199254740993', '9'.repeat(400)].map(spelled),
];
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  ...NUMBERS,
  [],
  {},
  [null],
  [[[[[[]]]]]],
  { length: 1 },
  { toString: 1 },
  { $ref: '#' },
  Array.from({ length: 5_000 }, () => 'x'),
];

/** Strange text: alone, or somewhere in a valid value. */
const strangeText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: anyText(40) },
);
const strangeValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: strangeText },
  { weight: 2, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown) },
);

/** The position of a value: `['overrides', 0, 'aid']`. */
export type Place = readonly (string | number)[];

/** Every position in a value, its own first. */
export function placesIn(value: unknown, here: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [here];
  return [
    here,
    ...Object.entries(value).flatMap(([name, inner]) =>
      placesIn(inner, [...here, Array.isArray(value) ? Number(name) : name]),
    ),
  ];
}

/** A copy with another value in one position; undefined removes it. */
export function changed(value: unknown, [name, ...rest]: Place, to: unknown): unknown {
  if (name === undefined) return to;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...(value as object) };
  const inner = changed((copy as Record<string, unknown>)[name], rest, to);
  Object.defineProperty(copy, name, { value: inner, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** The target of a reference; of an optional body, its type if it is present. */
function resolved(schema: Schema | undefined, schemas: Readonly<Record<string, Schema>>): Schema | undefined {
  const own = schema?.$ref ? schemas[schema.$ref.split('/').at(-1)!] : schema;
  const inner = own?.anyOf?.find((one) => one.$ref !== undefined || one.properties !== undefined);
  return inner ? resolved(inner, schemas) : own;
}

/** Fields that a body may have, on its first two levels, whether or not this one has them. */
export function fieldsOf(schema: Schema | undefined, schemas: Readonly<Record<string, Schema>>): Place[] {
  const own = (one: Schema | undefined) => resolved(one, schemas);
  return Object.entries(own(schema)?.properties ?? {}).flatMap(([name, inner]) => {
    const nested = own(inner);
    const names = Object.keys(nested?.properties ?? own(nested?.items)?.properties ?? {});
    const on = nested?.items ? [name, 0] : [name];
    return [[name], ...names.map((below) => [...on, below])];
  });
}

/** The fields that may be numbers. */
export function numericPlaces(
  schema: Schema | undefined,
  schemas: Readonly<Record<string, Schema>>,
  sent: unknown,
): Place[] {
  const own = (one: Schema | undefined) => resolved(one, schemas);
  const isNumeric = (one: Schema | undefined): boolean => {
    const { type, anyOf = [] } = own(one) ?? {};
    return ['number', 'integer'].includes(String(type)) || anyOf.some(isNumeric);
  };
  const schemaAt = (place: Place) =>
    place.reduce<Schema | undefined>((outer, name) => {
      const found = own(outer);
      return typeof name === 'number' ? found?.items : found?.properties?.[name];
    }, schema);
  const isNumber = (place: Place) =>
    typeof place.reduce<unknown>((outer, name) => (outer as Record<string, unknown> | undefined)?.[name], sent) ===
    'number';
  const described = fieldsOf(schema, schemas).filter((place) => isNumeric(schemaAt(place)));
  const there = placesIn(sent).filter(isNumber);
  return [...new Map([...described, ...there].map((place) => [JSON.stringify(place), place])).values()];
}

/** Headers that some route reads, with any value that a client could send. */
const HEADER_NAMES = [
  'x-device-installation-id',
  'idempotency-key',
  'x-correlation-id',
  'traceparent',
  'if-none-match',
  'x-forwarded-for',
  'cookie',
];
const headerText = fc.constantFrom(
  ...TEXTS.filter((text) => text.length < 10_000 && /^[\t\x20-\x7e]*$/.test(text)),
  '\xe9\xff',
  '"'.repeat(200),
);

/**
 * A request with one fault, or with one element that no client would send. No tenant is blocked: otherwise all further
 * requests would be refused.
 */
export function strangely(
  sent: Sent,
  {
    method,
    fields,
    parameters,
  }: Pick<KnownRoute, 'method'> & {
    readonly fields: readonly Place[];
    readonly parameters: readonly string[];
  },
): fc.Arbitrary<Sent> {
  const hasBody = sent.body !== undefined || (method !== 'GET' && fields.length > 0);
  const inBody = [...placesIn(sent.body), ...fields].filter((place) => place.at(-1) !== 'blocked');
  const inPart = (part: 'params' | 'query', names: readonly string[]) =>
    names.length === 0
      ? []
      : [
          fc
            .tuple(fc.constantFrom(...names), strangeText)
            .map(([name, text]) => ({ ...sent, [part]: { ...sent[part], [name]: text } })),
        ];
  const ways: fc.Arbitrary<Sent>[] = [
    // An otherwise valid deletion would remove the subject of the other requests.
    ...(method === 'DELETE'
      ? []
      : [
          fc
            .tuple(fc.constantFrom(...HEADER_NAMES), headerText)
            .map(([name, text]) => ({ ...sent, headers: { ...sent.headers, [name]: text } })),
        ]),
    ...inPart('params', Object.keys(sent.params ?? {})),
    ...inPart('query', [...parameters, '__proto__', 'unknown']),
    ...(!hasBody
      ? []
      : [
          fc
            .tuple(fc.constantFrom(...inBody), strangeValue)
            .map(([place, to]) => ({ ...sent, body: changed(sent.body, place, to) })),
        ]),
    ...(!hasBody
      ? []
      : [fc.constantFrom(...inBody).map((place) => ({ ...sent, body: changed(sent.body, place, undefined) }))]),
  ];
  return fc.oneof(...ways);
}
