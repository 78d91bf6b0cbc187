import { describe, expect, test } from 'vitest';
import { missingFrom, type Seen } from './coverage.ts';
import { faultsOfHistory } from './history.ts';

/**
 * Seeds of a run: as many as fit into a test of every commit; `.ci/run` has ten times as many.
 * `SIMULATION_HISTORIES=100000` runs more, `SIMULATION_SEED=4711` the one that failed.
 */
const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 1_000);
const SEED = process.env.SIMULATION_SEED;
const TIMEOUT_MS = 3_600_000;

async function runHistories(): Promise<void> {
  const seeds = SEED === undefined ? Array.from({ length: HISTORIES }, (_, index) => index + 1) : [Number(SEED)];
  const seen: Seen = new Map();
  for (const seed of seeds) {
    expect(await faultsOfHistory(seed, { seen }), `replay it with SIMULATION_SEED=${seed}`).toEqual([]);
  }
  if (SEED === undefined) expect(missingFrom(seen)).toEqual([]);
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

describe('a missing guard is found', () => {
  test.each([
    ['no outcome guard'],
    ['no reversal guard'],
    ['forgets reverse jobs'],
    ['takes a reference twice'],
    ['takes two PINs'],
    ['forgets expire-pin jobs'],
    ['reserves too much'],
    ['voids what was refunded'],
    ['keeps reservations'],
    ['gives STANs out twice'],
  ] as const)(
    '%s',
    async (sabotage) => {
      let found: string[] = [];
      for (let seed = 1; seed <= 1_000 && found.length === 0; seed++) found = await faultsOfHistory(seed, { sabotage });
      expect(found).not.toEqual([]);
    },
    TIMEOUT_MS,
  );
});
