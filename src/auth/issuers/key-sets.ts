/**
 * The key sets that issuers publish, as they were when they were last fetched.
 *
 * A set is fetched when it is first asked for, then kept fresh in the background for as long as it is used: a key that is
 * withdrawn is known to be so within minutes, and nobody waits. A kid that is not in it is worth one more look, but not one
 * for every token that somebody makes up. While the URL is away the last known set stands in, for half a day.
 */
import { hash } from 'node:crypto';
import { OutboundError } from '../../errors.ts';
import { ConcurrencyLimit } from '../../limits/concurrency-limit.ts';
import { type PublishedKey, readKeySet } from './issuer-keys.ts';

/** @throws OutboundError when there is no answer of status 200, in time and within the limits */
export type FetchKeySet = (url: string) => Promise<string>;

export interface KeySetsOptions {
  readonly fetch: FetchKeySet;
  readonly monotonicMs: () => number;
  readonly onError: (error: unknown) => void;
}

/** How long a key may be used that its issuer has withdrawn; others keep a set for as long and longer. */
const FRESH_MS = 5 * 60_000;
/** Fetched again from this age on, so that nobody finds a set that is not fresh any more. */
const REFRESH_FROM_MS = FRESH_MS / 2;
const REFRESH_EVERY_MS = 60_000;
/** Between any two fetches of one URL: tokens with made-up kids make no more of them. */
const FETCH_EVERY_MS = 30_000;
/** A night without the issuer's web server stops no shop; a key that leaked is revoked with us, at once. */
const STAND_IN_MS = 12 * 3_600_000;
/** No token lives longer, so nothing that a set has verified is still in use. */
const UNUSED_FOR_MS = 24 * 3_600_000;
/** Issuers with a URL of their own. The one that was added first makes room. */
const MAX_SETS = 4_096;
/** A fetch, and a little while in line for it; a tap then goes on with what is known, before its phone gives up. */
const AWAITED_MS = 5_000;
/** URLs hang; the sockets are for webhooks, too. */
const FETCHES_AT_ONCE = 16;
const FETCHES_WAITING = 1_024;

interface KeySet {
  readonly url: string;
  keys: readonly PublishedKey[];
  /** Of what was fetched, to tell whether it changed. */
  digest: string;
  fetchedAtMs: number;
  triedAtMs: number;
  usedAtMs: number;
  fetching: Promise<void> | undefined;
}

export class KeySets {
  readonly #options: KeySetsOptions;
  readonly #sets = new Map<string, KeySet>();
  readonly #line = new ConcurrencyLimit({ atOnce: FETCHES_AT_ONCE, waitMost: FETCHES_WAITING });
  readonly #timer: NodeJS.Timeout;
  #changes = 0;

  constructor(options: KeySetsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.refresh(), REFRESH_EVERY_MS).unref();
  }

  /** Grows with every change of a set. */
  get changes(): number {
    return this.#changes;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * The keys at a URL; none while it has never answered, or has not for too long.
   *
   * @param kid that is looked for
   */
  async find(url: string, kid?: string): Promise<readonly PublishedKey[]> {
    const set = this.#sets.get(url) ?? this.#add(url);
    set.usedAtMs = this.#options.monotonicMs();
    if (this.#ageOf(set) >= FRESH_MS || !hasKey(set, kid)) await this.#awaitFetch(set);
    return this.#ageOf(set) < STAND_IN_MS ? set.keys : [];
  }

  /** What the timer does: fetches what is no longer young, and forgets what is used no more or has stood in too long. */
  refresh(): void {
    const nowMs = this.#options.monotonicMs();
    for (const set of this.#sets.values()) {
      if (nowMs - set.usedAtMs >= UNUSED_FOR_MS) this.#sets.delete(set.url);
      else if (this.#ageOf(set) >= REFRESH_FROM_MS) void this.#fetch(set);
      if (this.#ageOf(set) >= STAND_IN_MS) this.#change(set, [], '');
    }
  }

  #add(url: string): KeySet {
    if (this.#sets.size >= MAX_SETS) this.#sets.delete(this.#sets.keys().next().value!);
    const never = Number.NEGATIVE_INFINITY;
    const set = { url, keys: [], digest: '', fetchedAtMs: never, triedAtMs: never, usedAtMs: 0, fetching: undefined };
    this.#sets.set(url, set);
    return set;
  }

  #ageOf({ fetchedAtMs }: KeySet): number {
    return this.#options.monotonicMs() - fetchedAtMs;
  }

  async #awaitFetch(set: KeySet): Promise<void> {
    const fetching = this.#fetch(set);
    if (fetching === undefined) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, AWAITED_MS).unref();
    await Promise.race([fetching, late.promise]);
    clearTimeout(timer);
  }

  /** Joins a fetch that is under way; none when the last one was a moment ago. */
  #fetch(set: KeySet): Promise<void> | undefined {
    if (set.fetching) return set.fetching;
    if (this.#options.monotonicMs() - set.triedAtMs < FETCH_EVERY_MS) return undefined;
    set.triedAtMs = this.#options.monotonicMs();
    set.fetching = this.#read(set)
      .catch(this.#options.onError)
      .finally(() => {
        set.fetching = undefined;
      });
    return set.fetching;
  }

  async #read(set: KeySet): Promise<void> {
    const json = await this.#line.run(() => this.#options.fetch(set.url));
    const keys = readKeySet(json);
    if (keys === undefined) throw new OutboundError('ANSWER_BROKEN');
    set.fetchedAtMs = this.#options.monotonicMs();
    this.#change(set, keys, hash('sha256', json, 'base64url'));
  }

  #change(set: KeySet, keys: readonly PublishedKey[], digest: string): void {
    if (set.digest === digest) return;
    set.digest = digest;
    set.keys = keys;
    this.#changes++;
  }
}

/** Whether there is any use in another look: a key without a name may be the one. */
function hasKey({ keys }: KeySet, kid: string | undefined): boolean {
  return kid === undefined || keys.some((key) => key.kid === undefined || key.kid === kid);
}
