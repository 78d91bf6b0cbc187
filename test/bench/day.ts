/**
 * An ordinary day: what a tap costs at 5 to 100 % of the capacity, with its webhook, beside the plain stack of
 * `plain/gateway.ts` at the same rates. Both have the same generator, simulated switch and receiver of webhooks, and a
 * Postgres of their own, on one machine.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CardDataPublicKey } from '../../schemas/card-data.ts';
import { readConfig } from '../../src/start/config.ts';
import { freePort } from '../support/free-port.ts';
import {
  CONNECTIONS,
  GATEWAYS,
  MAX_PER_SECOND,
  type MeasuredLoad,
  measureLoad,
  medianCost,
  type Parts,
  prepareCountingDatabase,
  refuseUnsafe,
  SOLO_TAPS,
  solo,
  startParts,
  WARM_UP_SECONDS,
} from './e2e.ts';
import { type TapSource, tapSource } from './e2e-taps.ts';
import { checked, percentile, saturate, sustain } from './http-load.ts';
import { startProcess } from './parts.ts';
import type { PlainSettings } from './plain/gateway.ts';
import type { BenchOptions } from './run.ts';
import type { TapCost } from './tap-cost.ts';

const SECONDS = 6;
const ROUNDS = 3;
/** Percent of the capacity. */
const LEVELS = [5, 10, 25, 50, 75];
/** The plain stack is measured at rates up to this share of its own capacity: above it, taps only queue. */
const PLAIN_SHARE = 0.8;
const SCRAPE_EVERY_MS = 5_000;

/** One of the two stacks. */
interface Stack {
  readonly name: string;
  readonly port: number;
  readonly taps: TapSource;
  readonly parts: Pick<Parts, 'database' | 'pids' | 'webhooks'>;
  readonly soloMs: number[];
  /** By percent of the capacity of the gateway; 100 is the stack's own capacity. */
  readonly loads: Map<number, MeasuredLoad[]>;
}

export async function bench(
  { seconds = SECONDS, rounds = ROUNDS, gateways = GATEWAYS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers, { gateways, hasWebhooks: true });
  const gateway: Stack = { ...stackOf('gateway', parts.gatewayPort, parts.taps), parts };
  const plain = await startPlain(folder, closers, parts);
  const stacks = [gateway, plain];
  for (const { parts } of stacks) await refuseUnsafe(parts.database);
  const scraping = setInterval(() => scrape(gateway.port), SCRAPE_EVERY_MS);
  closers.push(() => clearInterval(scraping));
  for (const stack of stacks) await warmUp(stack);
  for (let round = 1; round <= rounds; round++) {
    await playRound(stacks, seconds);
    const [own = 0, other = 0] = stacks.map(({ loads }) => loads.get(100)!.at(-1)!.perSecond);
    console.log(`round ${round}: ${own.toFixed(0)} taps/s, plain stack ${other.toFixed(0)}/s`);
  }
  console.log(describe(stacks, { rounds, gateways }));
  return stacks.map(figuresOf);
}

function stackOf(name: string, port: number, taps: TapSource): Omit<Stack, 'parts'> {
  return { name, port, taps, soloMs: [], loads: new Map() };
}

