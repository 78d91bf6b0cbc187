import { performance } from 'node:perf_hooks';

/** Above this share of busy time, what else the process does begins to wait. */
const FULL_LOAD = 0.8;

/** How much of what can wait may be taken at once. */
export interface Ration {
  /** By a process that has nothing else to do. */
  readonly idle: number;
  /** By one whose event loop was full since the last look. */
  readonly busy: number;
}

/** A ration as it is now; between its two ends in proportion to the load. */
export function rationByLoad({ idle, busy }: Ration, utilizationSince = utilizationSinceAsked()): () => number {
  return () => busy + Math.round((idle - busy) * (1 - Math.min(utilizationSince() / FULL_LOAD, 1)));
}

/** The share of time, from 0 to 1, that the event loop was busy since it was asked before. */
export function utilizationSinceAsked(read = () => performance.eventLoopUtilization()): () => number {
  let before = read();
  return () => {
    const now = read();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
