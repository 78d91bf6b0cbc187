/**
 * What the gateway does with three times the taps that it can process. Its capacity is measured with a closed loop
 * before and after. Generator, simulated switch and Postgres share the machine with it, so the refusals cost what the
 * generator needs to send them, too.
 */
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { readLedger } from '../../src/tools/ledger/books.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { processUsage } from '../../src/tools/load/machine-watch.ts';
import { type Slice, Tally } from '../../src/tools/load/tally.ts';
import { GATEWAYS, MAX_PER_SECOND, type Parts, refuseUnsafe, startParts } from './e2e.ts';
import { countOf, endsOf, offerTaps, percentilesOf } from './offer-taps.ts';
import { measurePeak, PEAK_SECONDS, WARM_UP_SECONDS } from './peak.ts';
import { coresUsed } from './processor-time.ts';
import type { BenchOptions } from './run.ts';

const SECONDS = 300;
const TIMES = 3;
/** What a second acquirer offers meanwhile, as a part of the capacity. */
const OTHER_PART = 0.05;
const OTHER_CONNECTIONS = 400;
/** Sealed before the overload. If more are needed, the generator seals them then. */
const MAX_STOCK = 150_000;
/** The last taps are recorded, and memory that is no longer used is released. */
const SETTLE_MS = 5_000;

export async function bench(
  { seconds = SECONDS, gateways = GATEWAYS, rate }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers, { gateways, isShared: true });
  await refuseUnsafe(parts.database);
  const figures = await measure(parts, seconds, rate);
  print(figures);
  return figures;
}

type Figures = Awaited<ReturnType<typeof measure>>;

async function measure(parts: Parts, seconds: number, rate?: number) {
  const { gatewayPort: port, taps, otherTaps, database, pids } = parts;
  await measurePeak(parts, WARM_UP_SECONDS);
  await taps.prepare(PEAK_SECONDS * MAX_PER_SECOND);
  const usedAtPeak = coresUsed(pids);
  const peakBefore = await measurePeak(parts, PEAK_SECONDS);
  const coresAtPeak = usedAtPeak();
  await taps.prepare(Math.min(MAX_STOCK, Math.ceil(peakBefore * seconds)));
  await otherTaps!.prepare(Math.min(MAX_STOCK, Math.ceil(peakBefore * OTHER_PART * seconds)));
  const rowsBefore = await countRows(database);
  const memoryBefore = gatewayMemory(pids);
  const used = coresUsed(pids);
  const tally = new Tally();
  const otherTally = new Tally();
  const [tookSeconds] = await Promise.all([
    offerTaps({ port, perSecond: rate ?? peakBefore * TIMES, seconds, taps, tally }),
    offerTaps({
      port,
      perSecond: peakBefore * OTHER_PART,
      seconds,
      taps: otherTaps!,
      tally: otherTally,
      connections: OTHER_CONNECTIONS,
    }),
  ]);
  const cores = used();
  const memoryAtEnd = gatewayMemory(pids);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const memoryAfter = gatewayMemory(pids);
  const rows = (await countRows(database)) - rowsBefore;
  const peakAfter = await measurePeak(parts, PEAK_SECONDS);
  const slice = tally.sum();
  const otherSlice = otherTally.sum();
  const goodput = (countOf(slice, 'approved') + countOf(otherSlice, 'approved')) / tookSeconds;
  return {
    gateways: parts.gateways,
    peakBefore,
    peakAfter,
    offered: (slice.due + otherSlice.due) / seconds,
    tookSeconds,
    goodput,
    // Other programs can slow one of the two measurements, and never speed one up.
    share: goodput / Math.max(peakBefore, peakAfter),
    approved: endsOf(slice, 'approved'),
    refused: endsOf(slice, 'refused'),
    failed: failuresOf(slice),
    second: {
      approved: endsOf(otherSlice, 'approved'),
      refused: endsOf(otherSlice, 'refused'),
      failed: failuresOf(otherSlice),
    },
    generatorLagMs: percentilesOf(slice.lags),
    rows,
    coresAtPeak,
    cores,
    memoryMegabytes: { before: memoryBefore, atEnd: memoryAtEnd, after: memoryAfter },
    ledger: await violationsOf(parts),
  };
}

async function countRows(database: Database): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select count(*)::int as count from transactions');
  return rows[0]!.count;
}

/** Of the primary and its processes, in megabytes. */
function gatewayMemory({ gateway }: Parts['pids']): number {
  return processUsage({ gateway: gateway! }).gateway!.memoryBytes / 1e6;
}

function failuresOf({ scenarios, reasons }: Slice): Readonly<Record<string, number>> {
  return { ...scenarios.other?.outcomes, ...reasons };
}

/** The rules of `tapwire verify-ledger` for all taps of the run. */
async function violationsOf({ database, ledgerUrl }: Parts): Promise<readonly string[]> {
  const findings = await verifyLedger({ database, ledger: readLedger(ledgerUrl), types: await loadProcessors() });
  return findings.flatMap(({ check, violations }) => violations.map(({ id, what }) => `${check} ${id}: ${what}`));
}

function print(figures: Figures): void {
  const { approved, refused, second, rows, memoryMegabytes: memory, ledger, generatorLagMs: lag } = figures;
  const ms = (value: number | undefined) => (value === undefined ? 'none' : `${value.toFixed(0)} ms`);
  const latency = ({ p50, p99, max }: typeof lag) => `${ms(p50)}, ${ms(p99)}, ${ms(max)}`;
  const failed = [figures.failed, second.failed]
    .flatMap((failures) => Object.entries(failures))
    .map(([what, count]) => `${count} ${what}`);
  const cores = Object.entries(figures.cores).map(
    ([name, used]) => `${name} ${figures.coresAtPeak[name]!.toFixed(2)}, ${used.toFixed(2)}`,
  );
  const unapproved = rows - approved.count - second.approved.count;
  const stored = unapproved === 0 ? 'as many as were approved' : `${unapproved} too many`;
  console.log(`
${figures.gateways} gateway processes, ${figures.tookSeconds.toFixed(0)} s

| | |
|---|---|
| capacity before and after, taps per second | ${figures.peakBefore.toFixed(0)}, ${figures.peakAfter.toFixed(0)} |
| offered per second | ${figures.offered.toFixed(0)} |
| approved per second, and share of the higher capacity | ${figures.goodput.toFixed(0)}, ${(figures.share * 100).toFixed(0)} % |
| approved: p50, p99, longest | ${latency(approved)} |
| 503 with Retry-After | ${refused.count} |
| 503: p50, p99, longest | ${latency(refused)} |
| the second acquirer: approved, refused | ${second.approved.count}, ${second.refused.count} |
| ... approved: p50, p99, longest | ${latency(second.approved)} |
| anything else | ${failed.length === 0 ? 0 : failed.join(', ')} |
| rows stored | ${rows}, ${stored} |
| violations in the books | ${ledger.length === 0 ? 0 : ledger.join('; ')} |
| the generator's own delay: p50, p99, longest | ${latency(lag)} |
| cores used at the capacity, and at three times as much | ${cores.join('; ')} |
| memory of the gateways before, at the end, 5 s later | ${[memory.before, memory.atEnd, memory.after].map((mb) => `${mb.toFixed(0)} MB`).join(', ')} |
`);
}
