import { performance } from 'node:perf_hooks';

/** Above this share of busy time, what else the process does begins to wait. */
const FULL_LOAD = 0.8;

/**
 * How much of what can wait may be taken now: `idle` when the process has nothing else to do, `busy` when its event loop is
 * full since the last look, and in between in proportion.
 */
export function rationByLoad(
  { idle, busy }: { readonly idle: number; readonly busy: number },
  utilizationSince = eventLoopUtilization(),
): () => number {
  return () => busy + Math.round((idle - busy) * (1 - Math.min(utilizationSince() / FULL_LOAD, 1)));
}

/** The share of time, from 0 to 1, that the event loop was busy since it was asked before. */
function eventLoopUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
