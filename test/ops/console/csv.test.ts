import { expect, test } from 'vitest';
import { csvLine } from '../../../src/console/transactions-csv.ts';

test.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  ' =1',
  '\u00a0=1',
  '＝1+1',
])('%j is not a formula to a spreadsheet', (text) => {
  expect(csvLine([text]).replace(/^"/, '')).toMatch(/^'/);
});

test('quotes, commas and line breaks stay within their cell', () => {
  expect(csvLine(['a,b', 'a;=1', 'say "x"', 'two\r\nlines', 'plain', 10, -1, true, null, undefined])).toBe(
    '"a,b","a;=1","say ""x""","two\r\nlines",plain,10,-1,true,,\r\n',
  );
});
