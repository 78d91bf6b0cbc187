import { processUsage } from '../../src/load/process-usage.ts';

/** Seconds of processor time by part. Other programs on the machine do not count into it, as they do into throughput. */
export type ProcessorTime = Readonly<Record<string, number>>;

/** What these processes, each with its children that are no parts themselves, have used so far; empty where there is no /proc. */
export function processorTime(parts: Readonly<Record<string, number>>): ProcessorTime {
  return Object.fromEntries(Object.entries(processUsage(parts)).map(([name, { seconds }]) => [name, seconds]));
}
