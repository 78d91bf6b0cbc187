import { describe, expect, test } from 'vitest';
import { refusedVoidStep, refuseUnlessApproved } from '../../../src/transactions/afterwards/void.ts';
import { Disposition } from '../../../src/transactions/disposition.ts';
import { ReversalState, TransactionType, VoidState } from '../../../src/transactions/transaction.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const asked = sampleTransaction({
  disposition: Disposition.Approved,
  voidState: VoidState.asked,
  reversalState: ReversalState.sent,
  reversalAttempt: 1,
});
const sent = { ...asked, reversalAttempt: 2 };
const attempt = { number: 2, nextJob: '33333333-2222-4333-8444-555555555555', nowMs: SENT_AT_MS + 10_000 };

describe('a void ends as refused', () => {
  test('when its repeat is refused, too: nothing of the reversal is left', () => {
    expect(refusedVoidStep(asked, sent, attempt, 'refused')).toEqual({
      transaction: sent,
      to: {
        reversalState: ReversalState.none,
        reversalAttempt: 0,
        disposition: Disposition.Approved,
        needsReview: false,
      },
      told: [{ reversal: 'refused', attempt: 2 }],
      nowMs: attempt.nowMs,
      enqueue: [],
      remove: [attempt.nextJob],
    });
  });

  test('when the sale could not be located twice', () => {
    const confirming = { ...asked, reversalState: ReversalState.confirming };
    expect(refusedVoidStep(confirming, sent, attempt, 'unableToLocate')).toBeDefined();
  });
});

describe('a void goes on', () => {
  test.each(['refused', 'unableToLocate'] as const)('after a first %s: it may be a switch in trouble', (answer) => {
    expect(refusedVoidStep(asked, sent, { ...attempt, number: 1 }, answer)).toBeUndefined();
  });

  test('when the sale could not be located once', () => {
    expect(refusedVoidStep(asked, sent, attempt, 'unableToLocate')).toBeUndefined();
  });

  test('when it is acknowledged', () => {
    expect(refusedVoidStep(asked, sent, attempt, 'acknowledged')).toBeUndefined();
  });
});

test.each([
  ['no void at all', null],
  ['a void that is done', VoidState.done],
])('a refusal ends no reversal of %s', (_what, voidState) => {
  expect(refusedVoidStep({ ...asked, voidState }, sent, attempt, 'refused')).toBeUndefined();
});

describe('only an approved sale is given back', () => {
  const sale = sampleTransaction({ disposition: Disposition.Approved });

  test('a tap that was approved is one', () => {
    expect(() => refuseUnlessApproved(sale)).not.toThrow();
  });

  test.each([
    ['declined', { disposition: Disposition.Declined }, 134],
    ['declined by the card', { disposition: Disposition.DeclinedOffline }, 134],
    ['never sent', { disposition: Disposition.UnableToGoOnline }, 134],
    ['uncertain', { disposition: Disposition.Indeterminate }, 134],
    ['without an outcome', { disposition: null }, 134],
    ['a refund', { type: TransactionType.Refund }, 134],
    ['a void', { type: TransactionType.Void }, 134],
    ['voided', { disposition: Disposition.Voided }, 213],
    ['about to be voided', { voidState: VoidState.asked }, 213],
  ])('what is %s is none', (_what, changes, errorCode) => {
    expect(() => refuseUnlessApproved({ ...sale, ...changes })).toThrow(
      expect.objectContaining({ status: 409, errorCode }),
    );
  });
});
