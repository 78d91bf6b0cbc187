import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { scenarioOf } from '../../src/tools/simulator/scenarios.ts';

const README = readFileSync(new URL('../../processors/README.md', import.meta.url), 'utf8');

/** The amounts in the first column of the table of scenarios. */
const AMOUNTS = [...README.matchAll(/^\| (.+) \| (?:approves|requests|responds)/gm)].flatMap((row) =>
  row[1]!.split(', '),
);

/** Whether the amount means more than "the last two digits are the response code". */
function isSpecific(amountMinor: number): boolean {
  const scenario = scenarioOf(amountMinor);
  return scenario.kind !== 'response' || scenario.responseCode !== String(amountMinor % 100).padStart(2, '0');
}

test('each behaviour selected by the last two digits has a row in processors/README.md, and nothing else has one', () => {
  const cents = Array.from({ length: 100 }, (_, each) => each).filter((each) => isSpecific(700_00 + each));
  const rows = cents.map((each) => `x.${String(each).padStart(2, '0')}`);
  expect(AMOUNTS.filter((amount) => /^x\.\d\d$/.test(amount)).sort()).toEqual(rows);
});

test('the amounts with their own row there have a specific meaning', () => {
  const fixed = AMOUNTS.filter((amount) => /^\d+\.\d\d$/.test(amount)).map((amount) =>
    Math.round(Number(amount) * 100),
  );
  expect(fixed.map(scenarioOf).map(({ kind }) => kind)).toEqual(['pin', 'slow', 'slow', 'slow', 'outage']);
});
