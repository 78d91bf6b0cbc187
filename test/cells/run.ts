/**
 * `npm run test:cells`: two cells behind HAProxy under load. First one cell is killed, and the latencies of the other one
 * are compared. Then an acquirer is moved back and forth by commands that are killed at random steps, and the books of
 * both cells, the switches and the phones are compared. Exit code 1 if they differ, 2 if the test could not be run.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { latenciesOf } from '../../src/tools/load/tally.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import type { Tap, Traffic } from '../failover/phones.ts';
import { compareCells } from './cell-books.ts';
import { callMove } from './mover.ts';
import { TwoOwnCells } from './two-own-cells.ts';

const STEPS = [
  ...['checked', 'announced', 'fenced', 'replicating', 'copied', 'held', 'drained', 'closed'],
  ...['gaveUp', 'arrived', 'tookOver', 'signedOn', 'flipped'],
];
/** Half of the calls are killed, so a move takes two on average. */
const KILLED = 0.5;
const WARM_UP_MS = 10_000;
/** errorCode of the interface. */
const DATABASE_ERROR = 201;
const USAGE = `usage: npm run test:cells -- [--moves N] [--rate N] [--seconds N] [--seed N] [--only kill|moves]

  --moves    how often the acquirer is moved (20)
  --rate     taps per second in each cell (20)
  --seconds  how long latencies are measured before and after a cell is killed (30)
  --seed     chooses the steps at which commands are killed (1)
  --only     one of the two parts`;

async function main(): Promise<number> {
  const number = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    options: {
      ...{ moves: number('20'), rate: number('20'), seconds: number('30'), seed: number('1') },
      ...{ only: { type: 'string' }, help: { type: 'boolean' } },
    },
  });
  const [moves, rate, seconds, seed] = [values.moves, values.rate, values.seconds, values.seed].map(Number) as number[];
  if (
    values.help ||
    ![moves, rate, seconds, seed].every((it) => it! >= 0) ||
    ![undefined, 'kill', 'moves'].includes(values.only)
  ) {
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  if (!hasProxy()) {
    console.error('test:cells needs HAProxy: apt-get install haproxy');
    return 2;
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(2));
  const site = await TwoOwnCells.start();
  try {
    const faults: string[] = [];
    if (values.only !== 'moves') faults.push(...(await killOne(site, rate!, seconds!)));
    if (values.only !== 'kill') faults.push(...(await moveOften(site, rate!, moves!, seed!)));
    for (const fault of faults) console.log(`! ${fault}`);
    return faults.length > 0 ? 1 : 0;
  } finally {
    await site.close();
  }
}

function hasProxy(): boolean {
  const found = () => spawnSync('sh', ['-c', 'PATH=$PATH:/usr/sbin command -v haproxy']).status === 0;
  if (found() || process.getuid?.() !== 0) return found();
  console.log('installing haproxy');
  // In a run level without services, invoke-rc.d starts none.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  spawnSync('apt-get', ['update', '-qq'], { env, stdio: 'ignore' });
  spawnSync('apt-get', ['install', '-qq', '-y', '--no-install-recommends', 'haproxy'], { env, stdio: 'ignore' });
  return found();
}

