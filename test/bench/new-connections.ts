/**
 * Whether new connections get a response while all processes of a gateway are saturated by others, for each way in which
 * a group of processes accepts connections.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from '../../src/tools/load/http-connection.ts';
import { GATEWAYS, MOST_PER_SECOND, startParts } from './e2e.ts';
import { percentile, saturate } from './http-load.ts';
import type { BenchOptions } from './run.ts';

/** More than the gateway works on at a time, so that refusals saturate it as well. */
const CONNECTIONS = 1_000;
const SECONDS = 8;
const ROUNDS = 3;
const WARM_UP_SECONDS = 10;
const EVERY_MS = 20;
/** The load continues for so long after the last new connection. */
const REST_MS = 1_000;
const POLICIES = ['rr', 'none'] as const;
type Policy = (typeof POLICIES)[number];

interface Round {
  readonly perSecond: number;
  readonly opened: number;
  readonly latenciesMs: readonly number[];
}

export async function bench(options: BenchOptions): Promise<void> {
  const { json, seconds = SECONDS, rounds = ROUNDS, gateways = GATEWAYS } = options;
  const results: Record<Policy, Round[]> = { rr: [], none: [] };
  for (let round = 0; round < rounds; round++)
    for (const policy of round % 2 === 0 ? POLICIES : POLICIES.toReversed()) {
      const result = await measure(policy, seconds, gateways);
      results[policy].push(result);
      console.log(lineOf(policy, [result]));
    }
  console.log(`
${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; ${gateways} processes, ${CONNECTIONS} connections that send without a pause

| policy | responses per second | new connections with a response | p50 | p99 |
|---|---|---|---|---|
${POLICIES.map((policy) => lineOf(policy, results[policy])).join('\n')}
`);
  if (json) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
}

async function measure(policy: Policy, seconds: number, gateways: number): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-bench-'));
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const settings = { NODE_CLUSTER_SCHED_POLICY: policy };
    const { gatewayPort: port, taps } = await startParts(folder, closers, { gateways, settings });
    await taps.prepare((WARM_UP_SECONDS + seconds) * MOST_PER_SECOND);
    await saturate([port], CONNECTIONS, WARM_UP_SECONDS, taps.next);
    const load = saturate([port], CONNECTIONS, seconds, taps.next);
    await sleep(REST_MS);
    const latenciesMs: number[] = [];
    let opened = 0;
    const untilMs = performance.now() + seconds * 1_000 - 2 * REST_MS;
    while (performance.now() < untilMs) {
      opened++;
      void tapOnce(port, taps.take()).then((ms) => ms !== undefined && latenciesMs.push(ms));
      await sleep(EVERY_MS);
    }
    const { perSecond } = await load;
    return { perSecond, opened, latenciesMs: [...latenciesMs] };
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** @returns the time from the start of the connection to the response */
async function tapOnce(port: number, request: Buffer): Promise<number | undefined> {
  const startedAtMs = performance.now();
  const line = new HttpConnection({ host: '127.0.0.1', port, isTls: false });
  if ((await line.connected()) !== undefined) return undefined;
  const isAnswered = await new Promise((resolve) => line.send(request, ({ kind }) => resolve(kind === 'answered')));
  line.close();
  return isAnswered ? performance.now() - startedAtMs : undefined;
}

function lineOf(policy: Policy, rounds: readonly Round[]): string {
  const latenciesMs = rounds.flatMap((round) => round.latenciesMs);
  const speeds = rounds.map(({ perSecond }) => perSecond.toFixed(0)).join(' / ');
  const shares = rounds.map((round) => `${round.latenciesMs.length} of ${round.opened}`).join(' / ');
  return `| ${policy} | ${speeds} | ${shares} | ${percentile(latenciesMs, 0.5).toFixed(0)} ms | ${percentile(latenciesMs, 0.99).toFixed(0)} ms |`;
}
