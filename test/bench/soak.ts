/**
 * Half of the measured capacity for an hour: whether memory, connections or the times of the event loop grow. Tables
 * and the audit trail do grow with each tap; the run prints them for comparison.
 */
import type { Database } from '../../src/store/postgres/open-database.ts';
import { processUsage } from '../../src/tools/load/machine-watch.ts';
import { Histogram, Tally } from '../../src/tools/load/tally.ts';
import { GATEWAYS, type Parts, refuseUnsafe, startParts } from './e2e.ts';
import { countOf, offerTaps } from './offer-taps.ts';
import { measurePeak, PEAK_SECONDS, WARM_UP_SECONDS } from './peak.ts';
import type { BenchOptions } from './run.ts';

const SECONDS = 3_600;
const MAX_BETWEEN_SAMPLES_S = 60;
/** Before this, caches still fill, and every process grows. */
const LEAST_SECONDS = 600;
const SAMPLES = 10;
const MEGABYTE = 1e6;
/**
 * Growth that would fill a process of 1 GB within a day. In an hour, the noise of a garbage collector hides a
 * smaller slope.
 */
const MAX_MB_PER_HOUR = 40;

/** At one time: of all gateway processes together, the event loop of the slowest. */
interface Sample {
  readonly seconds: number;
  readonly rssMb: number;
  readonly heapMb: number;
  readonly externalMb: number;
  readonly loopP99Ms: number;
  readonly postgresMb: number;
  readonly connections: number;
  readonly tablesMb: number;
  readonly walMb: number;
  readonly approved: number;
  readonly refused: number;
  readonly p99Ms: number | undefined;
}

export async function bench(
  { seconds = SECONDS, gateways = GATEWAYS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers, { gateways });
  await refuseUnsafe(parts.database);
  await measurePeak(parts, WARM_UP_SECONDS);
  const perSecond = (await measurePeak(parts, PEAK_SECONDS)) / 2;
  console.log(`${perSecond.toFixed(0)} taps per second for ${seconds} s\n${HEAD}`);
  const samples = await run(parts, perSecond, seconds);
  const slopes = {
    rss: slopeOf(samples, ({ rssMb }) => rssMb),
    heap: slopeOf(samples, ({ heapMb }) => heapMb),
  };
  printSlope('RSS', slopes.rss, seconds);
  printSlope('Heap', slopes.heap, seconds);
  return { perSecond, samples, slopes };
}

async function run(parts: Parts, perSecond: number, seconds: number): Promise<readonly Sample[]> {
  const tally = new Tally();
  const samples: Sample[] = [];
  const startedAtMs = performance.now();
  const look = async () => {
    const sample = await readSample(parts, tally, (performance.now() - startedAtMs) / 1_000);
    samples.push(sample);
    console.log(rowOf(sample));
    // The ledger of the switch would be full after two million taps, and decline the others.
    await fetch(parts.ledgerUrl, { method: 'DELETE' });
  };
  const everySeconds = Math.min(MAX_BETWEEN_SAMPLES_S, seconds / SAMPLES);
  let failure: unknown;
  const looking = setInterval(() => void look().catch((error) => (failure ??= error)), everySeconds * 1_000);
  await offerTaps({ port: parts.gatewayPort, perSecond, seconds, taps: parts.taps, tally });
  clearInterval(looking);
  await look();
  if (failure !== undefined) throw failure;
  return samples;
}

async function readSample({ database, gatewayPort, pids }: Parts, tally: Tally, seconds: number): Promise<Sample> {
  const slice = tally.take();
  const latencies = new Histogram();
  if (slice.scenarios.approved) latencies.add(slice.scenarios.approved.latencies);
  const valuesOf = await readMetrics(gatewayPort);
  const sum = (name: string) => valuesOf(name).reduce((all, value) => all + value, 0) / MEGABYTE;
  const others = countOf(slice, 'other') + slice.lost + slice.unsent;
  if (others > 0) throw new Error(`${others} taps failed: ${JSON.stringify([slice.reasons, slice.scenarios.other])}`);
  return {
    seconds,
    rssMb: sum('process_resident_memory_bytes'),
    heapMb: sum('nodejs_heap_size_used_bytes'),
    externalMb: sum('nodejs_external_memory_bytes'),
    loopP99Ms: Math.max(...valuesOf('nodejs_eventloop_lag_p99_seconds')) * 1_000,
    postgresMb: processUsage({ Postgres: pids.Postgres! }).Postgres!.memoryBytes / MEGABYTE,
    ...(await readDatabase(database)),
    approved: countOf(slice, 'approved'),
    refused: countOf(slice, 'refused'),
    p99Ms: latencies.percentileMs(0.99),
  };
}

