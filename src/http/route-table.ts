import type { RouteOptions } from 'fastify';
import { isIdempotent } from './idempotency.ts';
import type { RouteFacts } from './route-facts.ts';

/** A registered route: source of the API document. */
export interface KnownRoute {
  readonly method: string;
  /** In fastify's notation, `/transactions/:id`. */
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
