import type { Connection } from './connection.ts';
import type { PoolTimeouts } from './pool-options.ts';

/**
 * One missing response can be the issuer's fault, and so can two. Three without a response in between are the
 * connection's.
 */
const TIMEOUTS_IN_A_ROW = 3;

/**
 * Silence counts after this many typical round trips. A fault on a fast connection is found soon, before many
 * requests are lost.
 */
const ROUND_TRIPS = 8;
/** A shorter silence is a pause of the network or of this process. */
const LEAST_SUSPECT_MS = 250;
/** Weight of the last round trip in the average. */
const WEIGHT_OF_LAST = 1 / 8;

type Watched = Pick<
  Connection<unknown>,
  'firstUnansweredAtMs' | 'timeoutsInARow' | 'lastTimeoutAtMs' | 'typicalRoundTripMs'
>;

/**
 * Whether a connection may be dead, so that others are preferred: it has read nothing for a while although requests
 * were written, or consecutive requests reached their deadlines. It stays open and signed on. The next frame that it
 * reads ends the first condition; a response to a request, or time, ends the second.
 *
 * A false suspicion costs an echo and a detour, so the limit is low. If there is no other connection, nothing
 * changes.
 */
export function isSuspect(connection: Watched, monotonicMs: number, timeouts: PoolTimeouts): boolean {
  return monotonicMs >= silentAtMs(connection, timeouts) || isAvoided(connection, monotonicMs, timeouts);
}

/** The time from which a connection counts as silent if it reads nothing; infinite while no request was written. */
export function silentAtMs({ firstUnansweredAtMs, typicalRoundTripMs }: Watched, { suspectMs }: PoolTimeouts): number {
  if (firstUnansweredAtMs === undefined) return Number.POSITIVE_INFINITY;
  const typicalMs = typicalRoundTripMs === undefined ? suspectMs : typicalRoundTripMs * ROUND_TRIPS;
  // An infinite limit stays infinite.
  const afterMs = Number.isFinite(suspectMs) ? Math.min(Math.max(typicalMs, LEAST_SUSPECT_MS), suspectMs) : suspectMs;
  return firstUnansweredAtMs + afterMs;
}

function isAvoided(
  { timeoutsInARow, lastTimeoutAtMs }: Watched,
  monotonicMs: number,
  { avoidMs }: PoolTimeouts,
): boolean {
  return timeoutsInARow >= TIMEOUTS_IN_A_ROW && monotonicMs - lastTimeoutAtMs < avoidMs;
}

export function noteAnswer(connection: Watched, roundTripMs: number): void {
  connection.timeoutsInARow = 0;
  const typicalMs = connection.typicalRoundTripMs ?? roundTripMs;
  connection.typicalRoundTripMs = typicalMs + (roundTripMs - typicalMs) * WEIGHT_OF_LAST;
}

export function noteTimeout(connection: Watched, monotonicMs: number): void {
  connection.timeoutsInARow++;
  connection.lastTimeoutAtMs = monotonicMs;
}
