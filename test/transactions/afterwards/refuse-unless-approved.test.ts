import { describe, expect, test } from 'vitest';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { TransactionType, VoidState } from '../../../src/payments/model/transaction.ts';
import { refuseUnlessApproved } from '../../../src/payments/refunds/voids.ts';
import { sampleTransaction } from '../sample-transaction.ts';

describe('only an approved sale can be refunded or voided', () => {
  const sale = sampleTransaction({ disposition: Disposition.Approved });

  test('an approved tap', () => {
    expect(() => refuseUnlessApproved(sale)).not.toThrow();
  });

  test.each([
    ['declined', { disposition: Disposition.Declined }, 'SALE_NOT_APPROVED'],
    ['declined by the card', { disposition: Disposition.DeclinedOffline }, 'SALE_NOT_APPROVED'],
    ['never sent', { disposition: Disposition.UnableToGoOnline }, 'SALE_NOT_APPROVED'],
    ['uncertain', { disposition: Disposition.Indeterminate }, 'SALE_NOT_APPROVED'],
    ['without an outcome', { disposition: null }, 'SALE_NOT_APPROVED'],
    ['a refund', { type: TransactionType.Refund }, 'SALE_NOT_APPROVED'],
    ['a void', { type: TransactionType.Void }, 'SALE_NOT_APPROVED'],
    ['voided', { disposition: Disposition.Voided }, 'ALREADY_VOIDED_OR_REFUNDED'],
    ['about to be voided', { voidState: VoidState.asked }, 'ALREADY_VOIDED_OR_REFUNDED'],
  ])('a sale that is %s can be neither refunded nor voided', (_what, changes, code) => {
    expect(() => refuseUnlessApproved({ ...sale, ...changes })).toThrow(expect.objectContaining({ code }));
  });
});
