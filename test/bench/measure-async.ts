import type { Measurement, MeasureOptions } from './measure.ts';

type AsyncOperation = () => Promise<unknown>;

/** As `measure`, for operations that are awaited one after the other. The allocations of waiting are not counted. */
export async function measureAsync(
  subjects: Readonly<Record<string, AsyncOperation>>,
  { rounds = 25, roundMs = 20 }: MeasureOptions = {},
): Promise<Measurement[]> {
  const entries: { name: string; operation: AsyncOperation; operations: number; roundsNs: number[] }[] = [];
  for (const [name, operation] of Object.entries(subjects))
    entries.push({ name, operation, operations: await operationsIn(roundMs, operation), roundsNs: [] });
  for (let round = 0; round < rounds; round++)
    for (const { operation, operations, roundsNs } of entries)
      roundsNs.push((await run(operation, operations)) / operations);
  return entries.map(({ name, roundsNs }) => {
    roundsNs.sort((a, b) => a - b);
    return { name, nsPerOp: roundsNs[0]!, medianNsPerOp: roundsNs[roundsNs.length >> 1]!, bytesPerOp: undefined };
  });
}

async function run(operation: AsyncOperation, operations: number): Promise<number> {
  const start = process.hrtime.bigint();
  for (let done = 0; done < operations; done++) await operation();
  return Number(process.hrtime.bigint() - start);
}

async function operationsIn(roundMs: number, operation: AsyncOperation): Promise<number> {
  for (let operations = 1; ; operations *= 2) {
    const ns = await run(operation, operations);
    if (ns >= roundMs * 1e6) return Math.max(1, Math.round((operations * roundMs * 1e6) / ns));
  }
}
