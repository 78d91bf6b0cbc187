import { describe, expect, test } from 'vitest';
import { refuseUnlessApproved } from '../../../src/transactions/afterwards/void.ts';
import { Disposition } from '../../../src/transactions/disposition.ts';
import { TransactionType, VoidState } from '../../../src/transactions/transaction.ts';
import { sampleTransaction } from '../sample-transaction.ts';

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
