import { type ExampleValues, exampleOf, type JsonSchema } from './components.ts';
import type { ApiDocument } from './document.ts';

/** Values that make the examples of a document work on this server. */
export interface LiveExamples {
  /** Keyed by security scheme. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Keyed by the name of a property, path parameter or header; for a single operation by `operationId.name`. */
  readonly values: ExampleValues;
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly { readonly name?: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

/** Returns the document with examples that can be sent unchanged to this server. */
export function withLiveExamples(document: ApiDocument, { credentials, values }: LiveExamples): ApiDocument {
  const schemas = document.components.schemas;
  const paths = mapValues(document.paths, (path) =>
    mapValues(path, (given) => {
      const operation = given as unknown as Operation;
      const own = { ...values, ...valuesOf(operation.operationId, values) };
      const security = oneTokenOf(operation, credentials);
      return { ...operation, security, ...parametersOf(operation, own), ...bodyOf(operation, schemas, own) };
    }),
  );
  return { ...document, servers: [{ url: '/' }], paths, 'x-credentials': credentials } as ApiDocument;
}

/**
 * If several tokens are accepted, only the first remains. The page sends all that it has, a request takes only one,
 * and the examples are made for that one.
 */
function oneTokenOf({ security }: Operation, credentials: LiveExamples['credentials']): Operation['security'] {
  const isToken = (scheme: string) => scheme !== 'apiKey' && scheme in credentials;
  const token = security.find((requirement) => Object.keys(requirement).some(isToken));
  return token ? security.filter((each) => each === token || 'apiKey' in each) : security;
}

/** Maps `submitTap.merchantReference` to `merchantReference` for that operation. */
function valuesOf(operationId: string, values: ExampleValues): ExampleValues {
  const prefix = `${operationId}.`;
  const own = Object.entries(values).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

function parametersOf({ parameters }: Operation, values: ExampleValues): object {
  const exampled = parameters.map((each) =>
    each.required && each.name !== undefined && each.name in values ? { ...each, example: values[each.name] } : each,
  );
  return { parameters: exampled };
}

function bodyOf({ requestBody }: Operation, schemas: ApiDocument['components']['schemas'], values: ExampleValues) {
  if (requestBody === undefined) return {};
  const content = mapValues(requestBody.content, (media) => ({
    ...media,
    example: exampleOf(media.schema, schemas, values),
  }));
  return { requestBody: { ...requestBody, content } };
}

function mapValues<Value, Made>(record: Readonly<Record<string, Value>>, make: (value: Value) => Made) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));
}
