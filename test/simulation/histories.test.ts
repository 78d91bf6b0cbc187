import { expect, test } from 'vitest';
import { faultsOfHistory } from './history.ts';

/**
 * Seeds of a run: as many as fit into a test of every commit. `npm run simulate-histories` has many times as many, and
 * finds out whether everything that must occur did. `SIMULATION_SEED=4711` repeats the one that failed.
 */
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 200);
const SEED = process.env.SIMULATION_SEED;
const TIMEOUT_MS = 3_600_000;

async function runHistories(): Promise<void> {
  const seeds = SEED === undefined ? Array.from({ length: HISTORIES }, (_, index) => index + 1) : [Number(SEED)];
  for (const seed of seeds) {
    expect(await faultsOfHistory(seed), `replay it with SIMULATION_SEED=${seed}`).toEqual([]);
  }
}

test(
  'no history of crashes, failures, silence and late responses loses money or takes it twice',
  runHistories,
  TIMEOUT_MS,
);

test('a seed is one history, in every run', async () => {
  for (const seed of [1, 2, 3]) {
    const faults = () => faultsOfHistory(seed, { sabotage: 'forgets reverse jobs' });
    expect(await faults()).toEqual(await faults());
  }
});
