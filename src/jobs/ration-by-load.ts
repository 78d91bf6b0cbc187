import { performance } from 'node:perf_hooks';

/** Above this share of busy time, less urgent work begins to wait. */
const FULL_LOAD = 0.8;

/** How much of the less urgent work may be taken at once. */
export interface Ration {
  /** In a process without other work. */
  readonly idle: number;
  /** In a process whose event loop was fully busy since the last poll. */
  readonly busy: number;
}

/** The current ration: between its two ends in proportion to the load. */
export function rationByLoad({ idle, busy }: Ration, utilizationSince = utilizationSinceAsked()): () => number {
  return () => busy + Math.round((idle - busy) * (1 - Math.min(utilizationSince() / FULL_LOAD, 1)));
}

/** An average over a longer time does not show how busy the process is now. */
const MOST_MEASURED_MS = 2_000;

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
    return idle + active > MOST_MEASURED_MS ? 1 : utilization;
  };
}
