import { ConnectionError } from '../../basics/errors.ts';
import type { SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';
import { Deadline, type Deadlines } from './deadlines.ts';
import type { OutgoingFrame } from './outgoing-frames.ts';

/** An entry of a `KeyTable`: the key, and the link to the next entry of the same bucket. */
export interface KeyTableEntry<Entry> {
  readonly key: string;
  nextInBucket: Entry | undefined;
}

const FIRST_BUCKETS = 256;

/**
 * A hash table for entries that are added and removed all the time. Entries are linked into it, so that adding and
 * removing allocate nothing. A `Map` allocates: it discards an internal table every few thousand changes, and each of
 * these keeps its dead entries alive until the next full collection (measured with `npm run bench -- connection` at
 * 256 in flight: p99 of a round trip 8 ms with a `Map`, 2.5 ms with this).
 *
 * Only keys made by the gateway are added, so no outside party can choose colliding keys.
 */
export class KeyTable<Entry extends KeyTableEntry<Entry>> {
  #buckets: (Entry | undefined)[] = new Array(FIRST_BUCKETS).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Entry | undefined {
    let entry = this.#buckets[this.#bucketOf(key)];
    while (entry !== undefined && entry.key !== key) entry = entry.nextInBucket;
    return entry;
  }

  /** The key must not be in the table. */
  add(entry: Entry): void {
    if (this.#size >= this.#buckets.length) this.#grow();
    this.#link(entry);
    this.#size++;
  }

  /** @returns whether this entry was in the table */
  remove(entry: Entry): boolean {
    const bucket = this.#bucketOf(entry.key);
    const first = this.#buckets[bucket];
    if (first === entry) {
      this.#buckets[bucket] = entry.nextInBucket;
    } else {
      let before = first;
      while (before !== undefined && before.nextInBucket !== entry) before = before.nextInBucket;
      if (before === undefined) return false;
      before.nextInBucket = entry.nextInBucket;
    }
    entry.nextInBucket = undefined;
    this.#size--;
    return true;
  }

  /** All entries in no order, as a copy, because the caller may change the table while it iterates. */
  entries(): Entry[] {
    const entries: Entry[] = [];
    for (const first of this.#buckets) {
      for (let entry = first; entry !== undefined; entry = entry.nextInBucket) entries.push(entry);
    }
    return entries;
  }

  #grow(): void {
    const entries = this.entries();
    this.#buckets = new Array(this.#buckets.length * 2).fill(undefined);
    for (const entry of entries) this.#link(entry);
  }

  #link(entry: Entry): void {
    const bucket = this.#bucketOf(entry.key);
    entry.nextInBucket = this.#buckets[bucket];
    this.#buckets[bucket] = entry;
  }

  #bucketOf(key: string): number {
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
    return (hash ^ (hash >>> 15)) & (this.#buckets.length - 1);
  }
}

/**
 * Minimum number of keys that are remembered. At full speed it covers a fraction of a second of responses, in
 * ordinary traffic minutes: enough to recognize a duplicate at once. Older ones are looked up in the database.
 */
const REMEMBERED_KEYS = 8_192;

/** Keys in the order in which their requests ended. They are indexed only when one is looked up, which is rare. */
class Generation {
  readonly #keys: string[] = [];
  readonly #endedAtMs = new Float64Array(REMEMBERED_KEYS);
  #index: Map<string, number> | undefined = undefined;
  #indexedKeys = 0;

  get isFull(): boolean {
    return this.#keys.length === REMEMBERED_KEYS;
  }

  add(key: string, endedAtMs: number): void {
    this.#endedAtMs[this.#keys.length] = endedAtMs;
    this.#keys.push(key);
  }

  get(key: string): number | undefined {
    this.#index ??= new Map();
    for (; this.#indexedKeys < this.#keys.length; this.#indexedKeys++) {
      this.#index.set(this.#keys[this.#indexedKeys]!, this.#endedAtMs[this.#indexedKeys]!);
    }
    return this.#index.get(key);
  }
}

/** The keys of requests that have ended, with the time of their end. The oldest are dropped in groups. */
export class RecentKeys {
  #current = new Generation();
  #previous = new Generation();

