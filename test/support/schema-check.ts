import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiDocument, Schema } from './api-document.ts';

/** Describes in one line what is wrong with a value; undefined if it matches. */
export type SchemaCheck = (schema: Schema, value: unknown) => string | undefined;

export interface SchemaCheckOptions {
  /** A field that the document does not list is a fault, too. */
  readonly isClosed?: boolean;
  /** Text of an address or header is converted to the number or boolean that it represents. */
  readonly takesText?: boolean;
}

const SCHEMAS = '#/components/schemas/';
/** The name of the document in the validator. */
const ID = 'api:document';

/** Validates values against schemas of a document; each schema is compiled once. */
export function schemaCheck(document: ApiDocument, options: SchemaCheckOptions = {}): SchemaCheck {
  const { isClosed = false, takesText = false } = options;
  // A contract test validates the document itself. To compile the schema of schemas takes most of a second.
  const trusting = { meta: false, validateSchema: false, strict: false };
  const ajv = new Ajv2020({ ...trusting, allErrors: false, coerceTypes: takesText, validateFormats: true });
  (addFormats as unknown as (instance: Ajv2020) => void)(ajv);
  const prepared = isClosed ? closed(document.components.schemas) : document.components.schemas;
  ajv.addSchema(pointed({ $id: ID, $defs: prepared }));
  const compiled = new Map<Schema, ValidateFunction>();
  return (schema, value) => {
    let validate = compiled.get(schema);
    if (!validate) {
      validate = ajv.compile(pointed(isClosed ? closed(schema) : schema));
      compiled.set(schema, validate);
    }
    if (validate(value)) return undefined;
    const { instancePath, message, params } = validate.errors![0]!;
    return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`;
  };
}

/** The schema with references that point to the validator's copy. */
function pointed(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll(SCHEMAS, `${ID}#/$defs/`)) as object;
}

/** The schema without further properties in objects that list their properties. */
function closed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(closed) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  const isObject = copy.properties !== undefined && copy.type === 'object' && copy.additionalProperties === undefined;
  return (isObject ? { ...copy, additionalProperties: false } : copy) as Value;
}
