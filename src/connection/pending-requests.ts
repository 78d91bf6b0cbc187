import { ConnectionError } from '../errors.ts';
import { Deadline, type Deadlines } from './deadlines.ts';
import { KeyTable, type KeyTableEntry } from './key-table.ts';
import type { OutgoingFrame } from './outgoing-frames.ts';
import { RecentKeys } from './recent-keys.ts';
import type { SwitchProtocol } from './switch-protocol.ts';

/** Why a request got no answer. */
export type RequestFailure =
  /** Its deadline passed. */
  | 'deadline'
  /** The instant by which it had to be written passed first. Never written. */
  | 'sendBy'
  /** The connection that carried it, or was to carry it, was lost. */
  | 'connectionLost'
  /** No connection was ready, nor could one become ready in time. Never written. */
  | 'noConnection'
  /** Too many were waiting for a slot already. Never written. */
  | 'busy'
  /** The pool was closed or destroyed. */
  | 'closed';

/** `written` says whether `socket.write` was ever called for the message: if not, the switch cannot have seen it. */
export type RequestResult<Message> =
  | {
      readonly kind: 'answered';
      readonly response: Message;
      /** The key fields the response lacked; empty when the whole key matched. */
      readonly missing: readonly string[];
      /** The connection that carried the request. */
      readonly connectionId: string;
      readonly roundTripMs: number;
    }
  /** A response came that could not be decoded, but whose key could: `error` is what `decode` threw. */
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
      readonly connectionId: string | undefined;
    };

/** A response that no request is waiting for. */
export interface UnmatchedResponse<Message> {
  /** `late`: its request was given up; `duplicate`: its request was answered; `unknown`: as far as this process remembers, neither. */
  readonly kind: 'late' | 'duplicate' | 'unknown';
  readonly response: Message;
  readonly connectionId: string;
  /** The key fields it lacked. */
  readonly missing: readonly string[];
  /** Since its request was given up or answered. */
  readonly sinceMs: number | undefined;
}

/** What a request needs of the connection that carries it. */
export interface Carrier<Message> {
  readonly id: string;
  /** The deadline of `pending` has passed. */
  expire(pending: PendingRequest<Message>): void;
}

/** A request that waits for its answer: its own deadline, and its own place in the outgoing bytes. */
export class PendingRequest<Message> extends Deadline implements OutgoingFrame, KeyTableEntry<PendingRequest<Message>> {
  readonly key: string;
  readonly request: Message;
  readonly carrier: Carrier<Message>;
  readonly deadlineAtMs: number;
  sendByMs: number;
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
    this.sendByMs = Math.min(times.sendByMs ?? times.deadlineAtMs, times.deadlineAtMs);
    this.settle = settle;
  }

  get isWritten(): boolean {
    return this.writtenAtMs >= 0;
  }

  override onDue(): void {
    this.carrier.expire(this);
  }
}

/** Instants of the monotonic clock (`performance.now()`), in milliseconds: not durations. */
export interface RequestTimes {
  /** No answer counts after it. It covers the wait for a slot, the write and the wait for the answer. */
  readonly deadlineAtMs: number;
  /** The message is not written after it. Default: the deadline. */
  readonly sendByMs?: number | undefined;
}

/** Which request a response answers, if any. */
export interface Match<Message> {
  readonly pending: PendingRequest<Message> | undefined;
  /** Undefined when the response lacks a field of it. */
  readonly key: string | undefined;
  readonly missing: readonly string[];
}

const NOTHING_MISSING: readonly string[] = [];

/**
 * The requests of a pool that wait for an answer, by key. A switch may answer on another of its connections, so the
 * table is the pool's; a key that is waiting is never overwritten.
 */
export class PendingRequests<Message> {
  readonly #protocol: SwitchProtocol<Message>;
  readonly #deadlines: Deadlines;
  readonly #live = new KeyTable<PendingRequest<Message>>();
  readonly #answered = new RecentKeys();
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

  /** Forgets a request whose caller is told otherwise. */
  remove(pending: PendingRequest<Message>): void {
    this.#live.remove(pending);
    this.#deadlines.cancel(pending);
  }

  /** Ends a request with its response; gives how long the switch took, in milliseconds. */
  answer(pending: PendingRequest<Message>, response: Message, missing: readonly string[], monotonicMs: number): number {
    const roundTripMs = this.#end(pending, monotonicMs);
    pending.settle({ kind: 'answered', response, missing, connectionId: pending.carrier.id, roundTripMs });
    return roundTripMs;
  }

  /** Ends a request with a response that `decode` refused with `error`. */
  answerUnreadable(pending: PendingRequest<Message>, error: unknown, monotonicMs: number): void {
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

  /** The request that `response`, read on `carrier`, answers. */
  match(response: Message, carrier: Carrier<Message>): Match<Message> {
    const key = this.#protocol.responseKey(response);
    if (key !== undefined) {
      const pending = this.#live.get(key);
      return { pending: pending?.isWritten ? pending : undefined, key, missing: NOTHING_MISSING };
    }
    const missing = this.#protocol.missingKeyFields?.(response) ?? NOTHING_MISSING;
    return { pending: this.#onlyCandidate(response, carrier), key, missing };
  }

  /** What is remembered of the request of a response that came too late, twice or out of nowhere. */
  lookBack(key: string | undefined, monotonicMs: number): Pick<UnmatchedResponse<Message>, 'kind' | 'sinceMs'> {
    const givenUpAtMs = key === undefined ? undefined : this.#givenUp.get(key);
    if (givenUpAtMs !== undefined) return { kind: 'late', sinceMs: monotonicMs - givenUpAtMs };
    const answeredAtMs = key === undefined ? undefined : this.#answered.get(key);
    if (answeredAtMs !== undefined) return { kind: 'duplicate', sinceMs: monotonicMs - answeredAtMs };
    return { kind: 'unknown', sinceMs: undefined };
  }

  #end(pending: PendingRequest<Message>, monotonicMs: number): number {
    this.remove(pending);
    this.#answered.add(pending.key, monotonicMs);
    return monotonicMs - pending.writtenAtMs;
  }

  #onlyCandidate(response: Message, carrier: Carrier<Message>): PendingRequest<Message> | undefined {
    if (!this.#protocol.couldAnswer) return undefined;
    let only: PendingRequest<Message> | undefined;
    for (const pending of this.#live.entries()) {
      if (pending.carrier !== carrier || !pending.isWritten) continue;
      if (!this.#protocol.couldAnswer(response, pending.request)) continue;
      if (only) return undefined;
      only = pending;
    }
    return only;
  }
}
