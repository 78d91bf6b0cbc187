import { performance } from 'node:perf_hooks';
import type { QueueName } from '#schemas/jobs';

/** How fast a process works through one queue. */
export interface Pace {
  /** Limit of jobs in progress. */
  readonly credits: number;
  /** One acquirer may hold half of the credits, because its switch may not respond (`FairShares`). */
  readonly isShared?: true;
  /** Limit of further jobs that wait for a slow remote system without a worker slot. */
  readonly released?: number;
  /** The longest time until a ready job is noticed. */
  readonly pollMs: number;
  /** For a queue that must not slow down taps: how many jobs one poll may take. */
  readonly ration?: Ration;
}

/** Orphans are recovered within seconds. */
const SOON_MS = 500;
/** A customer is waiting at a till. A wake-up usually comes before the poll. */
const AT_ONCE_MS = 250;

export const PACES: Readonly<Record<QueueName, Pace>> = {
  // Each takes a slot at a switch for up to a deadline. Above this number, jobs wait better in the queue.
  authorize: { credits: 1_024, isShared: true, pollMs: AT_ONCE_MS },
  // Rare. If a merchant submits a day's refunds at once, they must not take the connections from taps.
  refund: { credits: 64, isShared: true, pollMs: AT_ONCE_MS },
  'expire-pin': { credits: 32, pollMs: SOON_MS },
  // Every link has one, and it is not urgent: a day's links may expire in one minute without an effect on taps. If a
  // reference is needed before its job has run, the request for it frees it.
  'expire-link': { credits: 16, pollMs: 1_000 },
  // First attempts run ahead of their jobs, so this queue has repeats, or everything that an outage has left: ten
  // thousand at once, which each poll has to sort. At full tap load, 16 of them are sent per second.
  reverse: { credits: 128, isShared: true, pollMs: SOON_MS, ration: { idle: 64, busy: 8 } },
  // Each takes a slot at a switch; the share of one acquirer is a tenth of what taps may take of one connection.
  complete: { credits: 96, isShared: true, pollMs: SOON_MS },
  // Events of taps are sent before their jobs start, so these jobs are repeats, or wait for a receiver, which may be dead.
  // They are not urgent, and each poll costs as much as a dozen of them: 2,000 a second in an otherwise idle process, 60 and more at full tap load. Waits for hanging
  // receivers take no worker slot, but a socket each: far fewer than a process may have open.
  webhook: { credits: 256, released: 4_096, pollMs: 200, ration: { idle: 400, busy: 12 } },
  // They wait only for the push service, and only while it is unavailable.
  push: { credits: 32, pollMs: SOON_MS },
  // A purge of old data is not urgent, and neither is the next one.
  purge: { credits: 1, pollMs: 5_000 },
};

/** Above this share of busy time, less urgent work begins to wait. */
const FULL_LOAD = 0.8;

/** How much of the less urgent work may be taken at once. */
export interface Ration {
  /** Amount in a process without other work. */
  readonly idle: number;
  /** Amount in a process whose event loop was fully busy since the last poll. */
  readonly busy: number;
}

/** The current ration: between its two ends in proportion to the load. */
export function rationByLoad({ idle, busy }: Ration, utilizationSince = utilizationSinceAsked()): () => number {
  return () => busy + Math.round((idle - busy) * (1 - Math.min(utilizationSince() / FULL_LOAD, 1)));
}

/** An average over a longer time does not show how busy the process is now. */
const MAX_MEASURED_MS = 2_000;

/**
 * The share of time, from 0 to 1, in which the event loop was busy since the previous call. 1, as for an unknown load,
 * if that was long ago.
 */
export function utilizationSinceAsked(read = () => performance.eventLoopUtilization()): () => number {
  let before = read();
  return () => {
    const now = read();
    const { utilization, idle, active } = performance.eventLoopUtilization(now, before);
    before = now;
    return idle + active > MAX_MEASURED_MS ? 1 : utilization;
  };
}
