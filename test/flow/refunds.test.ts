import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RefundResponse } from '../../schemas/refund.ts';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { everythingStored, secretsIn } from '../support/secrets.ts';
import { jobsOf, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const sell = (amount = '100.00') => sellApproved(installation, amount);
const refund = (id: string, body: object, headers?: Record<string, string>) =>
  refundSale(installation, id, body, headers);
const stored = (id: string) => storedSale(installation.database, id);
const SUBMITTED = ['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'];

/** The entry of one transaction in the switch's ledger. */
async function bookedFor(id: string) {
  const { rrn } = await storedTransaction(installation.database, id);
  return installation.ledger.find((entry) => entry.rrn === rrn);
}

describe("a merchant's token", () => {
  test.each([
    ['says nothing of refunds', {}, 403],
    ['claims another right', { scope: 'transactions:read createMobileProximityToken' }, 403],
    ['claims the right in its scope', { scope: 'transactions:refund' }, 200],
    ['claims the right in its permissions', { permissions: ['transactions:refund'] }, 200],
  ])("a merchant's token that %s", async (_, claims, expected) => {
    const sale = await sell('20.00');
    const token = await signMerchantToken(installation.profile(), claims);
    const { status } = await refund(
      sale,
      { amount: '5.00', refundReference: randomUUID() },
      {
        authorization: `Bearer ${token}`,
      },
    );
    expect(status).toBe(expected);
    expect((await stored(sale)).refundedMinor).toBe(expected === 200 ? 500 : 0);
    const other = await sell('20.00');
    const voided = await voidSale(installation, other, { authorization: `Bearer ${token}` });
    expect(voided.status).toBe(expected === 200 ? 202 : 403);
    const outcome = expected === 200 ? Disposition.Voided : Disposition.Approved;
    await eventually(async () => expect(await stored(other)).toMatchObject({ disposition: outcome }));
  });
});

describe('a refund', () => {
  test('is a transaction of its own at the switch, and reserves its amount on the sale', async () => {
    const sale = await sell();
    const refundReference = randomUUID();
    const { status, body } = await refund(sale, { amount: '40.00', refundReference });
    expect(status).toBe(200);
    const response = body as RefundResponse;
    expect(response).toMatchObject({
      originalTransactionId: sale,
      type: 'Approved',
      amount: '40.00',
      amountMinor: 4_000,
      currency: 'ZAR',
      merchantReference: refundReference,
      cardScheme: 'Visa',
      isoResponseCode: '00',
      paymentProviderReference: expect.stringMatching(/^\d{12}$/),
    });
    expect(response.errorCode).toBeUndefined();
    const { database } = installation;
    await untilResponded(database, response.serviceReference);
    expect(await trailOf(database, response.serviceReference)).toEqual([
      ...SUBMITTED,
      'ResponseReceivedFromPaymentProcessor',
      'RespondedToPhone',
    ]);
    expect(await bookedFor(response.serviceReference)).toMatchObject({
      kind: 'refund',
      state: 'approved',
      approvedMinor: 4_000,
    });
    expect(await bookedFor(sale)).toMatchObject({ kind: 'sale', state: 'approved', approvedMinor: 10_000 });
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, refundedMinor: 4_000 });
    expect(await jobsOf(database, response.serviceReference)).toEqual([]);
  });

  test('is shown with its type and its sale', async () => {
    const sale = await sell();
    const { body } = await refund(sale, { amount: 12, refundReference: randomUUID() });
    const { serviceReference } = body as RefundResponse;
    const headers = { 'x-api-key': await installation.apiKey() };
    const shown = await fetch(new URL(`/transactions/${serviceReference}`, installation.url), { headers });
    expect(await shown.json()).toMatchObject({
      transactionTypeId: 4,
      originalTransactionId: sale,
      amount: '12.00',
      receiptData: { transactionType: 'Refund', approvalText: 'Approved' },
    });
  });

  test('can be followed by others until nothing is left, and no further', async () => {
    const sale = await sell();
    for (const amount of ['60.00', '30.00']) {
      expect((await refund(sale, { amount, refundReference: randomUUID() })).status).toBe(200);
    }
    const over = await refund(sale, { amount: '10.01', refundReference: randomUUID() });
    expect(over).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect((await refund(sale, { amount: '10.00', refundReference: randomUUID() })).status).toBe(200);
    const none = await refund(sale, { amount: '0.01', refundReference: randomUUID() });
    expect(none).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect(await stored(sale)).toMatchObject({ refundedMinor: 10_000 });
  });

  test('one of many at once gets the remaining amount, and the others get nothing', async () => {
    const sale = await sell();
    const before = installation.ledger.filter(({ kind }) => kind === 'refund').length;
    const asked = Array.from({ length: 8 }, () => refund(sale, { amount: '60.00', refundReference: randomUUID() }));
    const responses = await Promise.all(asked);
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
    const won = responses.find(({ status }) => status === 200)!.body as RefundResponse;
    expect(await bookedFor(won.serviceReference)).toMatchObject({ kind: 'refund', state: 'approved' });
    expect(installation.ledger.filter(({ kind }) => kind === 'refund')).toHaveLength(before + 1);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 6_000 });
  });

  test.each([
    ['declined by the switch', '10.51', 'Declined', '51'],
    ['declined for another cause', '10.05', 'Declined', '05'],
  ])('%s releases its reservation in the same commit', async (_what, amount, type, isoResponseCode) => {
    const sale = await sell();
    const { status, body } = await refund(sale, { amount, refundReference: randomUUID() });
    expect({ status, body }).toMatchObject({ status: 200, body: { type, isoResponseCode, errorCode: 209 } });
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0 });
    expect((await refund(sale, { amount: '100.00', refundReference: randomUUID() })).body).toMatchObject({
      type: 'Approved',
    });
  });

  test('a refund to which the switch does not respond keeps its reservation until its reversal is acknowledged', async () => {
    const sale = await sell();
    const { body } = await refund(sale, { amount: '99.69', refundReference: randomUUID() });
    const { serviceReference, ...response } = body as RefundResponse;
    expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203, isoResponseCode: '' });
    await eventually(async () =>
      expect(await stored(serviceReference)).toMatchObject({ disposition: Disposition.Voided }),
    );
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, refundedMinor: 0 });
    expect(await bookedFor(serviceReference)).toMatchObject({ kind: 'refund', state: 'reversed' });
    expect(await bookedFor(sale)).toMatchObject({ kind: 'sale', state: 'approved' });
    await untilResponded(installation.database, serviceReference);
  });

  test('is refused for the remaining amount while another one is uncertain', async () => {
    const sale = await sell();
    const uncertain = refund(sale, { amount: '90.69', refundReference: randomUUID() });
    await eventually(async () => expect(await stored(sale)).toMatchObject({ refundedMinor: 9_069 }));
    const over = await refund(sale, { amount: '10.00', refundReference: randomUUID() });
    expect(over).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const { serviceReference } = (await uncertain).body as RefundResponse;
    await eventually(async () => expect(await stored(sale)).toMatchObject({ refundedMinor: 0 }));
    await untilResponded(installation.database, serviceReference);
  });
});