/** The values of a metric, one for each process. */
async function readMetrics(port: number): Promise<(name: string) => readonly number[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return (name) => {
    const series = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'));
    const values = [...series].map(([, value]) => Number(value));
    if (values.length === 0) throw new Error(`/metrics has no ${name}`);
    return values;
  };
}

async function readDatabase(database: Database): Promise<Pick<Sample, 'connections' | 'tablesMb' | 'walMb'>> {
  const { rows } = await database.query<{ connections: number; tables: number; wal: number }>(
    `select (select count(*) from pg_stat_activity where backend_type = 'client backend')::int as connections,
       pg_database_size(current_database())::float8 as tables,
       (select sum(size) from pg_ls_waldir())::float8 as wal`,
  );
  const { connections, tables, wal } = rows[0]!;
  return { connections, tablesMb: tables / MEGABYTE, walMb: wal / MEGABYTE };
}

const HEAD = `
| seconds | RSS | heap used | external | event loop p99 | Postgres memory | connections | database | WAL files | approved | 503 | p99 |
|---|---|---|---|---|---|---|---|---|---|---|---|`;

function rowOf(sample: Sample): string {
  const mb = (value: number) => `${value.toFixed(0)} MB`;
  const { seconds, rssMb, heapMb, externalMb, loopP99Ms, postgresMb, connections, tablesMb, walMb } = sample;
  const memory = [rssMb, heapMb, externalMb].map(mb).join(' | ');
  const database = [mb(postgresMb), connections, mb(tablesMb), mb(walMb)].join(' | ');
  const taps = [sample.approved, sample.refused, `${sample.p99Ms?.toFixed(0) ?? 0} ms`].join(' | ');
  return `| ${seconds.toFixed(0)} | ${memory} | ${loopP99Ms.toFixed(0)} ms | ${database} | ${taps} |`;
}

interface Slope {
  readonly mbPerHour: number;
  /** Twice the standard error: 19 of 20 runs are within it. */
  readonly toleranceMbPerHour: number;
}

/** The first quarter is left out: caches fill, and the heap finds its size. */
function slopeOf(samples: readonly Sample[], read: (sample: Sample) => number): Slope {
  const later = samples.slice(Math.floor(samples.length / 4));
  const mean = (of: (sample: Sample) => number) => later.reduce((sum, each) => sum + of(each), 0) / later.length;
  const [meanX, meanY] = [mean(({ seconds }) => seconds), mean(read)];
  const varianceX = mean(({ seconds }) => (seconds - meanX) ** 2);
  const slope = mean((each) => (each.seconds - meanX) * (read(each) - meanY)) / varianceX;
  const residual = mean((each) => (read(each) - meanY - slope * (each.seconds - meanX)) ** 2);
  const error = Math.sqrt(residual / varianceX / Math.max(1, later.length - 2));
  return { mbPerHour: slope * 3_600, toleranceMbPerHour: 2 * error * 3_600 };
}

/** A run is long enough if its tolerance is below the limit. */
function verdictOf({ mbPerHour, toleranceMbPerHour }: Slope, seconds: number): string {
  if (seconds < LEAST_SECONDS) return 'too short for a verdict';
  if (mbPerHour - toleranceMbPerHour > MAX_MB_PER_HOUR) return 'GROWING';
  return mbPerHour + toleranceMbPerHour <= MAX_MB_PER_HOUR ? 'flat' : 'undecided, a longer run is needed';
}

function printSlope(name: string, slope: Slope, seconds: number): void {
  const { mbPerHour, toleranceMbPerHour } = slope;
  const value = `${mbPerHour.toFixed(0)} MB per hour, within ${toleranceMbPerHour.toFixed(0)}`;
  console.log(
    `${name} after the first quarter: ${value}; the limit is ${MAX_MB_PER_HOUR}: ${verdictOf(slope, seconds)}`,
  );
}
