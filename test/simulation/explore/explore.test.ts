import { expect, test } from 'vitest';
import { CASES } from './cases.ts';
import { exploreCase } from './explore-case.ts';

/** Takes seconds on an idle machine. `npm run explore` searches deeper. */
const DEPTHS: Readonly<Record<string, number>> = { sale: 4, 'sale and void': 4 };
const LEAST_DEPTH = 3;
const TIMEOUT_MS = 600_000;

test.each(CASES.map(({ name }) => name))(
  '%s: no order of deliveries, losses, duplicates, timeouts and crashes violates a rule',
  async (name) => {
    const depth = DEPTHS[name] ?? LEAST_DEPTH;
    const order = { name, depth, mostFaults: 1, mostViolations: 1, manners: ['strict', 'obliging', 'silent'] } as const;
    const { violations, isComplete, states } = await exploreCase({ ...order, seconds: TIMEOUT_MS / 1_000 });
    expect(violations.map(({ history, faults }) => [...history, ...faults])).toEqual([]);
    expect(isComplete).toBe(true);
    expect(states).toBeGreaterThan(100);
  },
  TIMEOUT_MS,
);
