import type { ErrorCode } from '#schemas/problem';
import type { Scope } from '../auth/scopes.ts';

/** What a caller may show to a route. Keys are named by whose they are, tokens by who signed them and what for. */
export type Credential =
  | 'operatorKey'
  | 'acquirerKey'
  | 'integratorKey'
  | 'merchantKey'
  /** Signed by an integrator's backend, for a merchant. */
  | 'merchantToken'
  | 'loginToken'
  | 'intentToken'
  | 'intentSessionToken'
  | 'proximityToken';

/**
 * What a route says of itself, as `config: { facts }`. The API reference, the table of credentials and the matrix that tries every
 * route with another tenant's ids are made from it.
 */
export interface RouteFacts {
  /** Imperative, at most eight words, without a full stop: "Submit a tap". */
  readonly summary: string;
  /** What code calls it, `submitTap`; made from the summary unless given. */
  readonly name?: string;
  /** The row of the published interface, `4.4`, or `extension`. */
  readonly section: string;
  /** Any of these will do; none where the route is open to everyone. */
  readonly takes: readonly Credential[];
  /** What a key must be allowed to do. */
  readonly scope?: Scope;
  /** A key and a token must be there, of the same owner. */
  readonly takesBoth?: true;
  /** What the operation does, its preconditions and side effects, in Markdown. */
  readonly description?: string;
  /** A part of a page, and no operation for integrators: the API reference leaves it out. */
  readonly isAsset?: true;
  /** Its answer waits for a switch: longer than that of any other route. */
  readonly waitsForSwitch?: true;
  /** Its answer goes on for as long as somebody reads it. */
  readonly isEndless?: true;
  /** Of its answer, where that is not JSON. */
  readonly mediaType?: string;
  /** Under which public URL integrators find it; the base URL unless given. */
  readonly under?: 'auth' | 'app';
  /** It goes on as it is, and this address does it better. */
  readonly deprecated?: { readonly since: string; readonly successor: string };
  /** By status the errorCodes of its own, beside those that any route of its kind can answer. */
  readonly problems?: Readonly<Record<number, readonly ErrorCode[]>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    facts?: RouteFacts;
  }
}