describe('a refund under a used reference', () => {
  test('gets the stored response for the same sale and amount, and the switch receives it once', async () => {
    const sale = await sell();
    const body = { amount: '20.00', refundReference: randomUUID() };
    const first = await refund(sale, body);
    const { authorizations } = installation.asked;
    const again = await refund(sale, { ...body, amount: 20 });
    expect(again.body).toEqual(first.body);
    expect(installation.asked.authorizations).toBe(authorizations);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 2_000 });
  });

  test('many times at once is one refund', async () => {
    const sale = await sell();
    const body = { amount: '20.00', refundReference: randomUUID() };
    const responses = await Promise.all(Array.from({ length: 6 }, () => refund(sale, body)));
    const ids = new Set(responses.map((response) => (response.body as RefundResponse).serviceReference));
    expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(ids.size).toBe(1);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 2_000 });
  });

  test.each([
    ['another amount', (sale: string, other: string) => [sale, other, '21.00'] as const],
    ['another sale', (_sale: string, other: string) => [other, other, '20.00'] as const],
  ])('is a duplicate for %s', async (_what, choose) => {
    const [sale, other] = [await sell(), await sell()];
    const refundReference = randomUUID();
    await refund(sale, { amount: '20.00', refundReference });
    const [asked, , amount] = choose(sale, other);
    const response = await refund(asked, { amount, refundReference });
    expect(response).toMatchObject({ status: 409, body: { errorCode: 124 } });
    expect(await stored(other)).toMatchObject({ refundedMinor: 0 });
  });

  test("is a duplicate when it is a tap's", async () => {
    const merchantReference = randomUUID();
    const tap = { amount: '50.00', currency: 'ZAR', merchantReference };
    const { serviceReference } = outcomeOf(await installation.phone().tap(tap));
    const response = await refund(serviceReference, { amount: '1.00', refundReference: merchantReference });
    expect(response).toMatchObject({ status: 409, body: { errorCode: 124 } });
  });
});