  add(key: string, endedAtMs: number): void {
    if (this.#current.isFull) {
      this.#previous = this.#current;
      this.#current = new Generation();
    }
    this.#current.add(key, endedAtMs);
  }

  get(key: string): number | undefined {
    return this.#current.get(key) ?? this.#previous.get(key);
  }
}

/** Why a request got no response. */
type RequestFailure =
  /** The deadline of the request passed. */
  | 'deadline'
  /** The time by which it had to be written passed first. Never written. */
  | 'sendBy'
  /** The connection that carried it, or was to carry it, was lost. */
  | 'connectionLost'
  /** The pool was closed or destroyed. */
  | 'closed';

/**
 * `written` states whether `socket.write` was ever called for the message. If not, the switch cannot have received
 * it.
 */
export type RequestResult<Message> =
  | {
      readonly kind: 'responded';
      readonly response: Message;
      /** The key fields that the response lacked; empty if the whole key matched. */
      readonly missing: readonly string[];
      /** The connection that carried the request. */
      readonly connectionId: string;
      readonly roundTripMs: number;
    }
  /** A response that could not be decoded, but whose key could be read: `error` is what `decode` threw. */
  | {
      readonly kind: 'unreadable';
      readonly error: unknown;
      readonly connectionId: string;
      readonly roundTripMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly written: boolean;
      readonly reason: RequestFailure;
      readonly connectionId: string;
    };

/** A response without a waiting request. */
export interface UnmatchedResponse<Message> {
  /**
   * `late`: its request was given up; `duplicate`: its request received a response; `unknown`: this process remembers
   * neither.
   */
  readonly kind: 'late' | 'duplicate' | 'unknown';
  readonly response: Message;
  readonly connectionId: string;
  /** The key fields that it lacked. */
  readonly missing: readonly string[];
  /** Time since its request was given up or received a response. */
  readonly sinceMs: number | undefined;
}

/** What a request needs of the connection that carries it. */
export interface Carrier<Message> {
  readonly id: string;
  /** Called when the deadline of `pending` has passed. */
  expire(pending: PendingRequest<Message>): void;
}

/** A request that waits for its response, with its deadline and its position in the outgoing bytes. */
export class PendingRequest<Message> extends Deadline implements OutgoingFrame, KeyTableEntry<PendingRequest<Message>> {
  readonly key: string;
  readonly request: Message;
  readonly carrier: Carrier<Message>;
  readonly deadlineAtMs: number;
  sendByAtMs: number;
  writtenAtMs = -1;
  batch = 0;
  nextInBucket: PendingRequest<Message> | undefined = undefined;
  readonly settle: (result: RequestResult<Message>) => void;

  constructor(
    key: string,
    request: Message,
    carrier: Carrier<Message>,
    times: RequestTimes,
    settle: (result: RequestResult<Message>) => void,
  ) {
    super();
    this.key = key;
    this.request = request;
    this.carrier = carrier;
    this.deadlineAtMs = times.deadlineAtMs;
    this.sendByAtMs = Math.min(times.sendByAtMs ?? times.deadlineAtMs, times.deadlineAtMs);
    this.settle = settle;
  }

  get isWritten(): boolean {
    return this.writtenAtMs >= 0;
  }

  override onDue(): void {
    this.carrier.expire(this);
  }
}

/** Times of the monotonic clock (`performance.now()`) in milliseconds, not durations. */
export interface RequestTimes {
  /** No later response counts. The deadline covers the wait for a slot, the write and the wait for the response. */
  readonly deadlineAtMs: number;
  /** The message is not written after this time; the deadline by default. */
  readonly sendByAtMs?: number | undefined;
}

/** The request that a response belongs to, if any. */
export interface Match<Message> {
  readonly pending: PendingRequest<Message> | undefined;
  /** Undefined if the response lacks a field of the key. */
  readonly key: string | undefined;
  readonly missing: readonly string[];
}

const NOTHING_MISSING: readonly string[] = [];

/**
 * The requests of a pool that wait for a response, by key. A switch may respond on another connection, so all
 * connections of the pool share the table. A waiting key is never overwritten.
 */
