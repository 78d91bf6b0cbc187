import { afterAll, beforeAll, expect, test } from 'vitest';
import { findingsOf } from '../../../support/cell-books.ts';
import { TwoCells } from '../../../support/cells.ts';
import { outcomeOf } from '../../../support/responses.ts';

let cells: TwoCells;
beforeAll(async () => {
  cells = await TwoCells.start({ role: 'api', maxSessions: 2 });
});
afterAll(() => cells.stop());

const tapAt = (url: string) => cells.installation.phoneAt(url).tap({ amount: '10.00', currency: 'ZAR' });

test('an acquirer moves between cells whose api processes hand their taps over to workers', async () => {
  const { a, b } = cells.gateways;
  expect(outcomeOf(await tapAt(a.url)).type).toBe('Approved');
  await cells.move('a', 'b');
  expect(outcomeOf(await tapAt(b.url)).type).toBe('Approved');
  expect((await tapAt(a.url)).status).toBe(503);
  await cells.move('b', 'a');
  expect(outcomeOf(await tapAt(a.url)).type).toBe('Approved');
  for (const { check, violations } of await findingsOf(cells)) expect([check, violations]).toEqual([check, []]);
});