describe('a refund is refused', () => {
  test.each([
    ['declined', '10.51', Disposition.Declined, 134],
    ['without a response, and Voided', '10.69', Disposition.Voided, 213],
  ])('a refund is refused for a sale that was %s', async (_what, amount, disposition, errorCode) => {
    const tap = outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));
    await eventually(async () => expect(await stored(tap.serviceReference)).toMatchObject({ disposition }));
    const response = await refund(tap.serviceReference, { amount: '1.00', refundReference: randomUUID() });
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({ errorCode });
    await untilResponded(installation.database, tap.serviceReference);
  });

  test('a refund is refused for a refund', async () => {
    const sale = await sell();
    const { body } = await refund(sale, { amount: '20.00', refundReference: randomUUID() });
    const { serviceReference } = body as RefundResponse;
    const response = await refund(serviceReference, { amount: '1.00', refundReference: randomUUID() });
    expect(response).toMatchObject({ status: 409, body: { errorCode: 134 } });
  });

  test.each([
    ['zero', '0.00', 'must be greater than zero'],
    ['negative', '-1.00', /./],
    ['negative, as a number', -1, /./],
    ['with more decimals than the currency has', '1.001', 'must not have more decimals than the currency'],
    ['no decimal text', '1e2', /./],
    ['nothing', undefined, /./],
  ])('a refund is refused with 400 for an amount that is %s', async (_what, amount, text) => {
    const response = await refund(await sell('10.00'), { amount, refundReference: randomUUID() });
    const errors = [{ pointer: '/amount', detail: expect.stringMatching(text) }];
    expect(response).toMatchObject({ status: 400, body: { errorCode: 104, errors } });
    expect(JSON.stringify(response.body)).not.toMatch(/[A-Z]{3,}_[A-Z]/);
  });

  test("a refund is refused with 404 for another tenant's sale, and an unknown one", async () => {
    const sale = await sell('10.00');
    const others = { 'x-api-key': await installation.apiKey({ acquirerId: 1, integratorId: 11 }) };
    const asked = { amount: '1.00', refundReference: randomUUID() };
    expect(await refund(sale, asked, others)).toMatchObject({ status: 404, body: { errorCode: 122 } });
    expect(await refund(randomUUID(), asked)).toMatchObject({ status: 404, body: { errorCode: 122 } });
    expect(await refund(sale, asked, { 'x-api-key': 'tw_test_nothing' })).toMatchObject({ status: 401 });
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0 });
  });
});

test('refunds leave no card number in a table, a job, a log line or a response', async () => {
  const { database, logLines } = installation;
  const sale = await sell();
  const responses = [
    await refund(sale, { amount: '10.00', refundReference: randomUUID() }),
    await refund(
      sale,
      { amount: '200.00', refundReference: randomUUID() },
      {
        'x-api-key': await installation.apiKey(),
        'idempotency-key': randomUUID(),
      },
    ),
  ];
  const { pan } = SAMPLE_CARDS.visa;
  const marks = [{ name: 'PAN', text: pan }];
  const stored = await everythingStored(database);
  expect(stored).toContain(`${pan.slice(0, 6)}******${pan.slice(-4)}`);
  expect(secretsIn(stored, marks), 'database').toEqual([]);
  expect(secretsIn(JSON.stringify(responses.map(({ body }) => body)), marks), 'responses').toEqual([]);
  expect(secretsIn(JSON.stringify(logLines), marks), 'log').toEqual([]);
});
