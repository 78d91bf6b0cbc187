import { expect, test } from 'vitest';
import { scenarioOf } from '../../src/tools/simulator/scenarios.ts';

test.each([
  [10_00, { kind: 'response', responseCode: '00' }],
  [0, { kind: 'response', responseCode: '00' }],
  [10_51, { kind: 'response', responseCode: '51' }],
  [10_91, { kind: 'response', responseCode: '91' }],
  [10_05, { kind: 'response', responseCode: '05' }],
  [50_05, { kind: 'pin' }],
  [7_65, { kind: 'pin' }],
  [7_69, { kind: 'silence' }],
  [7_68, { kind: 'late' }],
  [10_10, { kind: 'slow', afterMs: 10_000 }],
  [20_20, { kind: 'slow', afterMs: 20_000 }],
  [30_30, { kind: 'slow', afterMs: 30_000 }],
  [7_97, { kind: 'garbage' }],
  [7_98, { kind: 'disconnect' }],
  [7_99, { kind: 'duplicate' }],
  [7_89, { kind: 'deafToReversals', times: 2 }],
  [7_88, { kind: 'otherAmount' }],
  [7_87, { kind: 'otherStan' }],
  [7_86, { kind: 'badMac' }],
  [7_85, { kind: 'partial' }],
  [503_00, { kind: 'outage', forMs: 10_000 }],
])('an amount of %i minor units is %o', (amountMinor, scenario) => {
  expect(scenarioOf(amountMinor)).toEqual(scenario);
});

test('a specific amount has priority over its last two digits, which keep their meaning for other amounts', () => {
  expect(scenarioOf(11_10)).toEqual({ kind: 'response', responseCode: '10' });
  expect(scenarioOf(51_05)).toEqual({ kind: 'response', responseCode: '05' });
  expect(scenarioOf(504_00)).toEqual({ kind: 'response', responseCode: '00' });
});
