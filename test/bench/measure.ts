/** Side by side in one process, in turns: machines differ and are noisy, so figures mean something only next to each other. */
import { writeFileSync } from 'node:fs';

export interface Measurement {
  readonly name: string;
  /** The fastest round: what the work costs when nothing else disturbs it. */
  readonly nsPerOp: number;
  /** The middle round: what it cost on this machine today. */
  readonly medianNsPerOp: number;
  /** Heap and array buffers allocated, garbage included; undefined without `node --expose-gc`. */
  readonly bytesPerOp: number | undefined;
}

export interface MeasureOptions {
  /** Turns that each subject gets. More turns find a quieter one. */
  readonly rounds?: number;
  /** How long one turn lasts: far above the clock's resolution, far below a scheduler's patience. */
  readonly roundMs?: number;
}

/** What every bench writes with `--json FILE`. */
export interface BenchReport {
  readonly results: readonly Measurement[];
  /** How many times as fast, by the fastest rounds. */
  readonly ratios: Readonly<Record<string, number>>;
}

/** Measures each subject, a function that does one operation and returns something of it, in interleaved rounds. */
export function measure(
  subjects: Readonly<Record<string, () => unknown>>,
  { rounds = 25, roundMs = 20 }: MeasureOptions = {},
): Measurement[] {
  const entries = Object.entries(subjects).map(([name, operation]) => {
    return { name, operation, operations: operationsIn(roundMs, operation), roundsNs: [] as number[] };
  });
  for (let round = 0; round < rounds; round++) {
    for (const { operation, operations, roundsNs } of entries) roundsNs.push(run(operation, operations) / operations);
  }
  return entries.map(({ name, operation, roundsNs }) => {
    roundsNs.sort((a, b) => a - b);
    const medianNsPerOp = roundsNs[roundsNs.length >> 1]!;
    return { name, nsPerOp: roundsNs[0]!, medianNsPerOp, bytesPerOp: allocatedBytes(operation) };
  });
}

/** How many times as fast `name` is as `baseline`. */
export function ratio(results: readonly Measurement[], name: string, baseline: string): number {
  const nsPerOp = (wanted: string) => results.find((result) => result.name === wanted)!.nsPerOp;
  return nsPerOp(baseline) / nsPerOp(name);
}

/** Prints the table, and writes it where `--json` said. */
export function report(title: string, { results, ratios }: BenchReport, json?: string): void {
  console.log(`\n${title}`);
  console.table(
    results.map(({ name, nsPerOp, medianNsPerOp, bytesPerOp }) => ({
      name,
      'min ns/op': Math.round(nsPerOp),
      'median ns/op': Math.round(medianNsPerOp),
      'bytes/op': bytesPerOp === undefined ? 'run with --expose-gc' : Math.round(bytesPerOp),
    })),
  );
  for (const [name, times] of Object.entries(ratios)) console.log(`${name}: ${times.toFixed(1)} times as fast`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ results, ratios }, null, 2)}\n`);
}

/** Results go here, so that no compiler finds out that nobody needs them. */
export let lastResult: unknown;

function run(operation: () => unknown, operations: number): number {
  const start = process.hrtime.bigint();
  for (let done = 0; done < operations; done++) lastResult = operation();
  return Number(process.hrtime.bigint() - start);
}

/** Doubles until a turn is long enough: warms up and calibrates in one. */
function operationsIn(roundMs: number, operation: () => unknown): number {
  for (let operations = 1; ; operations *= 2) {
    const ns = run(operation, operations);
    if (ns >= roundMs * 1e6) return Math.max(1, Math.round((operations * roundMs * 1e6) / ns));
  }
}

/** What stays below the young generation, so that no collection falls into the measurement. */
const UNCOLLECTED_BYTES = 1_000_000;

/** The median of several counts: a collection, or a late compilation, makes one of them wrong. */
function allocatedBytes(operation: () => unknown): number | undefined {
  const collect = globalThis.gc;
  if (collect === undefined) return undefined;
  const count = (operations: number) => {
    collect();
    const before = usedBytes();
    run(operation, operations);
    return (usedBytes() - before) / operations;
  };
  const operations = Math.min(10_000, Math.max(10, Math.round(UNCOLLECTED_BYTES / Math.max(1, count(100)))));
  const counts = Array.from({ length: 9 }, () => count(operations)).sort((a, b) => a - b);
  return counts[counts.length >> 1]!;
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
