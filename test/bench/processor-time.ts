import { processUsage } from '../../src/tools/load/machine-watch.ts';

/** Seconds of processor time by part. Unlike throughput, other programs on the machine do not affect it. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** What these processes have used so far, each with its children that are not parts themselves; empty without /proc. */
export function processorTime(parts: Readonly<Record<string, number>>): ProcessorTime {
  return Object.fromEntries(Object.entries(processUsage(parts)).map(([name, { seconds }]) => [name, seconds]));
}
