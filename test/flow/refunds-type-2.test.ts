import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { RefundResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { storedTransaction, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ type: 'type-2' });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

async function bookedFor(id: string) {
  const { rrn } = await storedTransaction(installation.database, id);
  return installation.ledger.find((entry) => entry.rrn === rrn);
}

test('a switch of type 2 books a refund, with its own STAN', async () => {
  const sale = await sellApproved(installation, '100.00');
  const { status, body } = await refundSale(installation, sale, { amount: '40.00', refundReference: randomUUID() });
  expect({ status, body }).toMatchObject({ status: 200, body: { type: 'Approved', amountMinor: 4_000 } });
  const { serviceReference } = body as RefundResponse;
  expect(await bookedFor(serviceReference)).toMatchObject({ kind: 'refund', state: 'approved', approvedMinor: 4_000 });
  expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 4_000 });
  await untilResponded(installation.database, serviceReference);
});

test('a refund that a switch of type 2 does not respond to is reversed, and the sale is unchanged', async () => {
  const sale = await sellApproved(installation, '100.00');
  const { body } = await refundSale(installation, sale, { amount: '10.69', refundReference: randomUUID() });
  const { serviceReference, type } = body as RefundResponse;
  expect(type).toBe('Indeterminate');
  await eventually(async () => expect(await bookedFor(serviceReference)).toMatchObject({ state: 'reversed' }));
  await eventually(async () =>
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 0 }),
  );
  expect(await bookedFor(sale)).toMatchObject({ state: 'approved', reversals: 0 });
  await untilResponded(installation.database, serviceReference);
});

test('a switch of type 2 accepts a void as a reversal, and the sale is Voided', async () => {
  const sale = await sellApproved(installation, '100.00');
  expect((await voidSale(installation, sale)).status).toBe(202);
  await eventually(async () =>
    expect(await storedSale(installation.database, sale)).toMatchObject({ disposition: Disposition.Voided }),
  );
  expect(await bookedFor(sale)).toMatchObject({ state: 'reversed', reversals: 1 });
});
