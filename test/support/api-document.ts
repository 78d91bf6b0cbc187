import { readFileSync } from 'node:fs';

/** A JSON Schema as OpenAPI 3.1 defines it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  /** Of a problem: one for each errorCode. */
  readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
}

type Content = Readonly<Record<string, Media>>;

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated?: true;
  readonly 'x-extension'?: true;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, string>>;
  readonly servers: readonly { readonly url: string; readonly variables?: Record<string, { enum: string[] }> }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly securitySchemes: Readonly<Record<string, { readonly type: string }>>;
  };
}

export interface NamedOperation extends Operation {
  readonly method: string;
  /** `/transactions/{id}` */
  readonly path: string;
}

/** The copy that integrators read; a contract test compares it with the document that a gateway serves. */
export const STORED_DOCUMENT = new URL('../../schemas/openapi.json', import.meta.url);

export function readStoredDocument(): ApiDocument {
  return JSON.parse(readFileSync(STORED_DOCUMENT, 'utf8')) as ApiDocument;
}

export function operationsOf({ paths }: ApiDocument): NamedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** The value of an example that several responses share. */
export function exampleValue({ components }: ApiDocument, { $ref }: { readonly $ref: string }): unknown {
  return components.examples[$ref.split('/').at(-1)!]!.value;
}

/** The parameters that the operation itself declares. */
export function ownParameters({ parameters }: Operation): Parameter[] {
  return parameters.filter((parameter): parameter is Parameter => 'name' in parameter);
}
