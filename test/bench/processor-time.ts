import { processUsage } from '../../src/tools/load/machine-watch.ts';

/** Seconds of processor time by part. Unlike throughput, other programs on the machine do not affect it. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** What these processes have used so far, each with its children that are not parts themselves; empty without /proc. */
export function processorTime(parts: Readonly<Record<string, number>>): ProcessorTime {
  return Object.fromEntries(Object.entries(processUsage(parts)).map(([name, { seconds }]) => [name, seconds]));
}

/** Returns a function that returns the cores that each part has used since. */
export function coresUsed(pids: Readonly<Record<string, number>>): () => ProcessorTime {
  const before = processorTime(pids);
  const startedAtMs = performance.now();
  return () => {
    const seconds = (performance.now() - startedAtMs) / 1_000;
    const parts = Object.entries(processorTime(pids));
    return Object.fromEntries(parts.map(([name, used]) => [name, (used - before[name]!) / seconds]));
  };
}
