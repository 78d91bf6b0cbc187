import { z } from 'zod';

/** JSON Schema 2020-12, as used in OpenAPI 3.1. */
export type JsonSchema = { [keyword: string]: unknown };

const DEFINITIONS = '"#/$defs/';
const COMPONENTS = '"#/components/schemas/';

/** The schemas of a document. A named schema is written once under `components`, and other places refer to it. */
export class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  /** Examples that several responses share. */
  readonly examples: Record<string, { readonly value: object }> = {};

  /**
   * @param io side of a transformation: `input` is what a caller sends, `output` what the gateway returns
   * @throws Error if two schemas have the same name, or if a schema needs a name and has none: both are programmer
   * errors
   */
  of(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const override = ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }) => {
      tidy(jsonSchema, io);
      // Zod drops the examples of a schema that transforms. Here they show the value that is sent.
      const examples = z.globalRegistry.get(zodSchema)?.examples;
      if (io === 'input' && examples !== undefined) jsonSchema.examples = examples;
    };
    const made = z.toJSONSchema(schema, { target: 'draft-2020-12', io, unrepresentable: 'any', override });
    const text = JSON.stringify(made).replaceAll(DEFINITIONS, COMPONENTS);
    const { $schema: _schema, $defs: definitions = {}, ...root } = JSON.parse(text) as JsonSchema;
    for (const [name, definition] of Object.entries(definitions as Record<string, JsonSchema>)) {
      this.#add(name, definition);
    }
    return root;
  }

  /** Adds an example, and returns the reference to it. */
  example(name: string, value: object): { readonly $ref: string } {
    this.examples[name] = { value };
    return { $ref: `#/components/examples/${name}` };
  }

  #add(name: string, definition: JsonSchema): void {
    const { id: _id, ...schema } = definition;
    const known = this.schemas[name];
    if (name.startsWith('__'))
      throw new Error(`a schema that refers to itself needs a name: ${JSON.stringify(schema)}`);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are called ${name}: a body with defaults needs a name other than its response's`);
    }
    this.schemas[name] = schema;
  }
}

const BESIDE_REF = new Set(['$ref', 'description', 'examples', 'default', 'deprecated']);
const INT32_MAX = 2 ** 31 - 1;
const SPELLED_OUT_BY_FORMAT = new Set(['uuid', 'date', 'date-time']);

/** Removes keywords that the validator needs and a reader does not. */
function tidy(schema: JsonSchema, io: 'input' | 'output'): void {
  // A named schema with a description of its own: zod repeats the keywords of the named one beside the reference.
  if (schema.$ref !== undefined)
    for (const keyword of Object.keys(schema)) if (!BESIDE_REF.has(keyword)) delete schema[keyword];
  // Clients must accept unknown fields (section 9).
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
  if (SPELLED_OUT_BY_FORMAT.has(schema.format as string)) delete schema.pattern;
  // Without a format, generators take types of 32 bits (Go, Java), in which amounts overflow or lose their cents.
  if (schema.type === 'number') schema.format = 'double';
  if (schema.type === 'integer') schema.format = Number(schema.maximum) <= INT32_MAX ? 'int32' : 'int64';
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if ((schema.propertyNames as JsonSchema | undefined)?.type === 'string') delete schema.propertyNames;
}

/** Values by the name of a property or parameter. They replace the value from the schema. */
export type ExampleValues = Readonly<Record<string, unknown>>;

/** Deeper than any body of the API. Limits a schema that contains itself. */
const MAX_DEPTH = 12;

export const EXAMPLE_ID = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';

const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: EXAMPLE_ID,
  date: '2026-03-01',
  'date-time': '2026-03-01T10:20:30Z',
  uri: 'https://tap.example/',
};

const ANY_TEXT = 'text';
const AN_INSTANT = '2026-03-01T10:20:30.000Z';

/** Of properties that many schemas have, each as a plain text. Any other text without an example is `text`. */
const BY_NAME: Readonly<Record<string, string>> = {
  createdAt: AN_INSTANT,
  updatedAt: AN_INSTANT,
  expiresAt: AN_INSTANT,
  lastUsedAt: AN_INSTANT,
  lastLoginAt: AN_INSTANT,
  provenAt: AN_INSTANT,
  previousValidUntil: AN_INSTANT,
  name: 'Corner Coffee',
  merchantName: 'Corner Coffee',
  merchantId: '1001',
  xTid: 'TERM0001',
  merchantReference: 'order-4711',
  merchantTransactionReference: 'order-4711',
  paymentReference: 'order-4711',
  currency: 'ZAR',
  status: 'RespondedToPhone',
  type: 'Tap',
  cardScheme: 'Visa',
  cardType: 'credit',
  maskedPAN: '411111******1111',
  authorizationCode: '123456',
  authorisationCode: '123456',
  isoResponseCode: '00',
  cardReaderId: 'reader-1',
  cardReaderTransactionId: '1',
  deviceInstallationId: EXAMPLE_ID,
  deviceinstallationId: EXAMPLE_ID,
  userId: EXAMPLE_ID,
  callbackUrl: 'https://shop.example/tapwire',
  url: `https://tap.example/pay/${EXAMPLE_ID}#eyJhbGciOi`,
  token: 'eyJhbGciOi',
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
  if (examples !== undefined) return examples[0];
  if ($ref !== undefined) return inner(schemas[String($ref).split('/').at(-1)!]!);
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
  const exampleIn = (name: string) => {
    const example = inner(given[name]);
    return example === ANY_TEXT ? (BY_NAME[name] ?? example) : example;
  };
  return Object.fromEntries(names.map((name) => [name, name in values ? values[name] : exampleIn(name)]));
}

function exampleScalar(type: unknown, { format, minimum }: JsonSchema): unknown {
  switch (type) {
    case 'string':
      return BY_FORMAT[String(format)] ?? ANY_TEXT;
    case 'integer':
    case 'number':
      return minimum ?? 1;
    case 'boolean':
      return false;
    default:
      return null;
  }
}
