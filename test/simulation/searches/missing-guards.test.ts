import { describe, expect, test } from 'vitest';
import { faultsOfHistory } from '../history.ts';

const TIMEOUT_MS = 900_000;

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