/** The first cell is killed; the taps of the second one continue. */
async function killOne(site: TwoOwnCells, rate: number, seconds: number): Promise<string[]> {
  const [first, second] = site.phones.map((phones) => phones.start(rate)) as [Traffic, Traffic];
  const p99 = async () => {
    second.takeSlice();
    await sleep(seconds * 1_000);
    const latencies = latenciesOf(second.takeSlice());
    return { p50: latencies.percentileMs(0.5) ?? 0, p99: latencies.percentileMs(0.99) ?? 0, taps: latencies.count };
  };
  await sleep(WARM_UP_MS);
  const before = await p99();
  await site.cells[0].kill();
  const after = await p99();
  const taps = [...second.taps];
  await site.cells[0].restart();
  await Promise.all([first.stop(), second.stop()]);
  const line = ({ p50, p99: high, taps: count }: typeof before) =>
    `p50 ${p50.toFixed(1)} ms, p99 ${high.toFixed(1)} ms of ${count} taps`;
  console.log(`cell b, both cells running:  ${line(before)}`);
  console.log(`cell b, cell a killed:       ${line(after)}`);
  console.log(`p99 changed by ${((after.p99 / before.p99 - 1) * 100).toFixed(1)} %`);
  console.log(`taps of cell b: ${reasonsOf(taps)}`);
  const unstored = taps.filter(isUnstored).length;
  const faults = await compareCells({
    ...site,
    ledgerUrl: site.switches.ledgerUrl,
    taps: [...first.taps, ...second.taps],
  });
  return [...faults, ...(unstored > 0 ? [`${unstored} taps of cell b were refused for its database`] : [])];
}

/** Refused by a gateway whose database is unavailable, or whose cell does not serve the acquirer. */
function isUnstored({ status, errorCode }: Tap): boolean {
  return status === 503 && errorCode === DATABASE_ERROR;
}

/** How many taps have which status, with the reason of a refusal. */
function reasonsOf(taps: readonly Tap[]): string {
  const reason = ({ status, errorCode }: Tap) => {
    if (status === 503 && errorCode === undefined) return '503 of HAProxy';
    if (status === 503) return errorCode === DATABASE_ERROR ? '503 not stored' : '503 overloaded';
    return status === undefined ? 'no response' : String(status);
  };
  const counts = Map.groupBy(taps, reason);
  return [...counts]
    .map(([name, those]) => `${those.length} ${name}`)
    .sort()
    .join(', ');
}

async function moveOften(site: TwoOwnCells, rate: number, moves: number, seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const traffic = site.phones.map((phones) => phones.start(rate)) as [Traffic, Traffic];
  const pauses: number[] = [];
  let kills = 0;
  for (let move = 1; move <= moves; move++) {
    const to = move % 2 === 1 ? 'b' : 'a';
    for (;;) {
      const killAt = random.next() < KILLED ? STEPS[Math.floor(random.next() * STEPS.length)] : undefined;
      const { isMoved, steps, output } = await callMove(site.environment, 1, to, killAt);
      const pause = steps.has('held') && steps.has('flipped') ? steps.get('flipped')! - steps.get('held')! : undefined;
      if (pause !== undefined) pauses.push(pause);
      const what = isMoved ? 'moved' : `killed at ${killAt}`;
      console.log(`move ${move} to ${to}: ${what}${pause === undefined ? '' : `, ${pause.toFixed(3)} s without taps`}`);
      if (isMoved) break;
      if (killAt === undefined || !steps.has(killAt)) throw new Error(`the command failed:\n${output}`);
      kills++;
    }
  }
  await Promise.all(traffic.map((each) => each.stop()));
  const taps: Tap[] = traffic.flatMap((each) => [...each.taps]);
  console.log(`${moves} moves, ${kills} commands killed`);
  console.log(`taps of the acquirer that was moved: ${reasonsOf(traffic[0].taps)}`);
  console.log(`taps of the other acquirer: ${reasonsOf(traffic[1].taps)}`);
  pauses.sort((one, other) => one - other);
  if (pauses.length > 0) {
    const median = pauses[pauses.length >> 1]!;
    console.log(
      `time without taps in commands that were not killed: median ${median.toFixed(3)} s, longest ${pauses.at(-1)!.toFixed(3)} s`,
    );
  }
  const faults = await compareCells({ ...site, ledgerUrl: site.switches.ledgerUrl, taps });
  const ofOther = traffic[1].taps.filter(isUnstored).length;
  if (faults.length === 0) console.log('the books of both cells, the switches and the phones agree');
  return [...faults, ...(ofOther > 0 ? [`${ofOther} taps of the acquirer that was not moved were refused`] : [])];
}

process.exit(await main());
