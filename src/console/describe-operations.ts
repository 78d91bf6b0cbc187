import { z } from 'zod';
import { administratorOf, type PortalSession } from '../auth/portal/portal-session.ts';
import { Components, type JsonSchema } from '../http/openapi/components.ts';
import { responseSource } from '../http/response-schema.ts';
import type { KnownRoute, RouteTable } from '../http/route-table.ts';

/** An administrative operation, as the console draws it. */
interface DescribedOperation {
  readonly method: string;
  /** `/acquirers/{acquirerId}/merchants` */
  readonly path: string;
  /** `Add a merchant` */
  readonly summary: string;
  readonly description: string | undefined;
  /** Takes `Idempotency-Key`. */
  readonly isIdempotent: boolean;
  readonly query: JsonSchema | undefined;
  readonly body: JsonSchema | undefined;
  readonly response: JsonSchema | undefined;
}

/** A property whose schema depends on the value of another one of the same object. */
export interface DependentSchema {
  readonly property: string;
  readonly by: string;
  /** By the value of `by`. */
  readonly schemas: ReadonlyMap<string, z.ZodType>;
}

type DescribedDependent = Omit<DependentSchema, 'schemas'> & { readonly schemas: Readonly<Record<string, JsonSchema>> };

/** What a person may administer, as the page reads it. */
export interface Administration {
  readonly operations: readonly DescribedOperation[];
  /** What `$ref` in the schemas refers to, by name. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly dependent: readonly DescribedDependent[];
}

/** Notes are written where their transaction is shown. */
const OF_SETTINGS = /^\/(?:acquirers(?:\/:acquirerId(?:\/(?!transactions\/)|$)|$)|audit$|hsm-keys$|users(?:\/|$))/;

/**
 * The operations of the admin API that a person may use, from the table of routes. A new operation needs nothing here, and
 * nothing in the page.
 */
export class OperationDescriptions {
  readonly #routes: RouteTable;
  readonly #dependent: readonly DependentSchema[];
  readonly #components = new Components();
  readonly #described = new Map<KnownRoute, DescribedOperation>();

  constructor(routes: RouteTable, dependent: readonly DependentSchema[]) {
    this.#routes = routes;
    this.#dependent = dependent;
  }

  for(session: PortalSession): Administration {
    const { owner, scopes } = administratorOf(session);
    const credential = owner === 'operator' ? 'operatorKey' : 'acquirerKey';
    const operations = [...this.#routes]
      .filter(({ url, facts }) => OF_SETTINGS.test(url) && facts.takes.includes(credential))
      .filter(({ facts: { scope } }) => scope !== undefined && scopes.has(scope))
      .map((route) => this.#describe(route));
    const dependent = this.#dependent.map(({ schemas, ...names }) => ({
      ...names,
      schemas: Object.fromEntries([...schemas].map(([value, schema]) => [value, schemaOf(schema, 'input')])),
    }));
    return { operations, schemas: this.#components.schemas, dependent };
  }

  #describe(route: KnownRoute): DescribedOperation {
    const known = this.#described.get(route);
    if (known) return known;
    const { method, url, schema, facts, isIdempotent } = route;
    const compiled = schema.response?.[200] ?? schema.response?.[201];
    const response = compiled && responseSource(compiled);
    const described = {
      ...{ method, path: url.replace(/:(\w+)/g, '{$1}'), isIdempotent },
      ...{ summary: facts.summary, description: facts.description },
      query: schema.querystring instanceof z.ZodType ? this.#components.of(schema.querystring, 'input') : undefined,
      body: schema.body instanceof z.ZodType ? this.#components.of(schema.body, 'input') : undefined,
      response: response && this.#components.of(response, 'output'),
    };
    this.#described.set(route, described);
    return described;
  }
}

/** A schema of a plug-in, which may have parts that JSON Schema cannot express. The gateway checks those. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    reused: 'inline',
  }) as JsonSchema;
}
