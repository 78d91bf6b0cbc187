import { expect, test } from 'vitest';
import { exploreCase } from '../explore/explore-case.ts';
import { HONEST_CASES } from '../honest/honest-cases.ts';

/** Some seconds for all cases, on a machine that does nothing else. `npm run explore` goes deeper. */
const DEPTHS: Readonly<Record<string, number>> = { 'one sale': 4, 'a link': 3, 'two acquirers': 3 };
const LEAST_DEPTH = 2;
const TIMEOUT_MS = 600_000;

test.each(HONEST_CASES.map(({ name }) => name))(
  '%s: its books agree with what the clients got',
  async (name) => {
    const depth = DEPTHS[name.split(', ')[0]!] ?? LEAST_DEPTH;
    const order = { name, depth, mostFaults: 0, mostViolations: 1, policies: [], seconds: TIMEOUT_MS / 1_000 };
    const { violations, isComplete } = await exploreCase(order);
    expect(violations.map(({ history, faults }) => [...history, ...faults])).toEqual([]);
    expect(isComplete).toBe(true);
  },
  TIMEOUT_MS,
);
