import { expect, test } from 'vitest';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { parsePlan, selectCases } from '../../../src/tools/certify/plan.ts';
import { readyPlan } from '../../../src/tools/certify/ready-plan.ts';

const TAP = "do: { tap: { amount: '10.00' } }";
const planOf = (...cases: string[]) =>
  `name: P\ntype: type-1\ncases:\n${cases.map((each) => `  - ${each}\n`).join('')}`;
const sale = (number: number) => `{ number: ${number}, title: Sale, ${TAP} }`;

test.each([
  ['an unknown key', `{ number: 7, title: A, ${TAP}, respones: {} }`, /plan\.yaml:4: case 7: .*respones/],
  [
    'a number as an amount',
    '{ number: 7, title: A, do: { tap: { amount: 10.00 } } }',
    /:4: case 7, do: expected one of/,
  ],
  ['a case without a number', `{ title: A, ${TAP} }`, /:4: entry 1 of cases, number/],
  ['an unquoted expectation', `{ number: 7, title: A, ${TAP}, response: { '39': 51 } }`, /:4: case 7, response\.39/],
  ['a broken pattern', `{ number: 7, title: A, ${TAP}, response: { '39': { pattern: '(' } } }`, /case 7, response\.39/],
  [
    'a refund of itself',
    "{ number: 7, title: A, do: { refund: { of: 7, amount: '1.00' } } }",
    /case 7 is not an earlier tap/,
  ],
  [
    'a missing case',
    '{ number: 7, title: A, do: { void: { of: 6 } } }',
    /refers to case 6, which does not come before it/,
  ],
])('%s is refused with its line, case and field', (_, text, message) => {
  expect(() => parsePlan(planOf(text), 'plan.yaml')).toThrow(message);
});

test('references cannot form a circle, and no number is used twice', () => {
  const refersTo = (number: number, other: number) =>
    `{ number: ${number}, title: A, ${TAP}, request: { '11': { sameAs: { case: ${other}, message: request, field: '11' } } } }`;
  expect(() => parsePlan(planOf(refersTo(1, 2), refersTo(2, 1)), 'plan.yaml')).toThrow(/case 1.*case 2/);
  expect(() => parsePlan(planOf(sale(1), sale(1)), 'plan.yaml')).toThrow(/:5: case 1.*another case has this number/);
});

test('a plan of ten thousand cases, a huge file and a bomb of aliases are refused', () => {
  const many = planOf(...Array.from({ length: 10_000 }, (_, index) => sale(index + 1)));
  expect(() => parsePlan(many, 'plan.yaml')).toThrow(/at most 2000 cases/);
  expect(() => parsePlan(`name: ${'x'.repeat(5 * 2 ** 20)}`, 'plan.yaml')).toThrow(/at most 4 MB/);
  const levels = Array.from(
    { length: 12 },
    (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(',')}]`,
  );
  expect(() => parsePlan(['a0: &a0 [x]', ...levels].join('\n'), 'plan.yaml')).toThrow(/too many aliases/);
  expect(() => parsePlan('cases: [\n', 'plan.yaml')).toThrow(/plan\.yaml:\d+: /);
});

test('--only selects ranges, and the sales that they need', () => {
  const refund = "{ number: 5, title: R, do: { refund: { of: 2, amount: '1.00' } } }";
  const plan = parsePlan(planOf(sale(1), sale(2), sale(3), sale(4), refund), 'plan.yaml');
  const numbers = (only: string) => selectCases(plan, only).map(({ number }) => number);
  expect(numbers('5')).toEqual([2, 5]);
  expect(numbers('1,3-4')).toEqual([1, 3, 4]);
  expect(() => numbers('9')).toThrow(/--only 9/);
  expect(() => numbers('1,x')).toThrow(/--only x/);
});

test('every type has a ready plan of at least 60 cases', async () => {
  for (const processor of (await loadProcessors()).values())
    expect(parsePlan(readyPlan(processor), processor.type).cases.length).toBeGreaterThanOrEqual(60);
});
