/**
 * Two checkouts side by side: both installations are up at the same time, and take turns of a few seconds. A shared
 * machine is faster in some minutes than in others, by more than most changes are worth; runs one after the other once
 * showed a loss of 60 µs per tap that was not there.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GATEWAYS } from './e2e.ts';
import { percentile } from './http-load.ts';
import type { BenchOptions } from './run.ts';
import type { RoundFigures } from './turns.ts';

const ROUNDS = 6;
const SECONDS = 4;
const END_WITHIN_MS = 60_000;

interface Side {
  readonly name: string;
  readonly child: ChildProcess;
  readonly messages: NodeJS.AsyncIterator<unknown[]>;
  readonly rounds: RoundFigures[];
}

export async function bench({
  against,
  rounds = ROUNDS,
  seconds = SECONDS,
  gateways = GATEWAYS,
  webhooks,
  rate,
}: BenchOptions): Promise<unknown> {
  if (against === undefined) throw new Error('--against FOLDER names the other checkout');
  if (!existsSync(join(against, 'test/bench/turns.ts'))) throw new Error(`${against} is older than this comparison`);
  const options = ['--rounds', rounds, '--seconds', seconds, '--gateways', gateways].map(String);
  if (rate !== undefined) options.push('--rate', String(rate));
  // Without webhooks on both sides if the other checkout is older than their measurement.
  const canHaveWebhooks = readFileSync(join(against, 'test/bench/run.ts'), 'utf8').includes('webhooks:');
  const without = webhooks === 'none' || !canHaveWebhooks ? ['--webhooks', 'none'] : [];
  const sides = [
    startSide('this', '.', [...options, ...without]),
    startSide('other', against, canHaveWebhooks ? [...options, ...without] : options),
  ];
  return playAll(sides, { rounds, gateways });
}

/**
 * Lets both sides play their rounds in turns, and prints the figures of both.
 *
 * @returns the figures of each round
 */
export async function playAll(
  sides: readonly Side[],
  { rounds, gateways }: { readonly rounds: number; readonly gateways: number },
): Promise<unknown> {
  try {
    for (const side of sides) await nextOf(side); // up, and ready to warm up
    for (let turn = 0; turn <= rounds; turn++) for (const side of sides) await playTurn(side, turn < rounds);
    console.log(tableOf(sides, gateways));
    for (const { child } of sides) await ended(child); // each stops its gateways, switches and database
    return sides.map(({ name, rounds }) => ({ name, rounds }));
  } finally {
    for (const { child } of sides) child.kill('SIGTERM');
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await once(child, 'exit', { signal: AbortSignal.timeout(END_WITHIN_MS) });
}

/** @param options further arguments of `e2e` */
export function startSide(name: string, folder: string, options: readonly string[]): Side {
  const args = ['--expose-gc', 'test/bench/run.ts', 'e2e', ...options];
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  const child = spawn(process.execPath, args, { cwd: resolve(folder), stdio: [...stdio] });
  // The iterator keeps what arrives before it is read.
  return { name, child, messages: on(child, 'message', { close: ['exit'] }), rounds: [] };
}

/** The next message of a side. @throws if its process has ended */
async function nextOf({ name, messages }: Side): Promise<{ readonly round?: RoundFigures }> {
  const { value, done } = await messages.next();
  if (done) throw new Error(`${name}: the benchmark ended early`);
  return value[0] as { readonly round?: RoundFigures };
}

/** @param isFollowed whether the side asks for another turn afterwards */
async function playTurn(side: Side, isFollowed: boolean): Promise<void> {
  side.child.send('begin');
  const { round } = await nextOf(side);
  if (isFollowed) await nextOf(side);
  if (!round) return;
  side.rounds.push(round);
  const { gateway, Postgres } = round.atFullLoad.microseconds;
  const cost = `gateway ${gateway!.toFixed(0)} µs, Postgres ${Postgres!.toFixed(0)} µs per tap`;
  console.log(`${side.name}, round ${side.rounds.length}: ${round.tapsPerSecond.toFixed(0)} taps/s, ${cost}`);
}

const ROWS: readonly (readonly [name: string, read: (round: RoundFigures) => number, digits?: number])[] = [
  ['taps per second', (round) => round.tapsPerSecond],
  ['bare Fastify echo per second', (round) => round.echoPerSecond],
  ['processor time of a tap, µs: all parts', ({ atFullLoad }) => sum(atFullLoad.microseconds)],
  ['... gateway', ({ atFullLoad }) => atFullLoad.microseconds.gateway!],
  ['... Postgres', ({ atFullLoad }) => atFullLoad.microseconds.Postgres!],
  ['at half load: all parts', ({ atHalfLoad }) => sum(atHalfLoad.microseconds)],
  ['... gateway', ({ atHalfLoad }) => atHalfLoad.microseconds.gateway!],
  ['... Postgres', ({ atHalfLoad }) => atHalfLoad.microseconds.Postgres!],
  ['... p50, ms', ({ latenciesMs }) => latenciesMs.p50, 1],
  ['... p99, ms', ({ latenciesMs }) => latenciesMs.p99, 1],
  ['write-ahead log of a tap, bytes', ({ atFullLoad }) => atFullLoad.walBytes],
];

function tableOf(sides: readonly Side[], gateways: number): string {
  const cell = ({ rounds }: Side, read: (round: RoundFigures) => number, digits = 0) => {
    const values = rounds.map(read);
    return `${percentile(values, 0.5).toFixed(digits)} (${Math.min(...values).toFixed(digits)})`;
  };
  const names = sides.map(({ name }) => name).join(' | ');
  return [
    `\n${gateways} gateway process${gateways === 1 ? '' : 'es'}; median (minimum) of ${sides[0]!.rounds.length} rounds\n`,
    `| | ${names} |\n|---|---|---|`,
    ...ROWS.map(([name, read, digits]) => `| ${name} | ${sides.map((side) => cell(side, read, digits)).join(' | ')} |`),
  ].join('\n');
}

function sum(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((all, each) => all + each, 0);
}