export class PendingRequests<Message> {
  readonly #protocol: SwitchProtocol<Message>;
  readonly #deadlines: Deadlines;
  readonly #live = new KeyTable<PendingRequest<Message>>();
  readonly #responded = new RecentKeys();
  readonly #givenUp = new RecentKeys();

  constructor(protocol: SwitchProtocol<Message>, deadlines: Deadlines) {
    this.#protocol = protocol;
    this.#deadlines = deadlines;
  }

  get size(): number {
    return this.#live.size;
  }

  /** @throws ConnectionError DUPLICATE_KEY */
  add(pending: PendingRequest<Message>): void {
    if (this.#live.get(pending.key)) throw new ConnectionError('DUPLICATE_KEY');
    this.#deadlines.schedule(pending, pending.deadlineAtMs);
    this.#live.add(pending);
  }

  /** Removes a request whose caller gets its result in another way. */
  remove(pending: PendingRequest<Message>): void {
    this.#live.remove(pending);
    this.#deadlines.cancel(pending);
  }

  /** Ends a request with its response. @returns the response time of the switch in milliseconds */
  respond(
    pending: PendingRequest<Message>,
    response: Message,
    missing: readonly string[],
    monotonicMs: number,
  ): number {
    const roundTripMs = this.#end(pending, monotonicMs);
    pending.settle({ kind: 'responded', response, missing, connectionId: pending.carrier.id, roundTripMs });
    return roundTripMs;
  }

  /** Ends a request with a response that `decode` refused with `error`. */
  rejectUnreadable(pending: PendingRequest<Message>, error: unknown, monotonicMs: number): void {
    const roundTripMs = this.#end(pending, monotonicMs);
    pending.settle({ kind: 'unreadable', error, connectionId: pending.carrier.id, roundTripMs });
  }

  giveUp(pending: PendingRequest<Message>, reason: RequestFailure, monotonicMs: number): void {
    this.remove(pending);
    if (pending.isWritten) this.#givenUp.add(pending.key, monotonicMs);
    pending.settle({ kind: 'failed', written: pending.isWritten, reason, connectionId: pending.carrier.id });
  }

  giveUpAll(carrier: Carrier<Message>, reason: RequestFailure, monotonicMs: number): void {
    for (const pending of this.#live.entries())
      if (pending.carrier === carrier) this.giveUp(pending, reason, monotonicMs);
  }

  /** Returns the request of `response`, which was read on `carrier`. */
  match(response: Message, carrier: Carrier<Message>): Match<Message> {
    const key = this.#protocol.responseKey(response);
    if (key !== undefined) {
      const pending = this.#live.get(key);
      return { pending: pending?.isWritten ? pending : undefined, key, missing: NOTHING_MISSING };
    }
    const missing = this.#protocol.missingKeyFields?.(response) ?? NOTHING_MISSING;
    return { pending: this.#onlyCandidate(response, carrier), key, missing };
  }

  /** What is remembered of the request of a late, duplicate or unknown response. */
  lookBack(key: string | undefined, monotonicMs: number): Pick<UnmatchedResponse<Message>, 'kind' | 'sinceMs'> {
    const givenUpAtMs = key === undefined ? undefined : this.#givenUp.get(key);
    if (givenUpAtMs !== undefined) return { kind: 'late', sinceMs: monotonicMs - givenUpAtMs };
    const respondedAtMs = key === undefined ? undefined : this.#responded.get(key);
    if (respondedAtMs !== undefined) return { kind: 'duplicate', sinceMs: monotonicMs - respondedAtMs };
    return { kind: 'unknown', sinceMs: undefined };
  }

  #end(pending: PendingRequest<Message>, monotonicMs: number): number {
    this.remove(pending);
    this.#responded.add(pending.key, monotonicMs);
    return monotonicMs - pending.writtenAtMs;
  }

  #onlyCandidate(response: Message, carrier: Carrier<Message>): PendingRequest<Message> | undefined {
    if (!this.#protocol.couldMatch) return undefined;
    let only: PendingRequest<Message> | undefined;
    for (const pending of this.#live.entries()) {
      if (pending.carrier !== carrier || !pending.isWritten) continue;
      if (!this.#protocol.couldMatch(response, pending.request)) continue;
      if (only) return undefined;
      only = pending;
    }
    return only;
  }
}
