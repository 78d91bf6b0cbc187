/**
 * What the gateway does with three times the taps that it can process if each of them comes on a new connection, as after
 * an outage of a network. The capacity is measured with new connections, too.
 */
import { readFileSync } from 'node:fs';
import { HttpConnection, type HttpEnd } from '../../src/tools/load/connection-pool.ts';
import { Tally } from '../../src/tools/load/tally.ts';
import { CONNECTIONS, GATEWAYS, MAX_PER_SECOND, type Parts, refuseUnsafe, startParts } from './e2e.ts';
import { countOf, endsOf, offerTaps, percentilesOf } from './offer-taps.ts';
import { measurePeak } from './peak.ts';
import { coresUsed } from './processor-time.ts';
import type { BenchOptions } from './run.ts';

const SECONDS = 15;
const TIMES = 3;
const WARM_UP_SECONDS = 10;
const PEAK_SECONDS = 5;
const MAX_STOCK = 60_000;

export async function bench(
  { seconds = SECONDS, gateways = GATEWAYS, rate }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers, { gateways });
  await refuseUnsafe(parts.database);
  const figures = await measure(parts, seconds, rate);
  console.log(JSON.stringify(figures, null, 1));
  return figures;
}

async function measure(parts: Parts, seconds: number, rate?: number) {
  const { gatewayPort: port, taps, pids } = parts;
  await measurePeak(parts, WARM_UP_SECONDS);
  const keptPeak = await measurePeak(parts, PEAK_SECONDS);
  await newConnectionPeak(parts, 2);
  const newPeak = await newConnectionPeak(parts, PEAK_SECONDS);
  const perSecond = rate ?? newPeak * TIMES;
  await taps.prepare(Math.min(MAX_STOCK, Math.ceil(perSecond * 2)));
  const overflows = listenOverflows();
  const used = coresUsed(pids);
  const tally = new Tally();
  const tookSeconds = await offerTaps({ port, perSecond, seconds, taps, tally, isNewEach: true });
  const slice = tally.sum();
  const cores = used();
  const goodput = countOf(slice, 'approved') / tookSeconds;
  const newPeakAfter = await newConnectionPeak(parts, PEAK_SECONDS);
  return {
    gateways: parts.gateways,
    keptPeak: Math.round(keptPeak),
    newPeak: Math.round(newPeak),
    newPeakAfter: Math.round(newPeakAfter),
    offered: Math.round(slice.due / seconds),
    tookSeconds,
    goodput: Math.round(goodput),
    shareOfHigherNewPeak: goodput / Math.max(newPeak, newPeakAfter),
    approved: endsOf(slice, 'approved'),
    refused: endsOf(slice, 'refused'),
    failed: { ...slice.scenarios.other?.outcomes, ...slice.reasons },
    listenOverflows: listenOverflows() - overflows,
    generatorLagMs: percentilesOf(slice.lags),
    cores,
  };
}

/** The capacity if each tap has a connection of its own. */
async function newConnectionPeak({ gatewayPort: port, taps }: Parts, seconds: number): Promise<number> {
  await taps.prepare(Math.min(MAX_STOCK, seconds * MAX_PER_SECOND));
  const endMs = performance.now() + seconds * 1_000;
  let responded = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < endMs) {
        const connection = new HttpConnection({ host: '127.0.0.1', port, isTls: false });
        const end = await new Promise<HttpEnd>((resolve) => connection.send(taps.take(), resolve));
        connection.close();
        if (end.kind === 'responded' && end.status === 200 && performance.now() < endMs) responded++;
      }
    }),
  );
  return responded / seconds;
}

/** Connections that the kernel dropped because a queue of connections to be accepted was full. */
function listenOverflows(): number {
  const [names, values] = readFileSync('/proc/self/net/netstat', 'utf8').split('\n');
  const at = names!.split(' ').indexOf('ListenOverflows');
  return Number(values!.split(' ')[at]);
}
