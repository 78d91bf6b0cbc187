/**
 * So many requests per credential, and per address for those without one or with one that nobody knows yet.
 *
 * Counted in each process for itself: what is guarded are this process's own cores. `@fastify/rate-limit` was looked at: it
 * names a caller before its credential is checked, so anybody could use up another's quota, or make up a new name for each
 * request. Here a credential has a bucket of its own once a request by it was let in, and until then the address pays.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressSubject } from '../auth/login-tries.ts';
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
 * Not limited here. A tap is money: it is taken, or refused with 503 when there is no slot, but never for its number. Health
 * must be seen while everything else is refused.
 */
const EXEMPT = new Set<string | undefined>([
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

  function throttle<Key>(buckets: TokenBuckets<Key> | undefined, name: string, key: Key): void {
    const waitSeconds = buckets?.take(key, monotonicMs()) ?? 0;
    if (waitSeconds > 0) throw new Throttled({ name, most: buckets!.most, windowSeconds: BURST_SECONDS }, waitSeconds);
  }

  server.addHook('onRequest', (request, _reply, done) => {
    if (EXEMPT.has(request.routeOptions.url)) return done();
    const credential = credentialOf(request);
    const isKnown = credential !== undefined && credentials?.has(credential);
    try {
      if (isKnown) throttle(credentials, 'credential', credential);
      else throttle(addresses, 'address', addressSubject(request.ip));
    } catch (error) {
      return done(error as Error);
    }
    if (credential !== undefined && !isKnown) request.newcomer = credential;
    return done();
  });
  server.addHook('onResponse', ({ newcomer }, reply, done) => {
    if (newcomer !== undefined && wasLetIn(reply)) credentials?.take(newcomer, monotonicMs());
    done();
  });
}

/** By its credential: not where none is asked for, and not when it failed, maybe before the credential was looked at. */
function wasLetIn({ statusCode, request }: FastifyReply): boolean {
  return statusCode < 400 && (request.routeOptions.config.facts?.takes.length ?? 0) > 0;
}

function bucketsOf<Key>(perSecond: number): TokenBuckets<Key> | undefined {
  return perSecond === 0 ? undefined : new TokenBuckets({ perSecond, burstSeconds: BURST_SECONDS }, MAX_BUCKETS);
}

/** By its last characters, which are of a secret or a signature: nobody makes up what shares another's bucket. */
function credentialOf({ headers }: FastifyRequest): number | undefined {
  const text = headers['x-api-key'] ?? headers.authorization;
  return typeof text === 'string' && text !== '' ? fingerprint(text) : undefined;
}

/** Characters that are looked at: 32 hex digits or Base64 characters have 128 bits and more. */
const TAIL_CHARS = 32;

/** 52 bits of a text's end. A number keeps nothing of the secret, nor the header that it was cut from. */
function fingerprint(text: string): number {
  let [high, low] = [0x811c9dc5, 0x9e3779b9];
  for (let at = Math.max(0, text.length - TAIL_CHARS); at < text.length; at++) {
    const char = text.charCodeAt(at);
    high = Math.imul(high ^ char, 0x01000193);
    low = Math.imul(low ^ char, 0x85ebca6b) + high;
  }
  return (high >>> 0) * 0x100000 + (low >>> 12);
}
