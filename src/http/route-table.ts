import type { RouteOptions } from 'fastify';
import { isIdempotent } from './idempotency.ts';
import type { RouteFacts } from './route-facts.ts';

/** A route as it was registered: what the API reference is made from. */
export interface KnownRoute {
  readonly method: string;
  /** As fastify writes it, `/transactions/:id`. */
  readonly url: string;
  /** The zod schemas of what comes, and the answers' schemas by status. */
  readonly schema: RouteSchemas;
  readonly facts: RouteFacts;
  /** Takes `Idempotency-Key`. */
  readonly isIdempotent: boolean;
}

export interface RouteSchemas {
  readonly params?: unknown;
  readonly querystring?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly response?: Readonly<Record<string, object>>;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route that is registered so far. */
    routeTable: RouteTable;
  }
}

/** Every route of a server, in the order in which they were registered. */
export class RouteTable {
  readonly #routes: KnownRoute[] = [];
  readonly #addresses = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();

  /** @throws Error for a route that does not say what it is: a programmer's error */
  add(route: RouteOptions): void {
    const { url, schema = {}, config } = route;
    const facts = config?.facts;
    if (facts === undefined) throw new Error(`${route.method} ${url} has no config.facts`);
    const known = this.#addresses.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    this.#addresses.set(url, known);
    for (const method of [route.method].flat()) {
      known.methods.add(method);
      if (method === 'HEAD') continue; // fastify's own, beside every GET
      this.#routes.push({ method, url, schema: schema as RouteSchemas, facts, isIdempotent: isIdempotent(route) });
    }
  }

  [Symbol.iterator](): Iterator<KnownRoute> {
    return this.#routes.values();
  }

  /**
   * Which methods an address takes, in alphabetical order; none where nothing is registered under it. An address that is
   * registered word for word takes its own methods alone, whatever a parameter in its place would take.
   */
  methodsOf(path: string): string[] {
    const own = this.#addresses.get(path);
    const matching = own ? [own] : [...this.#addresses.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
  }

  /** Whether a path is an address by itself, without parameters. */
  hasLiteral(path: string): boolean {
    return !path.includes(':') && this.#addresses.has(path);
  }
}

/** `/transactions/:id` -> ^/transactions/[^/]+$ */
function patternOf(url: string): RegExp {
  const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : RegExp.escape(segment)));
  return new RegExp(`^${segments.join('/')}$`);
}
