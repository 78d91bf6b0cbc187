import type { JsonSchema } from './components.ts';

/** Values by the name of a property or parameter. They replace the value from the schema. */
export type ExampleValues = Readonly<Record<string, unknown>>;

/** Deeper than any body of the API. Limits a schema that contains itself. */
const MAX_DEPTH = 12;

const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11',
  date: '2026-03-01',
  'date-time': '2026-03-01T10:20:30Z',
};

/**
 * The smallest example for a schema: required properties and those in `values`, each with its first example.
 *
 * @param schemas schemas that this one refers to, by name
 */
export function exampleOf(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  values: ExampleValues = {},
  depth = 0,
): unknown {
  if (depth > MAX_DEPTH) return null;
  const { $ref, examples, enum: choices, anyOf, oneOf } = schema as { [keyword: string]: unknown[] | undefined };
  const inner = (each: unknown) => exampleOf(each as JsonSchema, schemas, values, depth + 1);
  if ($ref !== undefined) return inner(schemas[String($ref).split('/').at(-1)!]!);
  if (examples !== undefined) return examples[0];
  if ('const' in schema) return schema.const;
  if ('default' in schema) return schema.default;
  if (choices !== undefined) return choices[0];
  const branches = anyOf ?? oneOf;
  if (branches !== undefined) return inner(branches[0]);
  const type = [schema.type].flat()[0];
  if (type === 'object') return exampleObject(schema, values, inner);
  if (type === 'array') return schema.minItems === undefined ? [] : [inner(schema.items)];
  return exampleScalar(type, schema);
}

function exampleObject(
  { properties = {}, required = [] }: JsonSchema,
  values: ExampleValues,
  inner: (schema: unknown) => unknown,
): Record<string, unknown> {
  const given = properties as Record<string, JsonSchema>;
  const isShown = (name: string) => (required as string[]).includes(name) || name in values;
  const names = Object.keys(given).filter(isShown);
  return Object.fromEntries(names.map((name) => [name, name in values ? values[name] : inner(given[name])]));
}

function exampleScalar(type: unknown, { format, minimum }: JsonSchema): unknown {
  switch (type) {
    case 'string':
      return BY_FORMAT[String(format)] ?? 'text';
    case 'integer':
    case 'number':
      return minimum ?? 1;
    case 'boolean':
      return false;
    default:
      return null;
  }
}
