import type { Connection } from './connection.ts';
import type { PoolTimeouts } from './pool-options.ts';

/** One request without an answer is the issuer's, two may be; three without an answer in between are the line's. */
const TIMEOUTS_IN_A_ROW = 3;

/** Silence counts from so many usual round trips on; a line that is fast is found out soon, before many requests are lost. */
const ROUND_TRIPS = 8;
/** Less is a pause of the network or of this process. */
const LEAST_SUSPECT_MS = 250;
/** Weight of the last round trip in the usual one. */
const WEIGHT_OF_LAST = 1 / 8;

type Watched = Pick<Connection<unknown>, 'unansweredSinceMs' | 'timeoutsInARow' | 'lastTimeoutMs' | 'usualRoundTripMs'>;

/**
 * Whether a connection may lead nowhere, so that others are preferred: it has read nothing for a while although requests were
 * written, or its requests have met their deadlines in a row. It stays open and signed on. What it reads next ends the first;
 * an answer to a request, or time, ends the second.
 *
 * To be wrong costs an echo and a detour, so it is told early: where no other connection is there, nothing changes.
 */
export function isSuspect(connection: Watched, monotonicMs: number, timeouts: PoolTimeouts): boolean {
  return monotonicMs >= silentFromMs(connection, timeouts) || isAvoided(connection, monotonicMs, timeouts);
}

/** From when on a connection counts as silent if it goes on reading nothing; infinite while nothing was asked. */
export function silentFromMs({ unansweredSinceMs, usualRoundTripMs }: Watched, { suspectMs }: PoolTimeouts): number {
  if (unansweredSinceMs === undefined) return Number.POSITIVE_INFINITY;
  const usualMs = usualRoundTripMs === undefined ? suspectMs : usualRoundTripMs * ROUND_TRIPS;
  // One that is never suspect is not so early either.
  const afterMs = Number.isFinite(suspectMs) ? Math.min(Math.max(usualMs, LEAST_SUSPECT_MS), suspectMs) : suspectMs;
  return unansweredSinceMs + afterMs;
}

function isAvoided(
  { timeoutsInARow, lastTimeoutMs }: Watched,
  monotonicMs: number,
  { avoidMs }: PoolTimeouts,
): boolean {
  return timeoutsInARow >= TIMEOUTS_IN_A_ROW && monotonicMs - lastTimeoutMs < avoidMs;
}

export function noteAnswer(connection: Watched, roundTripMs: number): void {
  connection.timeoutsInARow = 0;
  const usualMs = connection.usualRoundTripMs ?? roundTripMs;
  connection.usualRoundTripMs = usualMs + (roundTripMs - usualMs) * WEIGHT_OF_LAST;
}

export function noteTimeout(connection: Watched, monotonicMs: number): void {
  connection.timeoutsInARow++;
  connection.lastTimeoutMs = monotonicMs;
}
