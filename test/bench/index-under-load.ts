/**
 * How long taps wait while a migration creates an index on a large table of transactions: without an index, with
 * `create index concurrently`, and with a plain `create index`.
 */
import { availableParallelism, cpus } from 'node:os';
import { type Database, inLongSession } from '../../src/store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../src/store/postgres/session-limits.ts';
import { refuseUnsafe, startParts } from './e2e.ts';
import { percentile, sustain } from './http-load.ts';
import type { BenchOptions } from './run.ts';
import { DEFAULT_ROWS, seedOnce } from './seed.ts';

const CONNECTIONS = 512;
const TAPS_PER_SECOND = 200;
/** The shortest run; it lasts as long as the index takes and this much more. */
const SECONDS = 10;
const CHUNK_SECONDS = 5;
const BEFORE_MS = 2_000;

const WAYS: Readonly<Record<string, string | undefined>> = {
  'no index': undefined,
  'create index concurrently':
    'create index concurrently bench_index on transactions (acquirer_id, device_installation_id)',
  'create index': 'create index bench_index on transactions (acquirer_id, device_installation_id)',
};

interface Figures {
  readonly way: string;
  readonly indexSeconds: number;
  readonly taps: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  readonly notApproved: number;
}

export async function bench(
  { seconds = SECONDS, rows = DEFAULT_ROWS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers);
  await refuseUnsafe(parts.database);
  await seedOnce(parts.database, rows);
  await parts.database.query('checkpoint');
  const results: Figures[] = [];
  for (const [way, statement] of Object.entries(WAYS)) {
    results.push({ way, ...(await runUntil(parts, seconds, statement)) });
    await parts.database.query('drop index concurrently if exists bench_index');
  }
  print(results, rows);
  return { rows, results };
}

/** Offers taps for some seconds and until the statement has ended. */
async function runUntil(
  { database, gatewayPort, taps }: Awaited<ReturnType<typeof startParts>>,
  seconds: number,
  statement: string | undefined,
): Promise<Omit<Figures, 'way'>> {
  let isBuilding = statement !== undefined;
  const building = statement === undefined ? Promise.resolve(0) : secondsOf(database, statement);
  void building.finally(() => {
    isBuilding = false;
  });
  const latenciesMs: number[] = [];
  let notApproved = 0;
  const untilMs = performance.now() + seconds * 1_000;
  while (isBuilding || performance.now() < untilMs) {
    const chunk = await sustain([gatewayPort], CONNECTIONS, CHUNK_SECONDS, TAPS_PER_SECOND, taps.take);
    for (const each of chunk.latenciesMs) latenciesMs.push(each);
    notApproved += chunk.responded - (chunk.statuses.get(200) ?? 0) + chunk.unapproved;
  }
  return {
    indexSeconds: await building,
    taps: latenciesMs.length,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    longestMs: percentile(latenciesMs, 1),
    notApproved,
  };
}

async function secondsOf(database: Database, statement: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, BEFORE_MS));
  const startedAtMs = performance.now();
  await inLongSession(database, SESSION_LIMITS.migration, (client) => client.query(statement));
  return (performance.now() - startedAtMs) / 1_000;
}

function print(results: readonly Figures[], rows: number): void {
  const lines = results.map(
    ({ way, indexSeconds, taps, p50Ms, p99Ms, longestMs, notApproved }) =>
      `| ${way} | ${indexSeconds.toFixed(1)} s | ${taps} | ${p50Ms.toFixed(0)} / ${p99Ms.toFixed(0)} / ${longestMs.toFixed(0)} ms | ${notApproved} |`,
  );
  console.log(`
${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; ${rows} transactions, ${TAPS_PER_SECOND} taps per second offered

| | index took | taps | latency p50 / p99 / longest | not approved |
|---|---|---|---|---|
${lines.join('\n')}
`);
}
