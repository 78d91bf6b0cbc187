import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressSubject } from '../auth/portal/log-in.ts';
import type { TapTokens } from '../auth/tokens/app-tokens.ts';
import { bearerToken } from '../auth/tokens/read-token.ts';
import { Throttled } from '../basics/errors.ts';
import { makeRoom } from '../codecs/bytes/lru-map.ts';
import type { Principal } from '../payments/ports/directory-ports.ts';
import type { Server } from './server.ts';

/** Rate and capacity of a bucket. */
export interface BucketSize {
  readonly perSecond: number;
  /** Capacity in seconds: how many seconds' worth may be taken at once. */
  readonly burstSeconds: number;
}

interface Bucket {
  left: number;
  filledAtMs: number;
}

/**
 * Token buckets of one size by key. Each request takes one token, and time refills the bucket. If there are too many
 * buckets, the oldest is dropped. By then it is full, or its owner is one of very many.
 */
export class TokenBuckets<Key> {
  readonly most: number;
  readonly #perMs: number;
  readonly #capacity: number;
  readonly #buckets = new Map<Key, Bucket>();

  constructor({ perSecond, burstSeconds }: BucketSize, capacity: number) {
    this.most = perSecond * burstSeconds;
    this.#perMs = perSecond / 1_000;
    this.#capacity = capacity;
  }

  /** @returns 0 if a token was taken, otherwise the seconds until the next token */
  take(key: Key, nowMs: number): number {
    return this.#takeOf(this.#buckets.get(key) ?? this.#add(key, nowMs), nowMs);
  }

  /** As `take`, but returns undefined if there is no bucket with this key, and creates none. */
  takeIfKnown(key: Key, nowMs: number): number | undefined {
    const bucket = this.#buckets.get(key);
    return bucket && this.#takeOf(bucket, nowMs);
  }

  #takeOf(bucket: Bucket, nowMs: number): number {
    bucket.left = Math.min(this.most, bucket.left + (nowMs - bucket.filledAtMs) * this.#perMs);
    bucket.filledAtMs = nowMs;
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) / this.#perMs / 1_000);
    bucket.left--;
    return 0;
  }

  #add(key: Key, nowMs: number): Bucket {
    makeRoom(this.#buckets, this.#capacity);
    const bucket = { left: this.most, filledAtMs: nowMs };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

/** Backends work in bursts, such as a nightly reconciliation, or a restart that reads everything again. */
const BURST_SECONDS = 10;
/** Buckets in use at once; each takes about 100 bytes. */
const MAX_BUCKETS = 65_536;

/**
 * Routes without this limit. Taps have their own limits (`TapLimits`) and share no quota with other requests.
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

/**
 * Limits requests per credential, and per address for requests without a credential or with an unknown one.
 *
 * Each process counts separately, because the limit protects the cores of this process. `@fastify/rate-limit` was
 * considered: it identifies a caller before its credential is checked. Any client could then use up another caller's
 * quota, or invent a new identity for each request. Here a credential gets its own bucket after the first accepted
 * request, and the address pays until then.
 */
export function limitRates(
  server: Server,
  {
    perCredential,
    perAppToken,
    perAddress,
    monotonicMs,
  }: {
    /** Requests per second of one credential; 0 for no limit. */
    readonly perCredential: number;
    /** Requests per second of one token in an app: of a link, a session, or a reader; 0 for no limit. */
    readonly perAppToken: number;
    /** Requests per second of one address; 0 for no limit. */
    readonly perAddress: number;
    readonly monotonicMs: () => number;
  },
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

function refusal({ most }: { readonly most: number }, name: string, waitSeconds: number): Throttled | undefined {
  return waitSeconds === 0 ? undefined : new Throttled({ name, most, windowSeconds: BURST_SECONDS }, waitSeconds);
}

/** An IPv4 address is its own network. */
function networkOf(ip: string): string {
  return ip.includes(':') ? addressSubject(ip) : ip;
}

/** A limit that no caller reaches: callers must stay known even if there is no limit. */
const NO_LIMIT = 1_000_000_000;

function bucketsOf<Key>(perSecond: number): TokenBuckets<Key> {
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

/** Requests per second; 0 for no limit. */
interface TapRates {
  /** All tokens of one link or intent. */
  readonly perLink: number;
  /** One token signed by a merchant's backend. */
  readonly perToken: number;
  /** One merchant. Requests with tokens of links are counted separately. */
  readonly perMerchant: number;
}

/**
 * Limits how many taps, PINs and acknowledgements a token and a merchant may submit. A busy shop never reaches these
 * limits. They stop a token that was lost or given to a customer, and a client in a loop, before they exhaust
 * database and switches. Each process counts separately, as in `limitRates`.
 */
export class TapLimits {
  readonly #monotonicMs: () => number;
  readonly #links: TokenBuckets<string>;
  readonly #tokens: TokenBuckets<number>;
  readonly #merchants: TokenBuckets<string>;

  constructor({
    perLink,
    perToken,
    perMerchant,
    monotonicMs,
  }: TapRates & {
    readonly monotonicMs: () => number;
  }) {
    this.#monotonicMs = monotonicMs;
    this.#links = bucketsOf(perLink);
    this.#tokens = bucketsOf(perToken);
    this.#merchants = bucketsOf(perMerchant);
  }

  /** @throws Throttled if the token or its merchant has submitted too many requests */
  admit({ acquirerId, merchantId, consumerId }: Principal, token: string): void {
    const nowMs = this.#monotonicMs();
    const ofToken =
      consumerId === undefined
        ? refusal(this.#tokens, 'token', this.#tokens.take(fingerprint(token), nowMs))
        : refusal(this.#links, 'link', this.#links.take(`${acquirerId} ${consumerId}`, nowMs));
    if (ofToken) throw ofToken;
    // Customers have the tokens of links. Their requests must not use up the quota of the merchant's tills.
    const payer = consumerId === undefined ? 'tills' : 'links';
    const wait = this.#merchants.take(`${payer} ${acquirerId} ${merchantId}`, nowMs);
    const ofMerchant = refusal(this.#merchants, 'merchant', wait);
    if (ofMerchant) throw ofMerchant;
  }
}

/**
 * Makes an `onRequest` that sets `submitter`. It runs before the body is read, so only the headers of an unknown
 * caller are read.
 */
export function identifySubmitter(tokens: TapTokens, limits: TapLimits): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    const submitter = await tokens.verify(token);
    limits.admit(submitter, token);
    request.submitter = submitter;
  };
}
