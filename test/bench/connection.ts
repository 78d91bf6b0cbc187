/**
 * Round trips over one loopback connection: the pool with the codec of type 1 in this process, an echo server in
 * another. Every request is encoded, sent, echoed, decoded and matched, as with a real switch.
 * Results of profiling (2 cores, Node 24): at 256 in flight and above the codec takes most of the time, then the
 * kernel's write; the pool itself takes less than 1 µs. A `Map` of the waiting requests was the only expensive part
 * (see `pending-requests.ts`). With 1 in flight the scheduler decides: a bare socket is no faster.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { IsoMessage, Processor } from '#processor-kit';
import typeOne from '../../processors/type-1/index.ts';
import { switchProtocol } from '../../src/kits/processor-kit/switch-protocol.ts';
import { openPool, type Pool } from '../../src/switching/connection/pool.ts';
import type { BenchOptions } from './run.ts';

export interface ConnectionFigure {
  readonly message: string;
  readonly inFlight: number;
  readonly roundTripsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const ECHO = '0800 echo';
const IN_FLIGHT = [1, 16, 256, 4_096] as const;
const TARGET_PER_SECOND = 100_000;
const TARGET_FROM_IN_FLIGHT = 256;
const STANS = 1_000_000;
/**
 * Every n-th round trip is timed individually, and checks for the end of the round, so that reading the clock is not
 * what is measured.
 */
const TIMED_EVERY = 16;
const RESPONSE_WITHIN_MS = 10_000;

export async function bench({ rounds = 5, seconds = 0.4 }: BenchOptions): Promise<unknown> {
  const server = fork(new URL('connection-echo-server.ts', import.meta.url));
  const pool = await openBenchPool(server);
  const measured = new Map<string, ConnectionFigure[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const [message, template] of Object.entries(templates())) {
      for (const inFlight of IN_FLIGHT) {
        const figure = { message, inFlight, ...(await load(pool, template, inFlight, seconds * 1_000)) };
        const key = `${message} ${inFlight}`;
        // The first round warms up.
        if (round > 0) measured.set(key, [...(measured.get(key) ?? []), figure]);
      }
    }
  }
  pool.destroy();
  server.disconnect();
  const results = [...measured.values()].map(middle);
  print(results);
  return { results };
}

async function openBenchPool(server: ChildProcess): Promise<Pool<IsoMessage>> {
  const [port] = (await once(server, 'message')) as [number];
  const config = { ...typeOne.exampleConfig, signOn: false };
  const protocol = switchProtocol(typeOne as unknown as Processor, config, {
    nextStan: () => '999999',
    nowMs: Date.now,
  });
  const { promise: whenReady, resolve } = Promise.withResolvers<void>();
  const pool = openPool<IsoMessage>({
    name: 'bench',
    protocol,
    addresses: [{ host: '127.0.0.1', port }],
    limits: { inFlight: Math.max(...IN_FLIGHT) },
    log: { info() {}, warn: console.warn },
    onStateChange: ({ to }) => to === 'ready' && resolve(),
  });
  await whenReady;
  return pool;
}

/** The two messages: a network echo, and the tap of the processor's samples with its chip data. */
function templates(): Record<string, IsoMessage> {
  const sample = (name: string) => typeOne.samples.find((candidate) => candidate.name === name)!.message;
  const echo = typeOne.networkRequest('echo', { stan: '000001', sentAtMs: Date.now() }, typeOne.exampleConfig);
  return { [ECHO]: echo as IsoMessage, '0200 authorization': sample('tap') };
}

type Load = Omit<ConnectionFigure, 'message' | 'inFlight'>;

/** Keeps a constant number of requests in flight for a while. Each has its own message and changes its STAN. */
async function load(pool: Pool<IsoMessage>, template: IsoMessage, inFlight: number, forMs: number): Promise<Load> {
  const timesMs: number[] = [];
  const startedAtMs = performance.now();
  const endMs = startedAtMs + forMs;
  let count = 0;
  const caller = async (): Promise<void> => {
    const message = { ...template };
    for (;;) {
      const number = count++;
      message.stan = String(number % STANS).padStart(6, '0');
      const isTimed = number % TIMED_EVERY === 0;
      const sentMs = isTimed ? performance.now() : 0;
      const slot = pool.takeSlot();
      if (slot === undefined) throw new Error('the pool has no slot');
      const { kind } = await slot.request(message, { deadlineAtMs: endMs + RESPONSE_WITHIN_MS });
      if (kind !== 'responded') throw new Error(`the echo server's response is ${kind}`);
      if (!isTimed) continue;
      const nowMs = performance.now();
      timesMs.push(nowMs - sentMs);
      if (nowMs > endMs) return;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const tookSeconds = (performance.now() - startedAtMs) / 1_000;
  timesMs.sort((a, b) => a - b);
  const quantile = (share: number) => timesMs[Math.floor((timesMs.length - 1) * share)]!;
  return { roundTripsPerSecond: count / tookSeconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

/** The median round of each figure. */
function middle(figures: readonly ConnectionFigure[]): ConnectionFigure {
  const median = (of: (figure: ConnectionFigure) => number): number => {
    const values = figures.map(of).sort((a, b) => a - b);
    return values[values.length >> 1]!;
  };
  return {
    message: figures[0]!.message,
    inFlight: figures[0]!.inFlight,
    roundTripsPerSecond: Math.round(median((figure) => figure.roundTripsPerSecond)),
    p50Ms: Number(median((figure) => figure.p50Ms).toFixed(3)),
    p99Ms: Number(median((figure) => figure.p99Ms).toFixed(3)),
  };
}

function print(results: readonly ConnectionFigure[]): void {
  console.log('\nRound trips over one loopback connection, median of the rounds');
  console.table(results);
  const judged = results.filter(({ message, inFlight }) => message === ECHO && inFlight >= TARGET_FROM_IN_FLIGHT);
  const slowest = Math.min(...judged.map(({ roundTripsPerSecond }) => roundTripsPerSecond));
  const verdict = slowest >= TARGET_PER_SECOND ? 'reached' : 'missed';
  console.log(
    `target: ${TARGET_PER_SECOND}/s at ${TARGET_FROM_IN_FLIGHT} in flight and above: ${verdict} (${slowest}/s)`,
  );
}
