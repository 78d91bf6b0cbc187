/**
 * Subjects are measured side by side in one process, alternating: machines differ and are noisy, so figures are
 * meaningful only in comparison.
 */

export interface Measurement {
  readonly name: string;
  /** The fastest round: the cost of the work without disturbance. */
  readonly nsPerOp: number;
  /** The median round: its cost on this machine at this time. */
  readonly medianNsPerOp: number;
  /** Heap and array buffers allocated, garbage included; undefined without `node --expose-gc`. */
  readonly bytesPerOp: number | undefined;
}

export interface MeasureOptions {
  /** Rounds for each subject. More rounds find a quieter one. */
  readonly rounds?: number;
  /** Duration of one round: far above the clock's resolution, far below a scheduler's time slice. */
  readonly roundMs?: number;
}

/** The content of `--json FILE` of every benchmark. */
export interface BenchReport {
  readonly results: readonly Measurement[];
  /** How many times as fast, from the fastest rounds. */
  readonly ratios: Readonly<Record<string, number>>;
}

/** Measures each subject, a function that does one operation and returns part of its result, in interleaved rounds. */
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

/** Prints the figures, and returns them. */
export function report(title: string, figures: BenchReport): BenchReport {
  const { results, ratios } = figures;
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
  return figures;
}

/** Results are stored here, so that no compiler removes unused work. @public */
export let lastResult: unknown;

function run(operation: () => unknown, operations: number): number {
  const start = process.hrtime.bigint();
  for (let done = 0; done < operations; done++) lastResult = operation();
  return Number(process.hrtime.bigint() - start);
}

/** Doubles until a round is long enough: warms up and calibrates. */
function operationsIn(roundMs: number, operation: () => unknown): number {
  for (let operations = 1; ; operations *= 2) {
    const ns = run(operation, operations);
    if (ns >= roundMs * 1e6) return Math.max(1, Math.round((operations * roundMs * 1e6) / ns));
  }
}

/** Less than the young generation, so that no collection occurs during the measurement. */
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
