/**
 * Taps per second through the whole gateway: HTTP, JWT, JWE, TLV, ISO 8583 over TCP, two durable commits, a pg-boss
 * job, the audit trail, and a webhook. A round ends when the last webhook was delivered. A bare Fastify echo is measured in
 * the same run with the same client. Postgres, the gateway's processes, the simulated switch, the receiver of webhooks and
 * this generator share the machine.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { type Config, readConfig } from '../../src/start/config.ts';
import { type PreparedDatabase, prepareDatabase } from '../../src/start/open-stores.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { freePort } from '../support/free-port.ts';
import { type Seeded, seedInstallation, type TapSource, tapSource } from './e2e-taps.ts';
import { prepareHsm } from './hsm-parts.ts';
import { checked, type LoadResult, percentile, saturate, sustain } from './http-load.ts';
import { startProcess, untilReady } from './parts.ts';
import type { BenchOptions } from './run.ts';
import { costPerTap, preloadStatementCounter, readUsage, startStatementCounter, type TapCost } from './tap-cost.ts';
import { endTurn, takeTurn } from './turns.ts';
import { type TakenWebhooks, WebhookSink } from './webhook-sink.ts';

export const CONNECTIONS = 256;
const SECONDS = 6;
const ROUNDS = 3;
/** V8 compiles hot functions on other threads for so long; in the first seconds this takes a fifth of the gateway's time. */
export const WARM_UP_SECONDS = 20;
export const SOLO_TAPS = 200;
/** Many times the interval at which records that no request waits for are written. */
const SETTLE_MS = 500;
/** More than any round can use: an exhausted source would end the round early, which the benchmark reports. */
export const MAX_PER_SECOND = 6_000;

/** One process uses one core. */
export const GATEWAYS = availableParallelism();

export async function bench(
  { seconds = SECONDS, rounds = ROUNDS, gateways = GATEWAYS, hsm, webhooks, rate }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers, { gateways, hsm, hasWebhooks: webhooks !== 'none' });
  await refuseUnsafe(parts.database);
  const figures = await measure(parts, { seconds, rounds, rate });
  printTable(figures, rounds);
  return figures;
}

export interface Parts {
  readonly database: Database;
  /** Of all processes of the gateway. */
  readonly gatewayPort: number;
  readonly gateways: number;
  readonly echoPort: number;
  readonly taps: TapSource;
  /** Of the second acquirer. */
  readonly otherTaps: TapSource | undefined;
  /** Process ids by part, for their processor time. */
  readonly pids: Readonly<Record<string, number>>;
  /** The books of the simulated switch. */
  readonly ledgerUrl: string;
  /** Receives the webhooks of all taps of the first acquirer. */
  readonly webhooks: WebhookSink | undefined;
  /** The tenants of the first acquirer. */
  readonly seeded: Seeded;
  readonly switchPort: number;
}

export interface PartsOptions {
  readonly gateways?: number;
  /** `software` or `simulated`: taps have PINs, and messages MACs. */
  readonly hsm?: string | undefined;
  /** Further settings of the gateway's processes. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether there is a second acquirer with taps of its own. */
  readonly isShared?: boolean;
  /** Whether each tap has a webhook. */
  readonly hasWebhooks?: boolean;
}

