import { expect, test } from 'vitest';
import { TRIGGER_CASES } from '../../src/cli/trigger.ts';
import { scenarioOf } from '../../src/tools/simulator/scenarios.ts';

test('each case has the amount by which simulated switches behave in its way', () => {
  const kinds = Object.entries(TRIGGER_CASES).map(([name, { amount }]) => {
    const scenario = scenarioOf(Math.round(Number(amount) * 100));
    return [name, scenario.kind === 'response' ? scenario.responseCode : scenario.kind];
  });
  expect(Object.fromEntries(kinds)).toEqual({
    ...{ approved: '00', declined: '51', pin: 'pin', 'wrong-pin': 'pin', duplicate: 'duplicate' },
    ...{ timeout: 'silence', late: 'late', disconnect: 'disconnect', void: '00', refund: '00' },
  });
});