async function startPlain(folder: string, closers: (() => unknown)[], shared: Parts): Promise<Stack> {
  const own = join(folder, 'plain');
  mkdirSync(own);
  const prepared = await prepareCountingDatabase(readConfig({ TAPWIRE_DATA: own, LOG_LEVEL: 'warn' }));
  closers.push(() => prepared.stop());
  const { seeded, switchPort, webhooks, gateways } = shared;
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const port = await freePort();
  const settings: PlainSettings = {
    port,
    processes: gateways,
    databaseUrl: prepared.url,
    switchPort,
    webhookUrl: webhooks!.url,
    cardKey: privateKey.export({ format: 'jwk' }),
    issuer: seeded.issuer,
  };
  const program = fileURLToPath(new URL('./plain/gateway.ts', import.meta.url));
  const environment = { PLAIN_SETTINGS: JSON.stringify(settings) };
  const { pid } = await startProcess(closers, [program], environment, 'the plain stack is up');
  const cardDataKey = { ...publicKey.export({ format: 'jwk' }), kid: 'plain' } as CardDataPublicKey;
  const postgres = Number(readFileSync(join(own, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    ...stackOf('plain stack', port, await tapSource(seeded, port, 'approve', cardDataKey)),
    parts: { database: prepared.database, pids: { ...shared.pids, gateway: pid, Postgres: postgres }, webhooks },
  };
}

/** As Prometheus does. */
function scrape(port: number): void {
  fetch(`http://127.0.0.1:${port}/metrics`).then(
    (response) => response.arrayBuffer(),
    () => {},
  );
}

async function warmUp({ port, taps, parts }: Stack): Promise<void> {
  await parts.webhooks!.forget();
  await taps.prepare(WARM_UP_SECONDS * MAX_PER_SECOND);
  const warm = checked(await saturate([port], CONNECTIONS, WARM_UP_SECONDS, taps.next));
  await parts.webhooks!.untilTaken(warm.responded);
}

/** One tap at a time, then the capacity, then its parts: each stack after the other. */
async function playRound(stacks: readonly Stack[], seconds: number): Promise<void> {
  for (const { port, taps, parts, soloMs } of stacks) {
    await parts.webhooks!.forget();
    await taps.prepare(SOLO_TAPS);
    soloMs.push(await solo(port, taps));
    await parts.webhooks!.untilTaken(SOLO_TAPS);
  }
  for (const stack of stacks)
    await measure(stack, 100, seconds, () => saturate([stack.port], CONNECTIONS, seconds, stack.taps.next));
  const [capacity = 0, ...others] = stacks.map(({ loads }) => percentile(loads.get(100)!.map(perSecondOf), 0.5));
  for (const level of LEVELS) {
    const rate = (capacity * level) / 100;
    for (const [at, stack] of stacks.entries()) {
      if (at > 0 && rate > others[at - 1]! * PLAIN_SHARE) continue;
      await measure(stack, level, seconds, () => sustain([stack.port], CONNECTIONS, seconds, rate, stack.taps.next));
    }
  }
}

async function measure(
  { taps, parts, loads }: Stack,
  level: number,
  seconds: number,
  load: () => ReturnType<typeof saturate>,
): Promise<void> {
  await taps.prepare(seconds * MAX_PER_SECOND);
  const measured = await measureLoad(parts, load);
  loads.set(level, [...(loads.get(level) ?? []), measured]);
}

function perSecondOf({ perSecond }: MeasuredLoad): number {
  return perSecond;
}

interface LevelFigures {
  readonly perSecond: number;
  readonly cost: TapCost;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly webhookP99Ms: number;
}

/** Medians of the rounds. */
function levelFigures(loads: readonly MeasuredLoad[]): LevelFigures {
  const of = (read: (load: MeasuredLoad) => number) => percentile(loads.map(read), 0.5);
  const latency = (share: number) => of(({ latenciesMs }) => percentile(latenciesMs, share));
  return {
    perSecond: of(perSecondOf),
    cost: medianCost(loads.map(({ cost }) => cost)),
    ...{ p50Ms: latency(0.5), p99Ms: latency(0.99), p999Ms: latency(0.999) },
    webhookP99Ms: of(({ webhooks }) => webhooks!.p99Ms),
  };
}

function figuresOf({ name, soloMs, loads }: Stack) {
  const levels = [...loads].sort(([one], [other]) => one - other).map(([level, all]) => [level, levelFigures(all)]);
  return { name, soloMs: percentile(soloMs, 0.5), levels: Object.fromEntries(levels) as Record<number, LevelFigures> };
}

type Row = readonly [name: string, read: (figures: LevelFigures) => number, digits?: number];

const ROWS: readonly Row[] = [
  ['Taps per second', ({ perSecond }) => perSecond],
  ['Processor time of a tap, µs: all parts', ({ cost }) => sum(Object.values(cost.microseconds))],
  ...['gateway', 'Postgres', 'switch', 'generator', 'receiver'].map(
    (part): Row => [`... ${part}`, ({ cost }) => cost.microseconds[part]!],
  ),
  ['Statements', ({ cost }) => cost.statements!, 2],
  ['Commits', ({ cost }) => cost.commits, 2],
  ['Writes of the gateway', ({ cost }) => cost.writes, 2],
  ['Write-ahead log, bytes', ({ cost }) => cost.walBytes],
  ['Latency, ms: p50', ({ p50Ms }) => p50Ms, 1],
  ['... p99', ({ p99Ms }) => p99Ms, 1],
  ['... p99.9', ({ p999Ms }) => p999Ms, 1],
  ['Delay of a webhook, ms: p99', ({ webhookP99Ms }) => webhookP99Ms, 1],
];

function describe(stacks: readonly Stack[], { rounds, gateways }: { rounds: number; gateways: number }): string {
  const all = stacks.map(figuresOf);
  const columns = all.flatMap(({ name, levels }) =>
    Object.entries(levels).map(([level, figures]) => ({ title: `${name}, ${level} %`, figures })),
  );
  const rows = ROWS.map(([name, read, digits = 0]) => [
    name,
    ...columns.map(({ figures }) => read(figures).toFixed(digits)),
  ]);
  const lines = [['', ...columns.map(({ title }) => title)], columns.map(() => '---').concat('---'), ...rows];
  const alone = all.map(({ name, soloMs }) => `${name} ${soloMs.toFixed(1)} ms`).join(', ');
  return `
${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; ${gateways} processes of each stack, everything on one machine; medians of ${rounds} rounds

${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}

One tap alone: ${alone}
`;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
