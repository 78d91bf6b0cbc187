import { hash } from 'node:crypto';
import { OutboundError } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import {
  type IssuerKey,
  type IssuerKeys,
  type KeySetRegistration,
  type PublishedKey,
  type RegisteredIssuers,
  readKeySet,
  type ScopedIssuer,
} from './issuer-keys.ts';

/** @throws OutboundError if there is no response with status 200, in time and within the limits */
type FetchKeySet = (url: string) => Promise<string>;

/** Maximum use of a key after its issuer has withdrawn it; other verifiers keep a set as long or longer. */
const FRESH_MS = 5 * 60_000;
/** Age for a refresh, so that a request never finds an expired set. */
const REFRESH_FROM_MS = FRESH_MS / 2;
const REFRESH_EVERY_MS = 60_000;
/** Minimum time between two fetches of one URL: tokens with invented kids do not cause more. */
const FETCH_EVERY_MS = 30_000;
/** The time between two fetches doubles with each failure in a row, up to 4 minutes. */
const MAX_DOUBLINGS = 3;
/** A night without the issuer's web server stops no shop. To stop a leaked key at once, revoke it in the gateway. */
const STAND_IN_MS = 12 * 3_600_000;
/** No token lives longer, so no token that a set has verified is still in use. */
const UNUSED_FOR_MS = 24 * 3_600_000;
/** Issuers with their own URL. If there are too many, the oldest is dropped. */
const MAX_SETS = 4_096;
/**
 * Time for a fetch and a short wait in its queue. A tap then continues with the known keys before its phone gives up.
 */
const AWAITED_MS = 5_000;
/** URLs can hang, and webhooks need sockets, too. */
const FETCHES_AT_ONCE = 12;
/** Fetches of URLs that failed the last time: an acquirer can register thousands that hang, and others must not wait. */
const FAILING_AT_ONCE = 4;
/** Fetches of one acquirer, so that its hanging URLs leave room for those of others. */
const FETCHES_OF_ACQUIRER = 4;
const FAILING_OF_ACQUIRER = 2;
const FETCHES_WAITING = 1_024;
/** No request waits for a fetch in the queue: other issuers' URLs may hang for so long. */
const FETCHES_WAIT_AT_MOST_MS = 60_000;

/** The URL of a key set, and the acquirer for which it is fetched. */
export interface OwnedKeySet {
  readonly url: string;
  readonly acquirerId: number;
}

interface KeySet extends OwnedKeySet {
  keys: readonly PublishedKey[];
  /** Digest of the fetched text, to detect a change. */
  digest: string;
  fetchedAtMs: number;
  triedAtMs: number;
  usedAtMs: number;
  /** Fetches in a row that failed. */
  failures: number;
  fetching: Promise<void> | undefined;
}

/**
 * The key sets that issuers publish, in the last fetched version.
 *
 * A set is fetched when it is first needed, then refreshed in the background while it is used. A withdrawal of a key
 * is therefore known within minutes, and no request waits for it. A kid that is not in the set causes one more fetch,
 * but not one for every invented token. While the URL is unavailable, the last known set remains in use for half a
 * day.
 */
export class KeySets {
  readonly #options;
  readonly #sets = new Map<string, KeySet>();
  readonly #line = lineOf(FETCHES_AT_ONCE);
  readonly #failingLine = lineOf(FAILING_AT_ONCE);
  readonly #linesOfAcquirers = new Map<string, ConcurrencyLimit>();
  readonly #timer: NodeJS.Timeout;
  #changes = 0;

  constructor(options: {
    readonly fetch: FetchKeySet;
    readonly monotonicMs: () => number;
    readonly onError: (error: unknown) => void;
  }) {
    this.#options = options;
    this.#timer = setInterval(() => this.refresh(), REFRESH_EVERY_MS).unref();
  }

