import { describe, expect, test } from 'vitest';
import { CASES } from '../explore/cases.ts';
import { compareSearches } from '../explore/compare-searches.ts';
import type { Sabotage } from '../memory-store.ts';

const TIMEOUT_MS = 900_000;

describe('the reduction finds what the whole search finds', () => {
  test.each(CASES.map((explored) => [explored.name, explored] as const))(
    '%s: the same outcomes, and no violation',
    async (_name, explored) => {
      const { missed, added, faults, states } = await compareSearches(explored, { depth: 3, mostFaults: 1 });
      expect({ missed, added, faults }).toEqual({ missed: [], added: [], faults: [] });
      expect(states.reduced).toBeLessThan(states.whole);
    },
    TIMEOUT_MS,
  );

  test.each<[Sabotage, string]>([
    ['no outcome guard', 'sale with PIN'],
    ['no reversal guard', 'sale and refund'],
    ['forgets reverse jobs', 'sale and void'],
    ['takes a reference twice', 'sale'],
    ['forgets expire-pin jobs', 'sale with PIN'],
    ['reserves too much', 'sale and two refunds'],
    ['voids what was refunded', 'sale and refund'],
    ['keeps reservations', 'sale and two refunds'],
  ])(
    'a database that %s (%s): the same violations and outcomes',
    async (sabotage, name) => {
      const explored = CASES.find((each) => each.name === name)!;
      const { missed, added, faults } = await compareSearches(explored, { depth: 3, mostFaults: 1, sabotage });
      expect({ missed, added }).toEqual({ missed: [], added: [] });
      expect(faults).not.toEqual([]);
    },
    TIMEOUT_MS,
  );
});
