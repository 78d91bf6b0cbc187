import { expect, test } from 'vitest';
import { outdatedDocuments } from '../../src/cli/docs.ts';
import { withSections } from '../../src/tools/docs/tables.ts';
import { transactionStates } from '../../src/tools/docs/transaction-states.ts';

test('every document generated from the code is up to date (`npm run docs` updates it)', async () => {
  expect((await outdatedDocuments()).map(({ path }) => path)).toEqual([]);
});

test('a section is replaced, and the surrounding text is unchanged', () => {
  const before = '# Title\n\n<!-- one -->\nold\n<!-- /one -->\n\nby hand\n';
  expect(withSections(before, { one: 'new $&' })).toBe(
    '# Title\n\n<!-- one -->\n\nnew $&\n\n<!-- /one -->\n\nby hand\n',
  );
});

test('a section without a place, and a place without a section, are both reported', () => {
  expect(() => withSections('', { one: '' })).toThrow('no place for the section one');
  expect(() => withSections('<!-- one -->\n<!-- /one -->', {})).toThrow('The section one has no text');
});

test('the states are documented with their prose, their diagram and every declared transition', () => {
  const { status, 'pin-step': pinStep } = transactionStates();
  expect(status).toContain('The status is the position of a transaction');
  expect(status).toContain('  [*] --> RequestReceived\n');
  expect(status).toContain('| `AcknowledgedByPhone` | nothing | 10, may rest |');
  expect(pinStep).toContain('| `awaiting` | `submitted`, `expired` |');
});
