import type { ConnectionLists } from './connection-lists.ts';

/** Upper bounds of the histogram in milliseconds. One more bucket counts what is slower. */
export const ROUND_TRIP_BOUNDS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000,
] as const;

export interface RoundTripHistogram {
  /** Upper bounds of the buckets in milliseconds, inclusive. */
  readonly boundsMs: readonly number[];
  /** Number of round trips in each bucket; one bucket more than there are bounds. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sumMs: number;
}

/** Response times, from the write of the request to the reading of the response. */
export class RoundTrips {
  readonly #counts = new Array<number>(ROUND_TRIP_BOUNDS_MS.length + 1).fill(0);
  #count = 0;
  #sumMs = 0;

  record(roundTripMs: number): void {
    let bucket = 0;
    while (bucket < ROUND_TRIP_BOUNDS_MS.length && roundTripMs > ROUND_TRIP_BOUNDS_MS[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#count++;
    this.#sumMs += roundTripMs;
  }

  snapshot(): RoundTripHistogram {
    return { boundsMs: ROUND_TRIP_BOUNDS_MS, counts: [...this.#counts], count: this.#count, sumMs: this.#sumMs };
  }
}

/** Numbers at one moment; those of the second group only increase. */
export interface PoolStats {
  readonly connecting: number;
  readonly ready: number;
  readonly full: number;
  readonly draining: number;
  readonly down: number;
  /** Callers that wait for a slot. */
  readonly pending: number;
  /** Slots taken whose request has not started. */
  readonly held: number;
  /** Requests that wait for their response, including those of sessions. */
  readonly inFlight: number;

  readonly responded: number;
  /** Requests given up at their deadline. */
  readonly timedOut: number;
  readonly late: number;
  readonly duplicates: number;
  /** Responses for which no request of this process ever waited. */
  readonly unmatched: number;
  readonly badMessages: number;
  readonly badFrames: number;
  /** Connections dialled to replace one that had ended. */
  readonly reconnects: number;
  /** Connections that were signed on; one that is suspended and signs on again counts once. */
  readonly signOns: number;
  readonly slotsHeldTooLong: number;
  readonly roundTrips: RoundTripHistogram;
}

export class PoolCounters {
  responded = 0;
  timedOut = 0;
  late = 0;
  duplicates = 0;
  unmatched = 0;
  badMessages = 0;
  badFrames = 0;
  reconnects = 0;
  signOns = 0;
  slotsHeldTooLong = 0;
  readonly roundTrips = new RoundTrips();

  snapshot<Message>(
    lists: ConnectionLists<Message>,
    waits: { readonly pending: number; readonly held: number; readonly inFlight: number },
  ): PoolStats {
    return {
      ...this,
      connecting: lists.connecting.size,
      ready: lists.ready.size,
      full: lists.full.size,
      draining: lists.draining.size,
      down: lists.down.size,
      ...waits,
      roundTrips: this.roundTrips.snapshot(),
    };
  }
}
