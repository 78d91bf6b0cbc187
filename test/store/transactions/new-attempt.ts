import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { NewAttempt } from '../../../src/payments/ports/store-ports.ts';

/** An attempt that may rest as soon as it is stored, without audit entries and jobs. */
export function newAttempt(transaction: Transaction, changes: Partial<NewAttempt> = {}): NewAttempt {
  return {
    transaction,
    auditEntries: [],
    enqueue: [],
    respondBySeconds: 45,
    pinSeconds: null,
    overdueSeconds: null,
    handover: null,
    ...changes,
  };
}