export async function startParts(
  folder: string,
  closers: (() => unknown)[],
  { gateways = 1, hsm, settings = {}, isShared = false, hasWebhooks = false }: PartsOptions = {},
): Promise<Parts> {
  const config = readConfig({ ...process.env, TAPWIRE_DATA: folder, LOG_LEVEL: 'warn' });
  const prepared = await prepareCountingDatabase(config);
  closers.push(() => prepared.stop());
  const switchPort = await freePort();
  const program = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));
  const processor = (await loadProcessors()).get('type-1')!;
  const keys = hsm === undefined ? undefined : await prepareHsm(folder, hsm, processor.exampleConfig);
  const simulated = [`type-1=${switchPort}`, ...(keys?.switchOptions ?? [])];
  const simulator = await startProcess(closers, [program, 'simulate', ...simulated], {}, 'ledger');
  const seed = (acquirerId: number) =>
    seedInstallation(prepared.database, { processor, switchPort, keys: keys?.config, acquirerId });
  const seeded = await seed(1);
  const other = isShared ? await seed(2) : undefined;
  const webhooks = hasWebhooks ? await WebhookSink.start(closers) : undefined;
  await webhooks?.register(prepared.database, folder);
  const environment = {
    DATABASE_URL: prepared.url,
    TAPWIRE_DATA: folder,
    LOG_LEVEL: 'info',
    TAPWIRE_ROLE: 'all',
    SWITCH_NETWORKS: '*=127.0.0.1',
    ...keys?.settings,
    ...settings,
  };
  const gatewayPort = await freePort();
  const gateway = await startProcess(
    closers,
    [program, 'start'],
    { ...environment, PORT: `${gatewayPort}`, TAPWIRE_PROCESSES: `${gateways}` },
    'Tapwire is up',
  );
  const echo = fileURLToPath(new URL('./echo-server.ts', import.meta.url));
  const echoPort = Number((await startProcess(closers, [echo], {}, '')).line);
  const taps = await tapSource(seeded, gatewayPort, hsm === undefined ? 'approve' : 'entered-pin');
  const otherTaps = other && (await tapSource(other, gatewayPort));
  await untilReady(gatewayPort);
  const postgres = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const pids = {
    ...{ gateway: gateway.pid, Postgres: postgres, switch: simulator.pid, generator: process.pid },
    ...(webhooks && { receiver: webhooks.pid }),
  };
  const ledgerUrl = simulator.line.replace(/^.*ledger: /, '');
  return {
    ...{ database: prepared.database, gatewayPort, gateways, echoPort, taps, otherTaps, pids, ledgerUrl, webhooks },
    ...{ seeded, switchPort },
  };
}

/** A database that counts its statements, which requires a restart of the server. */
export async function prepareCountingDatabase(config: Config): Promise<PreparedDatabase> {
  const first = await prepareDatabase(config);
  await preloadStatementCounter(first.database);
  await first.stop();
  const prepared = await prepareDatabase(config);
  await startStatementCounter(prepared.database);
  return prepared;
}

/** Figures of a database without durable commits are worthless. */
export async function refuseUnsafe(database: Database): Promise<void> {
  const settings = ['fsync', 'full_page_writes', 'synchronous_commit'];
  for (const setting of settings) {
    const { rows } = await database.query(`show ${setting}`);
    console.log(`${setting} = ${rows[0][setting]}`);
    if (rows[0][setting] !== 'on') throw new Error(`${setting} is off: this is no measurement`);
  }
}

interface Figures {
  readonly tapsPerSecond: number;
  readonly echoPerSecond: number;
  readonly ratio: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly soloMs: number;
  /** Medians of the rounds. */
  readonly atFullLoad: TapCost;
  readonly atHalfLoad: TapCost;
  readonly webhooks: { readonly atFullLoad: WebhookFigures; readonly atHalfLoad: WebhookFigures } | undefined;
  readonly rounds: readonly { readonly taps: number; readonly echo: number }[];
  /** Taps per second of the calm parts; undefined for half of the full load. */
  readonly rate: number | undefined;
  readonly machine: string;
  readonly gateways: number;
}

/** Between an outcome and the arrival of its webhook. */
export interface WebhookFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of the webhooks that had arrived when the last tap of the load received a response. */
  readonly shareInTime: number;
  readonly repeated: number;
}

export interface MeasuredLoad extends LoadResult {
  readonly cost: TapCost;
  readonly webhooks: WebhookFigures | undefined;
}

/**
 * Runs a load until its last webhook was delivered: the rate and the cost count until then.
 *
 * @throws if a webhook is missing
 */
export async function measureLoad(
  { database, pids, webhooks }: Pick<Parts, 'database' | 'pids' | 'webhooks'>,
  load: () => Promise<LoadResult>,
): Promise<MeasuredLoad> {
  await webhooks?.forget();
  const before = await readUsage(database, pids);
  const result = checked(await load());
  const endedAtMs = Date.now();
  const inTime = (await webhooks?.taken())?.events ?? 0;
  const taken = await webhooks?.untilTaken(result.responded);
  await settle();
  const cost = costPerTap(before, await readUsage(database, pids), result.responded);
  if (!taken) return { ...result, cost, webhooks: undefined };
  const tailSeconds = Math.max(0, taken.lastAtMs - endedAtMs) / 1_000;
  const perSecond = result.responded / (result.responded / result.perSecond + tailSeconds);
  return { ...result, perSecond, cost, webhooks: webhookFigures(taken, inTime) };
}

