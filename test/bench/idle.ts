/** What an installation costs while nothing is to be done: processor time, statements and log per second. */
import { GATEWAYS, startParts } from './e2e.ts';
import type { BenchOptions } from './run.ts';
import { forgetStatements, labelOf, readStatements, type Statement } from './statement-cost.ts';
import { costPerTap, readUsage, type TapCost } from './tap-cost.ts';

const SECONDS = 60;
/** After the start, code is compiled and caches are filled for so long. */
const SETTLE_SECONDS = 20;
const STATEMENTS = 25;

export async function bench(
  { seconds = SECONDS, gateways = GATEWAYS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const { database, pids } = await startParts(folder, closers, { gateways, hasWebhooks: true });
  await pass(SETTLE_SECONDS);
  await forgetStatements(database);
  const before = await readUsage(database, pids);
  await pass(seconds);
  const perSecond = costPerTap(before, await readUsage(database, pids), seconds);
  const statements = await readStatements(database);
  print(perSecond, statements, { seconds, gateways });
  return { perSecond, statements, seconds, gateways };
}

function pass(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
}

function print(cost: TapCost, statements: readonly Statement[], { seconds, gateways }: Run): void {
  const ms = (part: string) => `${(cost.microseconds[part]! / 1_000).toFixed(1)} ms`;
  const rows = statements.slice(0, STATEMENTS).map(({ calls, microseconds, walBytes, text }) => {
    const per = (value: number, digits: number) => (value / seconds).toFixed(digits);
    return `| ${labelOf(text)} | ${per(calls, 2)} | ${per(microseconds, 0)} | ${per(walBytes, 0)} |`;
  });
  console.log(`
${gateways} gateway processes without work for ${seconds} s, in each second:

| | |
|---|---|
| Processor time of the gateway | ${ms('gateway')} |
| ... of Postgres | ${ms('Postgres')} |
| Statements, commits | ${cost.statements?.toFixed(1)}, ${cost.commits.toFixed(1)} |
| Write-ahead log | ${cost.walBytes.toFixed(0)} bytes |
| Writes of the gateway | ${cost.writes.toFixed(1)} |

| Statement | calls | µs | bytes of log |
|---|---|---|---|
${rows.join('\n')}
`);
}

interface Run {
  readonly seconds: number;
  readonly gateways: number;
}
