/**
 * Limits requests per credential, and per address for requests without a credential or with an unknown one.
 *
 * Each process counts separately, because the limit protects the cores of this process. `@fastify/rate-limit` was
 * considered: it identifies a caller before its credential is checked. Any client could then use up another caller's
 * quota, or invent a new identity for each request. Here a credential gets its own bucket after the first accepted
 * request, and the address pays until then.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressSubject } from '../auth/portal/login-tries.ts';
import { Throttled } from '../basics/errors.ts';
import type { Server } from './server.ts';
import { TokenBuckets } from './token-buckets.ts';

export interface RateLimitOptions {
  /** Requests per second of one credential; 0 for no limit. */
  readonly perCredential: number;
  /** Requests per second of one token in an app: of a link, a session, or a reader; 0 for no limit. */
  readonly perAppToken: number;
  /** Requests per second of one address; 0 for no limit. */
  readonly perAddress: number;
  readonly monotonicMs: () => number;
}

/** Backends work in bursts, such as a nightly reconciliation, or a restart that reads everything again. */
const BURST_SECONDS = 10;
/** Buckets in use at once; each takes about 100 bytes. */
const MAX_BUCKETS = 65_536;

/**
 * Routes without this limit. Taps have their own limits (`tap-limits.ts`) and share no quota with other requests.
 * Health must be visible while everything else is refused.
 */
export const UNLIMITED_ROUTES: ReadonlySet<string | undefined> = new Set<string | undefined>([
  '/transactions/mobile',
  '/transactions/:transactionId/submitPinMobile',
  '/transactions/:id/acknowledge',
  '/livez',
  '/readyz',
  '/healthz',
  '/metrics',
]);

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Fingerprint of a credential that is not known yet. It gets its own bucket with the first request that is
     * accepted.
     */
    newcomer?: number;
  }
}

export function limitRates(
  server: Server,
  { perCredential, perAppToken, perAddress, monotonicMs }: RateLimitOptions,
): void {
  const credentials = bucketsOf<number>(perCredential);
  const appTokens = bucketsOf<number>(perAppToken);
  const addresses = bucketsOf<string>(perAddress);

  server.addHook('onRequest', (request, _reply, done) => {
    if (UNLIMITED_ROUTES.has(request.routeOptions.url)) return done();
    const nowMs = monotonicMs();
    const credential = credentialOf(request);
    if (credential !== undefined) {
      for (const [name, buckets] of [
        ['credential', credentials],
        ['app token', appTokens],
      ] as const) {
        const ownWait = buckets.takeIfKnown(credential, nowMs);
        if (ownWait !== undefined) return done(refusal(buckets, name, ownWait));
      }
      request.newcomer = credential;
    }
    return done(refusal(addresses, 'address', addresses.take(networkOf(request.ip), nowMs)));
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { newcomer } = request;
    if (newcomer !== undefined && wasLetIn(reply))
      (isOfApp(request) ? appTokens : credentials).take(newcomer, monotonicMs());
    done();
  });
}

/**
 * Whether the credential was accepted. False if the route requires none, and if the request failed, possibly before
 * the credential was checked.
 */
function wasLetIn({ statusCode, request }: FastifyReply): boolean {
  return statusCode < 400 && (request.routeOptions.config.facts?.takes.length ?? 0) > 0;
}

/** Customers and phones have these tokens. One of them must not use up what the backends of all merchants share. */
function isOfApp({ intent, session, reader }: FastifyRequest): boolean {
  return intent !== undefined || session !== undefined || reader !== undefined;
}

export function refusal({ most }: { readonly most: number }, name: string, waitSeconds: number): Throttled | undefined {
  return waitSeconds === 0 ? undefined : new Throttled({ name, most, windowSeconds: BURST_SECONDS }, waitSeconds);
}

/** An IPv4 address is its own network. */
function networkOf(ip: string): string {
  return ip.includes(':') ? addressSubject(ip) : ip;
}

/** A limit that no caller reaches: callers must stay known even if there is no limit. */
const NO_LIMIT = 1_000_000_000;

export function bucketsOf<Key>(perSecond: number): TokenBuckets<Key> {
  return new TokenBuckets({ perSecond: perSecond || NO_LIMIT, burstSeconds: BURST_SECONDS }, MAX_BUCKETS);
}

/**
 * Uses the last characters, which belong to a secret or a signature. A client cannot invent a credential that shares
 * another caller's bucket.
 */
function credentialOf({ headers }: FastifyRequest): number | undefined {
  const text = headers['x-api-key'] ?? headers.authorization;
  return typeof text === 'string' && text !== '' ? fingerprint(text) : undefined;
}

/** Characters that are used: in an API key they have 64 bits, in a signature 96. */
const TAIL_CHARS = 16;

/** A 52-bit hash of the end of a text. A number keeps neither the secret nor the header string in memory. */
export function fingerprint(text: string): number {
  let high = 0x811c9dc5 | 0;
  let low = 0x9e3779b9 | 0;
  for (let at = Math.max(0, text.length - TAIL_CHARS); at < text.length; at++) {
    const char = text.charCodeAt(at);
    high = Math.imul(high ^ char, 0x01000193);
    low = Math.imul(low ^ char ^ (high >>> 15), 0x85ebca6b);
  }
  return (high >>> 0) * 0x100000 + (low >>> 12);
}
