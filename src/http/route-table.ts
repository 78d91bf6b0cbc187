import type { RouteOptions } from 'fastify';
import type { ErrorCode } from '#schemas/problem';
import type { Scope } from '#schemas/scopes';
import { isIdempotent } from './idempotency.ts';

/** A registered route: source of the API document. */
export interface KnownRoute {
  readonly method: string;
  /** The path in fastify's notation, `/transactions/:id`. */
  readonly url: string;
  /** The zod schemas of the request, and the response schemas by status. */
  readonly schema: RouteSchemas;
  readonly facts: RouteFacts;
  /** The route takes `Idempotency-Key`. */
  readonly isIdempotent: boolean;
}

interface RouteSchemas {
  readonly params?: unknown;
  readonly querystring?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly response?: Readonly<Record<string, object>>;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route registered so far. */
    routeTable: RouteTable;
  }
}

/** The routes of a server, in the order of their registration. */
export class RouteTable {
  readonly #routes: KnownRoute[] = [];
  readonly #addresses = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** @throws Error if a route does not describe itself: a programmer error */
  add(route: RouteOptions): void {
    const { url, schema = {}, config } = route;
    const facts = config?.facts;
    if (facts === undefined) throw new Error(`${route.method} ${url} has no config.facts`);
    const known = this.#addresses.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    this.#addresses.set(url, known);
    for (const method of [route.method].flat()) {
      known.methods.add(method);
      if (method === 'HEAD') continue; // fastify adds it to every GET
      this.#routes.push({ method, url, schema: schema as RouteSchemas, facts, isIdempotent: isIdempotent(route) });
    }
  }

  [Symbol.iterator](): Iterator<KnownRoute> {
    return this.#routes.values();
  }

  /**
   * @returns the methods of a path in alphabetical order; empty if no route matches. A path that is registered
   * literally takes only its own methods, even if a route with a parameter also matches.
   */
  methodsOf(path: string): string[] {
    const own = this.#addresses.get(path);
    const matching = own ? [own] : [...this.#addresses.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
  }

  /** Whether a path is registered literally, without parameters. */
  hasLiteral(path: string): boolean {
    return !path.includes(':') && this.#addresses.has(path);
  }
}

/** `/transactions/:id` -> ^/transactions/[^/]+$ */
function patternOf(url: string): RegExp {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : RegExp.escape(segment)));
  return new RegExp(`^${segments.join('/')}$`);
}

/** RFC 9110 has no scheme for keys in a dedicated header. This names the header, as OpenAPI's `apiKey` does. */
const API_KEY = 'ApiKey header="x-api-key"';
/** errorCodes of a refused token (RFC 6750 3.1): 117 is invalid, 118 expired. */
const REFUSED_TOKEN: ReadonlySet<number> = new Set([117, 118]);

/** Credentials that a route can accept. Keys are named after their owner, tokens after their signer and purpose. */
export type Credential =
  | 'operatorKey'
  | 'acquirerKey'
  | 'integratorKey'
  | 'merchantKey'
  /** Signed by an integrator's backend for a merchant. */
  | 'merchantToken'
  | 'loginToken'
  | 'intentToken'
  | 'intentSessionToken'
  | 'proximityToken';

/**
 * Description of a route, given as `config: { facts }`. The API document, the table of credentials and the test that
 * tries every route with another tenant's ids are generated from it.
 */
export interface RouteFacts {
  /** Imperative, at most eight words, without a full stop: "Submit a tap". */
  readonly summary: string;
  /** Name in code of a route that `OPERATIONS` does not have; derived from the summary by default. */
  readonly name?: string;
  /** Section of the published interface, `4.4`, or `extension`. */
  readonly section: string;
  /** Any one of these is accepted; empty if the route is public. */
  readonly takes: readonly Credential[];
  /** The scope that a key needs. */
  readonly scope?: Scope;
  /** A key and a token are both required, of the same owner. */
  readonly takesBoth?: true;
  /** What the operation does, its preconditions and side effects, in Markdown. */
  readonly description?: string;
  /** A part of a page and not an operation for integrators; the API document omits it. */
  readonly isAsset?: true;
  /** The response waits for a switch, so its deadline is longer than that of other routes. */
  readonly waitsForSwitch?: true;
  /** The response lasts as long as the client reads it. */
  readonly isEndless?: true;
  /** Media type of a response that is not JSON. */
  readonly mediaType?: string;
  /** The response is 304 to a caller who has this version, by `If-None-Match`. */
  readonly hasEntityTag?: true;
  /** The public URL for integrators; the base URL by default. */
  readonly under?: 'auth' | 'app';
  /** The route remains available, and `successor` replaces it. */
  readonly deprecated?: { readonly since: string; readonly successor: string };
  /** Additional errorCodes by status, beyond those that any route of its kind can return. */
  readonly problems?: Readonly<Record<number, readonly ErrorCode[]>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
  }
}

/** `WWW-Authenticate` of a 401: every kind of credential that the route accepts, and no other (RFC 9110 11.6.1). */
export function challengeOf(takes: RouteFacts['takes'] = [], errorCode: number): string {
  const takesKey = takes.some((credential) => credential.endsWith('Key'));
  const takesToken = takes.length === 0 || takes.some((credential) => credential.endsWith('Token'));
  const bearer = REFUSED_TOKEN.has(errorCode) ? 'Bearer error="invalid_token"' : 'Bearer';
  return [...(takesToken ? [bearer] : []), ...(takesKey ? [API_KEY] : [])].join(', ');
}
