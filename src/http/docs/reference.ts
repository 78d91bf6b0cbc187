import type { JsonSchema } from '../openapi/components.ts';
import type { ApiDocument } from '../openapi/document.ts';

export interface DocumentedParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

type Content = Readonly<
  Record<
    string,
    {
      readonly schema: JsonSchema;
      readonly example?: unknown;
      /** Of an error response: one for each errorCode. */
      readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
    }
  >
>;

export interface DocumentedResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Content;
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated?: true;
  /** The operation is beyond the published interface. */
  readonly 'x-extension'?: true;
  readonly servers?: readonly { readonly url: string }[];
  /** Any one of these is enough; all schemes of one are required. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly DocumentedParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
  readonly method: string;
  /** `/transactions/{id}`; the URL of a webhook's receiver is a placeholder. */
  readonly path: string;
  /** The gateway sends this request. */
  readonly isWebhook: boolean;
}

export interface SecurityScheme {
  readonly type: string;
  readonly name?: string;
  readonly description: string;
}

interface Chapter {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly DocumentedOperation[];
}

type Written = Omit<DocumentedOperation, 'parameters' | 'method' | 'path' | 'isWebhook'> & {
  readonly parameters: readonly (DocumentedParameter | { readonly $ref: string })[];
};

/** Components of the document by kind and name. */
type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The API document, arranged for readers. */
export class Reference {
  readonly document: ApiDocument;
  readonly chapters: readonly Chapter[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  readonly description: string;
  readonly version: string;
  /** URL of the installation. */
  readonly serverUrl: string;
  /** `dev`, `qa` or `prod`; empty if the document names none. */
  readonly environment: string;
  /** Credentials of a local demo, by security scheme. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly #components: Components;
  readonly #operations: ReadonlyMap<string, DocumentedOperation>;

  /** @param url URL of the installation; that of the document by default */
  constructor(document: ApiDocument, url?: string) {
    const { info, servers, components, tags } = document as ApiDocument & {
      readonly info: { readonly description: string; readonly version: string };
      readonly tags: readonly { readonly name: string; readonly description: string }[];
    };
    const [server] = servers as readonly { url: string; variables?: { env?: { default: string } } }[];
    this.document = document;
    this.#components = components as Components;
    this.schemas = components.schemas;
    this.securitySchemes = components.securitySchemes as Readonly<Record<string, SecurityScheme>>;
    this.description = info.description;
    this.version = info.version;
    this.serverUrl = (url ?? server!.url).replace(/\/$/, '');
    this.environment = server!.variables?.env?.default ?? '';
    this.credentials = (document['x-credentials'] ?? {}) as Readonly<Record<string, string>>;
    const operations = this.#read(document);
    this.#operations = new Map(operations.map((operation) => [operation.operationId, operation]));
    this.chapters = tags.map(({ name, description }) => ({
      name,
      description,
      operations: deprecatedLast(operations.filter(({ tags }) => tags[0] === name)),
    }));
  }

  #read({ paths, webhooks }: ApiDocument): DocumentedOperation[] {
    const ofRoutes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) =>
        this.#operationOf(operation as unknown as Written, { method, path, isWebhook: false }),
      ),
    );
    const ofWebhooks = Object.values(webhooks as Readonly<Record<string, { readonly post: Written }>>).map(({ post }) =>
      this.#operationOf(post, { method: 'post', path: 'https://{your callback URL}', isWebhook: true }),
    );
    return [...ofRoutes, ...ofWebhooks];
  }

  #operationOf(written: Written, place: Pick<DocumentedOperation, 'method' | 'path' | 'isWebhook'>) {
    const parameters = written.parameters.map((each) =>
      '$ref' in each ? this.resolve<DocumentedParameter>(each.$ref) : each,
    );
    return { ...written, ...place, method: place.method.toUpperCase(), parameters };
  }

  /** Operations in the order of the pages. */
  get operations(): readonly DocumentedOperation[] {
    return this.chapters.flatMap(({ operations }) => operations);
  }

  operation(id: string): DocumentedOperation | undefined {
    return this.#operations.get(id);
  }

  schema(name: string): JsonSchema | undefined {
    return Object.hasOwn(this.schemas, name) ? this.schemas[name] : undefined;
  }

  /** Returns the component that `#/components/<kind>/<name>` refers to. */
  resolve<Component>(ref: string): Component {
    const [, , kind, name] = ref.split('/');
    return this.#components[kind!]![name!] as Component;
  }

  /** Operations whose request or responses contain a schema, also inside another one. */
  usersOf(name: string): readonly DocumentedOperation[] {
    const inSchemas = Object.entries(this.schemas).map(([other, schema]) => [other, namesIn(schema)] as const);
    const containing = new Set([name]);
    for (const known of containing) {
      for (const [other, names] of inSchemas) if (names.has(known)) containing.add(other);
    }
    return this.operations.filter(
      ({ requestBody, responses }) => !namesIn([requestBody, responses]).isDisjointFrom(containing),
    );
  }
}

function deprecatedLast(operations: readonly DocumentedOperation[]): DocumentedOperation[] {
  return operations.toSorted((one, other) => Number(one.deprecated ?? false) - Number(other.deprecated ?? false));
}

/** Names of the schemas that a part of the document refers to. */
function namesIn(part: unknown): Set<string> {
  return new Set([...JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name!));
}

export const pathOfOperation = (id: string) => `/docs/operations/${id}`;
export const pathOfSchema = (name: string) => `/docs/schemas/${name}`;
