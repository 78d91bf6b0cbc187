import { expect, test } from 'vitest';
import { Ledger } from '../../src/tools/simulator/ledger.ts';
import { sale } from './sale.ts';

test('an approved amount is booked until it is reversed, once', () => {
  const ledger = new Ledger();
  ledger.approve(sale);
  expect(ledger.totals()).toMatchObject({ approved: 1, approvedMinor: 1_000, reversed: 0 });
  expect(ledger.reverse('type-1', sale.key, 'T1', 5)).toBe('reversed');
  expect(ledger.reverse('type-1', sale.key, 'T1', 6)).toBe('alreadyReversed');
  expect(ledger.totals()).toMatchObject({ approved: 0, reversed: 1, reversedMinor: 1_000 });
  expect([...ledger.entries()]).toMatchObject([{ state: 'reversed', reversedAtMs: 5, reversals: 2 }]);
});

test('a reversal of something unknown is recorded separately', () => {
  const ledger = new Ledger();
  ledger.approve(sale);
  expect(ledger.reverse('type-1', 'another', 'T1', 5)).toBe('notFound');
  expect(ledger.reverse('type-2', sale.key, 'T1', 5)).toBe('notFound');
  expect(ledger.totals()).toMatchObject({ approved: 1, orphanReversals: 2 });
  expect(ledger.orphans).toHaveLength(2);
});

test('a reversal without a response moves no money', () => {
  const ledger = new Ledger();
  ledger.approve(sale, { deafFor: 2 });
  expect(ledger.reverse('type-1', sale.key, 'T1', 5)).toBe('ignored');
  expect(ledger.reverse('type-1', sale.key, 'T1', 6)).toBe('ignored');
  expect(ledger.totals()).toMatchObject({ approved: 1 });
  expect(ledger.reverse('type-1', sale.key, 'T1', 7)).toBe('reversed');
});
