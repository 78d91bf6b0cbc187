import { expect, test } from 'vitest';
import { CASES } from '../explore/cases.ts';
import { exploreCase } from '../explore/explore-case.ts';
import { POLICIES } from '../explore/policies.ts';

/** Half a minute of a processor: `explore.test.ts` is the short form. `npm run explore` goes deeper. */
const DEPTHS: Readonly<Record<string, number>> = { 'sale and void': 5 };
const LEAST_DEPTH = 4;
const TIMEOUT_MS = 900_000;

test.each(CASES.map(({ name }) => name))(
  '%s: no order of deliveries, losses, duplicates, timeouts and crashes violates a rule',
  async (name) => {
    const depth = DEPTHS[name] ?? LEAST_DEPTH;
    const order = { name, depth, mostFaults: 1, mostViolations: 1, policies: POLICIES };
    const { violations, isComplete, states } = await exploreCase({ ...order, seconds: TIMEOUT_MS / 1_000 });
    expect(violations.map(({ history, faults }) => [...history, ...faults])).toEqual([]);
    expect(isComplete).toBe(true);
    expect(states).toBeGreaterThan(100);
  },
  TIMEOUT_MS,
);