function webhookFigures({ events, repeated, delaysMs }: TakenWebhooks, inTime: number): WebhookFigures {
  return {
    p50Ms: percentile(delaysMs, 0.5),
    p99Ms: percentile(delaysMs, 0.99),
    shareInTime: inTime / events,
    repeated,
  };
}

interface Plan {
  readonly seconds: number;
  readonly rounds: number;
  readonly rate: number | undefined;
}

async function measure(parts: Parts, { seconds, rounds, rate }: Plan): Promise<Figures> {
  const { gatewayPort, gateways, echoPort, taps, webhooks } = parts;
  await takeTurn();
  await taps.prepare(WARM_UP_SECONDS * MAX_PER_SECOND);
  const warm = checked(await saturate([gatewayPort], CONNECTIONS, WARM_UP_SECONDS, taps.next));
  await saturate([echoPort], CONNECTIONS, WARM_UP_SECONDS, taps.nextEcho);
  await webhooks?.untilTaken(warm.responded);
  const results: { taps: number; echo: number }[] = [];
  const full: MeasuredLoad[] = [];
  const half: MeasuredLoad[] = [];
  await taps.prepare(SOLO_TAPS);
  await webhooks?.forget();
  const soloMs = await solo(gatewayPort, taps);
  await webhooks?.untilTaken(SOLO_TAPS);
  endTurn();
  for (let round = 0; round < rounds; round++) {
    await takeTurn();
    await taps.prepare(seconds * MAX_PER_SECOND);
    const echo = checked(await saturate([echoPort], CONNECTIONS, seconds / 2, taps.nextEcho));
    const run = await measureLoad(parts, () => saturate([gatewayPort], CONNECTIONS, seconds, taps.next));
    full.push(run);
    results.push({ taps: run.perSecond, echo: echo.perSecond });
    await taps.prepare(seconds * MAX_PER_SECOND);
    const calm = await measureLoad(parts, () =>
      sustain([gatewayPort], CONNECTIONS, seconds, rate ?? run.perSecond / 2, taps.next),
    );
    half.push(calm);
    console.log(
      `round ${round + 1}: ${run.perSecond.toFixed(0)} taps/s, echo ${echo.perSecond.toFixed(0)}/s${delayText(run)}`,
    );
    const latenciesMs = { p50: percentile(calm.latenciesMs, 0.5), p99: percentile(calm.latenciesMs, 0.99) };
    const costs = { atFullLoad: run.cost, atHalfLoad: calm.cost };
    endTurn({ tapsPerSecond: run.perSecond, echoPerSecond: echo.perSecond, ...costs, latenciesMs });
  }
  const tapsPerSecond = medianOf(results.map((result) => result.taps));
  const echoPerSecond = medianOf(results.map(({ echo }) => echo));
  return {
    tapsPerSecond,
    echoPerSecond,
    ratio: tapsPerSecond / echoPerSecond,
    p50Ms: medianOf(half.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
    p99Ms: medianOf(half.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
    soloMs,
    atFullLoad: medianCost(full.map(({ cost }) => cost)),
    atHalfLoad: medianCost(half.map(({ cost }) => cost)),
    webhooks: webhooks && { atFullLoad: medianDelays(full), atHalfLoad: medianDelays(half) },
    rounds: results,
    rate,
    gateways,
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
  };
}

function delayText({ webhooks }: MeasuredLoad): string {
  return webhooks ? `, webhooks after ${webhooks.p50Ms.toFixed(0)} ms, p99 ${webhooks.p99Ms.toFixed(0)} ms` : '';
}

function medianDelays(loads: readonly MeasuredLoad[]): WebhookFigures {
  const of = (read: (figures: WebhookFigures) => number) => medianOf(loads.map(({ webhooks }) => read(webhooks!)));
  return {
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    shareInTime: of(({ shareInTime }) => shareInTime),
    repeated: of(({ repeated }) => repeated),
  };
}

/** Responses to phones and masked messages are written after the tap. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

function medianOf(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function medianCost(costs: readonly TapCost[]): TapCost {
  const of = (read: (cost: TapCost) => number) => medianOf(costs.map(read));
  const parts = Object.keys(costs[0]!.microseconds);
  return {
    microseconds: Object.fromEntries(parts.map((part) => [part, of(({ microseconds }) => microseconds[part]!)])),
    statements: costs[0]!.statements === undefined ? undefined : of(({ statements }) => statements!),
    commits: of(({ commits }) => commits),
    walBytes: of(({ walBytes }) => walBytes),
    fullPages: of(({ fullPages }) => fullPages),
    writtenBytes: of(({ writtenBytes }) => writtenBytes),
    writes: of(({ writes }) => writes),
  };
}

/** One tap at a time, alone in the system; the switch responds immediately. */
export async function solo(port: number, taps: TapSource): Promise<number> {
  const latencies: number[] = [];
  for (let tap = 0; tap < SOLO_TAPS; tap++) {
    const one = [taps.next()];
    const { latenciesMs } = await saturate([port], 1, 60, () => one.pop());
    latencies.push(...latenciesMs);
  }
  return percentile(latencies, 0.5);
}

function printTable(figures: Figures, rounds: number): void {
  const minimum = (key: 'taps' | 'echo') => Math.min(...figures.rounds.map((round) => round[key])).toFixed(0);
  console.log(`
${figures.machine}; Postgres, ${figures.gateways} gateway process${figures.gateways === 1 ? '' : 'es'}, switch and generator on it together; ${rounds} interleaved rounds

| | median | minimum |
|---|---|---|
| taps per second | ${figures.tapsPerSecond.toFixed(0)} | ${minimum('taps')} |
| bare Fastify echo per second | ${figures.echoPerSecond.toFixed(0)} | ${minimum('echo')} |
| ratio | 1 / ${(1 / figures.ratio).toFixed(1)} | |
| p50 / p99 at ${figures.rate ?? 'half load'} | ${figures.p50Ms.toFixed(1)} ms / ${figures.p99Ms.toFixed(1)} ms | |
| one tap alone | ${figures.soloMs.toFixed(1)} ms | |

${costTable(figures)}
`);
}

function costTable({ atFullLoad, atHalfLoad, webhooks, rate }: Figures): string {
  const row = (name: string, read: (cost: TapCost) => string) =>
    `| ${name} | ${read(atFullLoad)} | ${read(atHalfLoad)} |`;
  const sum = ({ microseconds }: TapCost) => Object.values(microseconds).reduce((all, each) => all + each, 0);
  return [
    `| of one tap | at full load | at ${rate === undefined ? 'half load' : `${rate} per second`} |`,
    '|---|---|---|',
    row('processor time, all parts', (cost) => `${sum(cost).toFixed(0)} µs`),
    ...Object.keys(atFullLoad.microseconds).map((part) =>
      row(`processor time, ${part}`, ({ microseconds }) => `${microseconds[part]!.toFixed(0)} µs`),
    ),
    row('statements', ({ statements }) => statements?.toFixed(2) ?? 'not counted'),
    row('commits', ({ commits }) => commits.toFixed(3)),
    row(
      'write-ahead log',
      ({ walBytes, fullPages }) => `${walBytes.toFixed(0)} bytes, ${fullPages.toFixed(2)} whole pages`,
    ),
    row(
      'written by the gateway',
      ({ writtenBytes, writes }) => `${writtenBytes.toFixed(0)} bytes in ${writes.toFixed(2)} calls`,
    ),
    ...(webhooks ? [`| webhook | ${webhookCell(webhooks.atFullLoad)} | ${webhookCell(webhooks.atHalfLoad)} |`] : []),
  ].join('\n');
}

function webhookCell({ p50Ms, p99Ms, shareInTime, repeated }: WebhookFigures): string {
  const share = `${(shareInTime * 100).toFixed(0)} % by the end of the load`;
  return `p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${share}, ${repeated} sent again`;
}
