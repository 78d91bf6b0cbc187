/**
 * How many taps a second one worker of `tapwire load` can make and send, each sealed individually, to a server that
 * responds immediately. Measured as the processor time of a tap, which other programs on the machine do not affect, and
 * with a rate above its limit.
 */

import { fileURLToPath } from 'node:url';
import { parseArrivals } from '../../src/tools/load/arrival-plan.ts';
import { percentilesOf } from '../../src/tools/load/load-result.ts';
import { LoadRun } from '../../src/tools/load/load-run.ts';
import { processUsage } from '../../src/tools/load/machine-watch.ts';
import { latenciesOf } from '../../src/tools/load/tally.ts';
import { createTokenIssuer } from '../support/token-issuer.ts';
import { startProcess } from './parts.ts';
import type { BenchOptions } from './run.ts';

/** Far below its limit, and far above. */
const RATES = [1_000, 20_000];
const SECONDS = 6;
const PHONES = 1_000;

interface Figures {
  readonly due: number;
  readonly sentPerSecond: number;
  /** Of the worker, for each tap. */
  readonly microsecondsPerTap: number;
  readonly p99Ms: number | null;
}

export async function bench({ seconds = SECONDS }: BenchOptions, closers: (() => unknown)[]): Promise<unknown> {
  const entry = fileURLToPath(new URL('./approving-server.ts', import.meta.url));
  const { line } = await startProcess(closers, [entry], {}, '');
  const figures: Figures[] = [];
  for (const rate of RATES) figures.push(await measure(`http://127.0.0.1:${line}`, rate, seconds));
  console.log('\n| taps due a second | sent a second | processor time of a tap | p99 |\n|---|---|---|---|');
  for (const { due, sentPerSecond, microsecondsPerTap, p99Ms } of figures)
    console.log(`| ${due} | ${sentPerSecond.toFixed(0)} | ${microsecondsPerTap.toFixed(0)} µs | ${p99Ms} ms |`);
  return figures;
}

async function measure(url: string, due: number, seconds: number): Promise<Figures> {
  const issuer = createTokenIssuer('https://bench.example');
  const merchant = { id: '1', name: 'Bench', mcc: '5411', xTid: 'T1', user: 'till' };
  const run = new LoadRun(
    {
      url,
      profile: { issuer, merchants: [merchant] },
      arrivals: parseArrivals('constant', due, seconds),
      seconds,
      mix: { approve: 1 },
      seed: 1,
      workers: 1,
      phones: PHONES,
      connections: { kept: 64, most: 4_096, isNewEach: false },
      responseWithinMs: 60_000,
    },
    () => {},
  );
  try {
    await run.ready();
    const worker = { worker: run.pids[0]! };
    const before = processUsage(worker).worker!.seconds;
    const startedAtMs = performance.now();
    const { total } = await run.run();
    const elapsed = (performance.now() - startedAtMs) / 1_000;
    const used = processUsage(worker).worker!.seconds - before;
    const { p99Ms } = percentilesOf(latenciesOf(total));
    return { due, sentPerSecond: total.sent / elapsed, microsecondsPerTap: (used * 1e6) / total.sent, p99Ms };
  } finally {
    run.close();
  }
}
