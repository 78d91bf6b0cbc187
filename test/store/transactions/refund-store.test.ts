import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { NewAttempt } from '../../../src/payments/ports/store-ports.ts';
import { findTransaction } from '../../../src/store/transactions/find-transactions.ts';
import { PostgresRefundStore } from '../../../src/store/transactions/refund-store.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { sellApproved, storedSale } from '../../support/refunds.ts';
import { newAttempt } from './new-attempt.ts';

/** The guards of the statements themselves: what a use case read may be out of date by then. */
let installation: Installation;
let store: PostgresRefundStore;
beforeAll(async () => {
  installation = await startInstallation();
  store = new PostgresRefundStore(installation.database, {
    enqueue: async () => {},
    offer: async () => new Set(),
    remove: async () => {},
  });
});
afterAll(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
});

async function sell(): Promise<Transaction> {
  const id = await sellApproved(installation, '100.00');
  return (await findTransaction(installation.database, { acquirerId: 1, id }))!;
}

function attemptOf(sale: Transaction, changes: Partial<Transaction>): NewAttempt {
  const [id, merchantReference] = [randomUUID(), randomUUID()];
  const transaction = { ...sale, status: 8, id, merchantReference, originalId: sale.id, ...changes };
  return newAttempt(transaction as Transaction);
}

const refundOf = (sale: Transaction, amountMinor: number) =>
  attemptOf(sale, { type: TransactionType.Refund, amountMinor, rrn: null, stan: null });

function voidOf(original: Transaction) {
  const attempt = attemptOf(original, { type: TransactionType.Void, disposition: null, rrn: null, stan: null });
  const data = { acquirerId: 1, id: original.id, attempt: 1, reversalAttempt: 1 };
  return { original, attempt, reverseJob: { queue: 'reverse', data } as const, nowMs: Date.now() };
}

test('a void does not start on a sale that was refunded after it was read', async () => {
  const sale = await sell();
  expect(await store.reserve(refundOf(sale, 100))).toBe('inserted');
  expect(await store.startVoid(voidOf(sale))).toBe(false);
  expect(await storedSale(installation.database, sale.id)).toMatchObject({ refundedMinor: 100, voidState: null });
});

test('a refund above the remaining amount leaves no row', async () => {
  const { database } = installation;
  const sale = await sell();
  expect(await store.reserve(refundOf(sale, 10_000))).toBe('inserted');
  const late = refundOf(sale, 1);
  expect(await store.reserve(late)).toBe('refused');
  expect(await findTransaction(database, late.transaction)).toBeUndefined();
  expect(await storedSale(database, sale.id)).toMatchObject({ refundedMinor: 10_000 });
});

test('a refund under a used reference reserves nothing', async () => {
  const sale = await sell();
  const { merchantReference } = sale;
  const again = attemptOf(sale, { type: TransactionType.Refund, amountMinor: 1, merchantReference });
  expect(await store.reserve(again)).toBe('exists');
  expect(await storedSale(installation.database, sale.id)).toMatchObject({ refundedMinor: 0 });
});
