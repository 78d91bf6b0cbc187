import type { ConnectionLists } from './connection-lists.ts';
import { type RoundTripHistogram, RoundTrips } from './round-trips.ts';

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

  readonly answered: number;
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
  readonly slotsHeldTooLong: number;
  readonly roundTrips: RoundTripHistogram;
}

export class PoolCounters {
  answered = 0;
  timedOut = 0;
  late = 0;
  duplicates = 0;
  unmatched = 0;
  badMessages = 0;
  badFrames = 0;
  reconnects = 0;
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
