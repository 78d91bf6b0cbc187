import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RefundResponse, VoidResponse } from '../../schemas/refund.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { VoidState } from '../../src/payments/model/transaction.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants, expectSoundStates } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { letTimePass, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';
import { Backend, untilReported } from '../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const refundOf = (amount: string) => ({ amount, refundReference: randomUUID() });

describe('an integrator is notified', () => {
  let installation: Installation;
  let receiver: Receiver;
  let secret: string;
  beforeAll(async () => {
    installation = await startInstallation();
    receiver = await startReceiver();
    secret = await (await Backend.open(installation)).listenAt(receiver.url);
  });
  afterAll(async () => {
    await installation.stop();
    await receiver.close();
  });

  test.each([
    ['10.00', 'Approved'],
    ['10.51', 'Declined'],
  ])('an integrator is notified of a refund of %s that was %s', async (amount, disposition) => {
    const sale = await sellApproved(installation, '100.00');
    const { body } = await refundSale(installation, sale, refundOf(amount));
    const { serviceReference, merchantReference } = body as RefundResponse;
    expect(await untilReported(receiver, secret, serviceReference)).toMatchObject([
      { type: 'refund.completed', disposition, merchantReference, amount: Number(amount), sequence: 1 },
    ]);
    await untilResponded(installation.database, serviceReference);
    await expectInvariants(installation);
  });

  test('an integrator is notified of a sale when it is Voided, and not of the void', async () => {
    const sale = await sellApproved(installation, '100.00');
    const { serviceReference } = (await voidSale(installation, sale)).body as VoidResponse;
    expect(await untilReported(receiver, secret, sale, 2)).toMatchObject([
      { type: 'transaction.completed', disposition: 'Approved', sequence: 1 },
      { type: 'transaction.voided', disposition: 'Voided', amount: 100, sequence: 2 },
    ]);
    expect(receiver.received.filter(({ body }) => body.includes(serviceReference))).toEqual([]);
    await expectInvariants(installation);
  });

  test('the books of the gateway and of the switch agree after the refunds and voids', async () => {
    const { database, ledger } = installation;
    const findings = await verifyLedger({ database, ledger, types: await loadProcessors() });
    expect(findings.filter(({ violationCount }) => violationCount > 0)).toEqual([]);
    expect(findings.find(({ check }) => check === 'I3')?.lookedAt).toBeGreaterThan(0);
    expect(findings.find(({ check }) => check === 'F')?.lookedAt).toBeGreaterThan(0);
  });

  test('the check of the books finds a sale whose refunds and reservation differ, or exceed it', async () => {
    const { database, ledger } = installation;
    const check = async () => {
      const findings = await verifyLedger({ database, ledger, types: await loadProcessors() });
      return findings.find(({ check: name }) => name === 'F')?.violations.map(({ what }) => what);
    };
    const sale = await sellApproved(installation, '100.00');
    const { body } = await refundSale(installation, sale, refundOf('40.00'));
    await untilResponded(database, (body as RefundResponse).serviceReference);
    await database.query('update transactions set refunded_minor = 3000 where id = $1', [sale]);
    expect(await check()).toEqual(['3000 is reserved, and its refunds keep 4000']);
    await database.query('update transactions set refunded_minor = 4000, approved_minor = 1000 where id = $1', [sale]);
    expect(await check()).toEqual(['its refunds keep 4000 of 1000']);
    await database.query('update transactions set approved_minor = 10000 where id = $1', [sale]);
    expect(await check()).toEqual([]);
  });
});

describe('of a sale that was approved in part', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ profile: { partialApproval: true } });
  });
  afterAll(() => installation.stop());

  test('no more than that part can be refunded', async () => {
    const sale = await sellApproved(installation, '200.85'); // the switch approves half of it
    const over = await refundSale(installation, sale, refundOf('101.00'));
    expect(over).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const all = await refundSale(installation, sale, refundOf('100.00'));
    expect(all).toMatchObject({ status: 200, body: { type: 'Approved', amountMinor: 10_000 } });
    expect(await refundSale(installation, sale, refundOf('1.00'))).toMatchObject({
      status: 409,
      body: { errorCode: 213 },
    });
    await untilResponded(installation.database, (all.body as RefundResponse).serviceReference);
    await expectInvariants(installation);
  });

  test('a void reverses that part', async () => {
    const sale = await sellApproved(installation, '200.85');
    expect((await voidSale(installation, sale)).body).toMatchObject({ amountMinor: 10_042 });
    await eventually(async () =>
      expect(await storedSale(installation.database, sale)).toMatchObject({ disposition: Disposition.Voided }),
    );
    await expectInvariants(installation);
  });
});

test('a refund is UnableToGoOnline and reserves nothing while the switch cannot be reached, and a void waits for a connection', async () => {
  const installation = await startInstallation();
  const { database } = installation;
  const phone = installation.phone();
  const { serviceReference: sale } = outcomeOf(await phone.tap({ amount: '100.00', currency: 'ZAR' }));
  await untilResponded(database, sale);
  const other = await sellApproved(installation, '100.00');
  await installation.startOutage();
  expect((await voidSale(installation, other)).status).toBe(202);
  const asked = refundOf('40.00');
  const { status, body } = await refundSale(installation, sale, asked);
  expect(status).toBe(200);
  expect(body).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210, isoResponseCode: '', authorizationCode: '' });
  const { serviceReference } = body as RefundResponse;
  expect(await storedSale(database, sale)).toMatchObject({ refundedMinor: 0 });
  expect(await storedSale(database, other)).toMatchObject({
    disposition: Disposition.Approved,
    voidState: VoidState.asked,
  });
  expect((await refundSale(installation, sale, asked)).body).toEqual(body);
  await untilResponded(database, serviceReference);
  expect(await trailOf(database, serviceReference)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'RespondedToPhone',
  ]);
  // Nothing of it reached a switch; a tap still cannot use its reference.
  const tapped = problemOf(
    await phone.tap({ amount: '40.00', currency: 'ZAR', merchantReference: asked.refundReference }),
  );
  expect(tapped).toMatchObject({ status: 409, errorCode: 124 });
  expect((await refundSale(installation, sale, asked)).body).toEqual(body);
  await expectSoundStates(database);
  await installation.simulator.endOutages();
  await eventually(async () => {
    await letTimePass(database, other, 10); // the delay of the job, which it needs again while the connection is not back
    expect(await storedSale(database, other)).toMatchObject({
      disposition: Disposition.Voided,
      voidState: VoidState.done,
    });
  });
  const { rrn } = await storedTransaction(database, other);
  expect(installation.ledger.find((entry) => entry.rrn === rrn)).toMatchObject({ state: 'reversed', reversals: 1 });
  await expectInvariants(installation);
  await installation.stop();
});