  /** Increases with every change of a set. */
  get changes(): number {
    return this.#changes;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /**
   * The keys at a URL; empty if it has never responded, or not for too long. Acquirers that registered the same URL have
   * sets of their own, so that none can delay the set of another.
   *
   * @param kid that is looked for
   */
  async find(wanted: OwnedKeySet, kid?: string): Promise<readonly PublishedKey[]> {
    const set = this.#used(wanted);
    if (this.#ageOf(set) >= FRESH_MS || !hasKey(set, kid)) await this.#awaitFetch(set);
    return this.#usable(set);
  }

  /** As `find`, without waiting: a set that is missing or old is fetched in the background. */
  known(wanted: OwnedKeySet): readonly PublishedKey[] {
    const set = this.#used(wanted);
    if (this.#ageOf(set) >= FRESH_MS) void this.#fetch(set);
    return this.#usable(set);
  }

  /**
   * Called by the timer: fetches ageing sets, and drops sets that are unused or were kept for too long without a
   * fetch.
   */
  refresh(): void {
    const nowMs = this.#options.monotonicMs();
    for (const set of this.#sets.values()) {
      if (nowMs - set.usedAtMs >= UNUSED_FOR_MS) this.#sets.delete(nameOf(set));
      else if (this.#ageOf(set) >= REFRESH_FROM_MS) void this.#fetch(set);
      if (this.#ageOf(set) >= STAND_IN_MS) this.#change(set, [], '');
    }
  }

  #used({ url, acquirerId }: OwnedKeySet): KeySet {
    const name = nameOf({ url, acquirerId });
    const set = this.#sets.get(name) ?? this.#add(name, { url, acquirerId });
    set.usedAtMs = this.#options.monotonicMs();
    return set;
  }

  #usable(set: KeySet): readonly PublishedKey[] {
    return this.#ageOf(set) < STAND_IN_MS ? set.keys : [];
  }

  #add(name: string, wanted: OwnedKeySet): KeySet {
    if (this.#sets.size >= MAX_SETS) this.#dropOldest(wanted.acquirerId);
    const never = Number.NEGATIVE_INFINITY;
    const times = { fetchedAtMs: never, triedAtMs: never, usedAtMs: 0 };
    const set = { ...wanted, keys: [], digest: '', ...times, failures: 0, fetching: undefined };
    this.#sets.set(name, set);
    return set;
  }

  /** Prefers one of the acquirer that needs the space, so that it cannot displace those of others. */
  #dropOldest(acquirerId: number): void {
    const sets = [...this.#sets];
    const [name] = sets.find(([, set]) => set.acquirerId === acquirerId) ?? sets[0]!;
    this.#sets.delete(name);
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

  /** Joins a running fetch; does nothing if the last one has just ended. */
  #fetch(set: KeySet): Promise<void> | undefined {
    if (set.fetching) return set.fetching;
    const pauseMs = FETCH_EVERY_MS * 2 ** Math.min(set.failures, MAX_DOUBLINGS);
    if (this.#options.monotonicMs() - set.triedAtMs < pauseMs) return undefined;
    set.triedAtMs = this.#options.monotonicMs();
    set.fetching = this.#read(set)
      .catch((error) => {
        set.failures++;
        this.#options.onError(error);
      })
      .finally(() => {
        set.fetching = undefined;
      });
    return set.fetching;
  }

  async #read(set: KeySet): Promise<void> {
    const isFailing = set.failures > 0;
    const line = isFailing ? this.#failingLine : this.#line;
    const own = this.#lineOfAcquirer(set.acquirerId, isFailing);
    const json = await own.run(() => line.run(() => this.#options.fetch(set.url), String(set.acquirerId)));
    const keys = readKeySet(json);
    if (keys === undefined) throw new OutboundError('RESPONSE_BROKEN');
    set.failures = 0;
    set.fetchedAtMs = this.#options.monotonicMs();
    this.#change(set, keys, hash('sha256', json, 'base64url'));
  }

  #lineOfAcquirer(acquirerId: number, isFailing: boolean): ConcurrencyLimit {
    const name = `${acquirerId} ${isFailing}`;
    const line = this.#linesOfAcquirers.get(name) ?? lineOf(isFailing ? FAILING_OF_ACQUIRER : FETCHES_OF_ACQUIRER);
    this.#linesOfAcquirers.set(name, line);
    return line;
  }

  #change(set: KeySet, keys: readonly PublishedKey[], digest: string): void {
    if (set.digest === digest) return;
    set.digest = digest;
    set.keys = keys;
    this.#changes++;
  }
}

function lineOf(atOnce: number): ConcurrencyLimit {
  return new ConcurrencyLimit({ atOnce, waitMost: FETCHES_WAITING, waitAtMostMs: FETCHES_WAIT_AT_MOST_MS });
}

/** Whether another fetch is pointless. A key without a kid may be the one that is looked for. */
function hasKey({ keys }: KeySet, kid: string | undefined): boolean {
  return kid === undefined || keys.some((key) => key.kid === undefined || key.kid === kid);
}

function nameOf({ url, acquirerId }: OwnedKeySet): string {
  return `${acquirerId} ${url}`;
}

/** The keys of issuers that registered each key, and of those that registered a URL. */
export class PublishedIssuerKeys implements IssuerKeys {
  readonly #registered: RegisteredIssuers;
  readonly #sets: Pick<KeySets, 'find' | 'known' | 'changes'>;

  constructor(registered: RegisteredIssuers, sets: Pick<KeySets, 'find' | 'known' | 'changes'>) {
    this.#registered = registered;
    this.#sets = sets;
  }

  acquirersOf(name: string): readonly number[] {
    return this.#registered.acquirersOf(name);
  }

  async find(issuer: ScopedIssuer, kid?: string): Promise<readonly IssuerKey[]> {
    const own = this.#registered.known(issuer);
    const registrations = this.#registered.keySets(issuer);
    if (registrations.length === 0 || (kid !== undefined && own.some((key) => key.kid === kid))) return own;
    const published = registrations.map(async (registration) =>
      (await this.#sets.find(setOf(registration), kid)).map((key) => issuerKey(registration, key)),
    );
    return [...own, ...(await Promise.all(published)).flat()];
  }

  known(issuer: ScopedIssuer): readonly IssuerKey[] {
    const published = this.#registered
      .keySets(issuer)
      .flatMap((registration) => this.#sets.known(setOf(registration)).map((key) => issuerKey(registration, key)));
    return [...this.#registered.known(issuer), ...published];
  }

  generation(): string {
    return `${this.#registered.generation()}.${this.#sets.changes}`;
  }
}

function setOf({ url, owner }: KeySetRegistration): OwnedKeySet {
  return { url, acquirerId: owner.acquirerId };
}

function issuerKey({ url, algorithms, owner }: KeySetRegistration, key: PublishedKey): IssuerKey {
  return {
    id: `${url} ${key.kid ?? ''}`,
    kid: key.kid,
    publicKey: key.publicKey,
    algorithms: key.algorithms.filter((algorithm) => algorithms.includes(algorithm)),
    owner,
    standing: 'published',
  };
}
