/**
 * Requests per second and latency of the routes other than the tap, with ten million transactions in the database. The
 * gateway in its own process, Postgres, and this generator share one machine.
 */
import { mkdirSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/start/config.ts';
import { prepareDatabase } from '../../src/start/open-stores.ts';
import { freePort } from '../support/free-port.ts';
import { checked, percentile, saturate, sustain } from './http-load.ts';
import { httpRoutes } from './http-routes.ts';
import { startProcess } from './parts.ts';
import type { BenchOptions } from './run.ts';
import { DEFAULT_ROWS, seedOnce } from './seed.ts';

const CONNECTIONS = 32;
const SECONDS = 4;
const ROUNDS = 3;
const WARM_UP_SECONDS = 1;

interface RouteFigures {
  readonly route: string;
  readonly perSecond: number;
  readonly minPerSecond: number;
  /** At half of its maximum rate, counted from the time at which a request was due. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function bench(options: BenchOptions, closers: (() => unknown)[]): Promise<unknown> {
  const { seconds = SECONDS, rounds = ROUNDS, rows = DEFAULT_ROWS, data = '.tapwire-bench' } = options;
  mkdirSync(data, { recursive: true });
  const prepared = await prepareDatabase(readConfig({ ...process.env, TAPWIRE_DATA: data }));
  closers.push(() => prepared.stop());
  await seedOnce(prepared.database, rows);
  const port = await freePort();
  const program = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));
  // One credential sends all requests here, above its normal quota.
  const noLimits = { RATE_PER_CREDENTIAL: '0', RATE_PER_APP_TOKEN: '0' };
  const environment = { DATABASE_URL: prepared.url, PORT: `${port}`, TAPWIRE_DATA: data, ...noLimits };
  await startProcess(closers, [program, 'start'], environment, 'Tapwire is up');
  const routes = await httpRoutes(prepared.database, port, rows);
  const results: RouteFigures[] = [];
  for (const { name, next } of routes) results.push(await measureRoute(name, port, next, seconds, rounds));
  print(results, rows, rounds);
  return { rows, results };
}

async function measureRoute(
  route: string,
  port: number,
  next: () => Buffer,
  seconds: number,
  rounds: number,
): Promise<RouteFigures> {
  checked(await saturate([port], CONNECTIONS, WARM_UP_SECONDS, next));
  const speeds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    speeds.push(checked(await saturate([port], CONNECTIONS, seconds, next)).perSecond);
  }
  const perSecond = percentile(speeds, 0.5);
  const { latenciesMs } = checked(await sustain([port], CONNECTIONS, seconds, perSecond / 2, next));
  const figures = { p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) };
  return { route, perSecond, minPerSecond: Math.min(...speeds), ...figures };
}

function print(results: readonly RouteFigures[], rows: number, rounds: number): void {
  const machine = `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
  const lines = results.map(
    ({ route, perSecond, minPerSecond, p50Ms, p99Ms }) =>
      `| ${route} | ${perSecond.toFixed(0)} | ${minPerSecond.toFixed(0)} | ${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} |`,
  );
  console.log(`
${machine}; ${rows} transactions; ${rounds} rounds of each route, latency at half of its speed

| route | per second | minimum | p50 ms | p99 ms |
|---|---|---|---|---|
${lines.join('\n')}
`);
}
