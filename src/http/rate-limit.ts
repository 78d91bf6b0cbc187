/**
 * So many requests per credential, and per address for those without one or with one that nobody knows yet.
 *
 * Counted in each process for itself: what is guarded are this process's own cores. `@fastify/rate-limit` was looked at: it
 * names a caller before its credential is checked, so anybody could use up another's quota, or make up a new name for each
 * request. Here a credential has a bucket of its own once a request by it was let in, and until then the address pays.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressSubject } from '../auth/portal/login-tries.ts';
import { Throttled } from '../errors.ts';
import type { Server } from './server.ts';
import { TokenBuckets } from './token-buckets.ts';

export interface RateLimitOptions {
  /** Requests per second of one credential; 0 for no limit. */
  readonly perCredential: number;
  /** And of one address. */
  readonly perAddress: number;
  readonly monotonicMs: () => number;
}

/** Backends work in bursts: a nightly reconciliation, a restart that reads everything anew. */
const BURST_SECONDS = 10;
/** In use at once; each takes about 100 bytes. */
const MAX_BUCKETS = 65_536;

/**
 * Not limited here. Taps have limits of their own (`tap-limits.ts`), and no quota that other requests share. Health must be
 * seen while everything else is refused.
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
    /** Of a credential that is not known yet: has a bucket of its own from the first request that is let in. */
    newcomer?: number;
  }
}

export function limitRates(server: Server, { perCredential, perAddress, monotonicMs }: RateLimitOptions): void {
  const credentials = bucketsOf<number>(perCredential);
  const addresses = bucketsOf<string>(perAddress);

  server.addHook('onRequest', (request, _reply, done) => {
    if (UNLIMITED_ROUTES.has(request.routeOptions.url)) return done();
    const nowMs = monotonicMs();
    const credential = credentialOf(request);
    const ownWait = credential === undefined ? undefined : credentials.takeIfKnown(credential, nowMs);
    if (ownWait !== undefined) return done(refusal(credentials, 'credential', ownWait));
    if (credential !== undefined) request.newcomer = credential;
    return done(refusal(addresses, 'address', addresses.take(networkOf(request.ip), nowMs)));
  });
  server.addHook('onResponse', ({ newcomer }, reply, done) => {
    if (newcomer !== undefined && wasLetIn(reply)) credentials.take(newcomer, monotonicMs());
    done();
  });
}

/** By its credential: not where none is asked for, and not when it failed, maybe before the credential was looked at. */
function wasLetIn({ statusCode, request }: FastifyReply): boolean {
  return statusCode < 400 && (request.routeOptions.config.facts?.takes.length ?? 0) > 0;
}

export function refusal({ most }: { readonly most: number }, name: string, waitSeconds: number): Throttled | undefined {
  return waitSeconds === 0 ? undefined : new Throttled({ name, most, windowSeconds: BURST_SECONDS }, waitSeconds);
}

/** An IPv4 address stands for itself. */
function networkOf(ip: string): string {
  return ip.includes(':') ? addressSubject(ip) : ip;
}

/** What nobody reaches: whoever is known must still be known where there is no limit. */
const NO_LIMIT = 1_000_000_000;

export function bucketsOf<Key>(perSecond: number): TokenBuckets<Key> {
  return new TokenBuckets({ perSecond: perSecond || NO_LIMIT, burstSeconds: BURST_SECONDS }, MAX_BUCKETS);
}

/** By its last characters, which are of a secret or a signature: nobody makes up what shares another's bucket. */
function credentialOf({ headers }: FastifyRequest): number | undefined {
  const text = headers['x-api-key'] ?? headers.authorization;
  return typeof text === 'string' && text !== '' ? fingerprint(text) : undefined;
}

/** Characters that are looked at: of an API key they have 64 bits, of a signature 96. */
const TAIL_CHARS = 16;

/** 52 bits of a text's end. A number keeps nothing of the secret, nor the header that it was cut from. */
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
