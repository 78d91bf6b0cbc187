import { fingerprint } from './rate-limit.ts';
import { TokenBuckets } from './token-buckets.ts';

const HALVE_AFTER_MS = 1_000;
/** Tokens whose acquirer is known; each takes about 50 bytes. */
const MAX_TOKENS = 65_536;
/** Unknown tokens that are verified each second while a process is full: a few percent of its core. */
const UNKNOWN_PER_SECOND = 100;

/**
 * Shares a process between acquirers while it has as many taps as it can work on, so that the taps of one acquirer do
 * not keep out those of another. An acquirer has its share if it has more than an equal part of the taps accepted lately.
 * One acquirer more is counted than had taps, so there is room for one that begins, and all shares together are less than
 * the whole.
 *
 * A refusal has to be cheap, so it is decided before the token is verified: the acquirer of a token is known from its last tap.
 */
export class TapShares {
  readonly #monotonicMs: () => number;
  /** By fingerprint of the token; the oldest is dropped first. */
  readonly #acquirers = new Map<number, number>();
  readonly #unknown = new TokenBuckets<''>({ perSecond: UNKNOWN_PER_SECOND, burstSeconds: 1 }, 1);
  /** Taps accepted lately, by acquirer. */
  readonly #accepted = new Map<number, number>();
  #total = 0;
  #halvedAtMs = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Whether a tap with this Authorization may be looked at while the process is full. */
  mayPass(authorization = ''): boolean {
    const acquirerId = this.#acquirers.get(fingerprint(authorization));
    if (acquirerId === undefined) return this.#unknown.take('', this.#monotonicMs()) === 0;
    return !this.hasItsShare(acquirerId);
  }

  hasItsShare(acquirerId: number): boolean {
    this.#move();
    return (this.#accepted.get(acquirerId) ?? 0) > this.#total / (this.#accepted.size + 1);
  }

  accept(acquirerId: number): void {
    this.#move();
    this.#accepted.set(acquirerId, (this.#accepted.get(acquirerId) ?? 0) + 1);
    this.#total++;
  }

  /** Remembers whose token this is. Only for a verified token. */
  learn(acquirerId: number, authorization = ''): void {
    const token = fingerprint(authorization);
    if (this.#acquirers.get(token) === acquirerId) return;
    if (this.#acquirers.size >= MAX_TOKENS) this.#acquirers.delete(this.#acquirers.keys().next().value!);
    this.#acquirers.set(token, acquirerId);
  }

  /** Halves the counts each second, so that shares follow the load and do not begin from nothing. */
  #move(): void {
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#halvedAtMs < HALVE_AFTER_MS) return;
    this.#halvedAtMs = nowMs;
    this.#total = 0;
    for (const [acquirerId, count] of this.#accepted) {
      const half = Math.floor(count / 2);
      if (half === 0) this.#accepted.delete(acquirerId);
      else this.#accepted.set(acquirerId, half);
      this.#total += half;
    }
  }
}
