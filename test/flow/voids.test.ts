import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { VoidResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction, TransactionType, VoidState } from '../../src/payments/model/transaction.ts';
import { findIsSettled } from '../../src/store/transactions/refund-store.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants, expectSoundStates } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, letTimePass, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const sell = (amount = '100.00') => sellApproved(installation, amount);
const stored = (id: string) => storedSale(installation.database, id);

async function bookedFor(id: string) {
  const { rrn } = await storedTransaction(installation.database, id);
  return installation.ledger.find((entry) => entry.rrn === rrn);
}

function untilVoided(sale: string) {
  return eventually(async () => {
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done });
  });
}

const HALF_DAY_MS = 12 * 3_600_000;

const asVoid = { type: TransactionType.Void, needsReview: false };

describe('a void', () => {
  test('receives 202, is sent to the switch as a reversal, and makes the sale Voided when it is acknowledged', async () => {
    const { database } = installation;
    const sale = await sell();
    const { status, body, headers } = await voidSale(installation, sale);
    const response = body as VoidResponse;
    expect(status).toBe(202);
    expect(response).toEqual({
      serviceReference: expect.any(String),
      originalTransactionId: sale,
      amount: '100.00',
      amountMinor: 10_000,
      currency: 'ZAR',
    });
    expect(headers.get('location')).toBe(`/transactions/${response.serviceReference}`);
    await untilVoided(sale);
    expect(await bookedFor(sale)).toMatchObject({ state: 'reversed', reversals: 1 });
    expect(await stored(response.serviceReference)).toEqual({
      ...asVoid,
      disposition: Disposition.Approved,
      refundedMinor: 0,
      voidState: null,
    });
    const trail = await trailOf(database, sale);
    expect(trail.slice(-3)).toEqual(['void', 'reversal sent 1', 'reversal acknowledged 1']);
    expect(await trailOf(database, response.serviceReference)).toEqual(['RequestReceived', 'RespondedToPhone']);
    await eventually(async () => expect(await jobsOf(database, sale)).toEqual([]));
  });

  test('is repeated until the switch acknowledges it, and cannot be cancelled meanwhile', async () => {
    const { database } = installation;
    const sale = await sell('100.89'); // approved; two reversals stay without a response
    const { serviceReference } = (await voidSale(installation, sale)).body as VoidResponse;
    await eventually(async () => expect(await bookedFor(sale)).toMatchObject({ reversals: 1 }));
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, voidState: VoidState.asked });
    expect(await stored(serviceReference)).toMatchObject({ ...asVoid, disposition: null });
    await expectSoundStates(database);
    expect(await voidSale(installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const asked = { amount: '1.00', refundReference: randomUUID() };
    expect(await refundSale(installation, sale, asked)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    for (const reversals of [2, 3]) {
      await letTimePass(database, sale, 30);
      await eventually(async () => expect(await bookedFor(sale)).toMatchObject({ reversals }));
    }
    await untilVoided(sale);
    expect(await bookedFor(sale)).toMatchObject({ state: 'reversed', reversals: 3 });
    expect(await stored(serviceReference)).toMatchObject({ ...asVoid, disposition: Disposition.Approved });
  });

  test('many voids at once are one void', async () => {
    const sale = await sell();
    const responses = await Promise.all(Array.from({ length: 6 }, () => voidSale(installation, sale)));
    expect(responses.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409, 409]);
    for (const { status, body } of responses) if (status === 409) expect(body).toMatchObject({ errorCode: 213 });
    await untilVoided(sale);
    expect(await bookedFor(sale)).toMatchObject({ reversals: 1 });
  });

  test('a void and a refund at once: one of them wins', async () => {
    for (let round = 0; round < 4; round++) {
      const sale = await sell();
      const asked = { amount: '100.00', refundReference: randomUUID() };
      const [voided, refunded] = await Promise.all([
        voidSale(installation, sale),
        refundSale(installation, sale, asked),
      ]);
      expect([voided.status, refunded.status].filter((status) => status === 409)).toHaveLength(1);
      if (voided.status === 202) await untilVoided(sale);
      else expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, refundedMinor: 10_000 });
    }
  });
});

describe('a void is refused', () => {
  test('a void is refused for a partly refunded sale', async () => {
    const sale = await sell();
    await refundSale(installation, sale, { amount: '1.00', refundReference: randomUUID() });
    expect(await voidSale(installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect(await bookedFor(sale)).toMatchObject({ state: 'approved', reversals: 0 });
  });

  test('a void is refused for a sale that was declined, and for a void', async () => {
    const tap = outcomeOf(await installation.phone().tap({ amount: '10.51', currency: 'ZAR' }));
    expect(await voidSale(installation, tap.serviceReference)).toMatchObject({ status: 409, body: { errorCode: 134 } });
    await untilResponded(installation.database, tap.serviceReference);
    const sale = await sell();
    const { serviceReference } = (await voidSale(installation, sale)).body as VoidResponse;
    expect(await voidSale(installation, serviceReference)).toMatchObject({ status: 409, body: { errorCode: 134 } });
    await untilVoided(sale);
  });

  test("a void is refused for another tenant's sale as for an unknown one", async () => {
    const sale = await sell();
    const others = { 'x-api-key': await installation.apiKey({ acquirerId: 1, integratorId: 11 }) };
    expect(await voidSale(installation, sale, others)).toMatchObject({ status: 404, body: { errorCode: 122 } });
    expect(await voidSale(installation, randomUUID())).toMatchObject({ status: 404, body: { errorCode: 122 } });
  });

  test('a void is refused if the switch has cut over since the sale', async () => {
    const sale = await sell();
    await letTimePass(installation.database, sale, 60); // its deadline is over: the next date is not its own
    await cutOver();
    expect(await voidSale(installation, sale)).toMatchObject({ status: 409, body: { errorCode: 212 } });
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, voidState: null });
    const refunded = await refundSale(installation, sale, { amount: '100.00', refundReference: randomUUID() });
    expect(refunded).toMatchObject({ status: 200, body: { type: 'Approved' } });
  });

  test.each([
    ['has closed the settlement date that its response named, though a later one was announced before', -1, 409],
    ['is still at the settlement date that its response named, though it announced it after the sale', 0, 202],
  ])('a void is refused or not, if the switch %s', async (_what, days, status) => {
    const sale = await sell();
    await installation.database.query(
      `update transactions set settlement_date = (
         select (max(business_date) + $2::integer)::text from business_dates where acquirer_id = 1) where id = $1`,
      [sale, days],
    );
    // According to the announcements alone it would be the opposite.
    const since = days < 0 ? `- interval '1 h'` : `+ interval '1 h'`;
    await installation.database.query(
      `update business_dates set since = clock_timestamp() ${since} where acquirer_id = 1`,
    );
    expect((await voidSale(installation, sale)).status).toBe(status);
    if (status === 202) await untilVoided(sale);
  });

  test('a void is refused on the day after, if the switch announces no business dates', async () => {
    const { database } = installation;
    const sale = await sell();
    await database.query('delete from business_dates');
    await database.query('update transactions set settlement_date = null where id = $1', [sale]);
    await letTimePass(database, sale, 24 * 3_600);
    expect(await voidSale(installation, sale)).toMatchObject({ status: 409, body: { errorCode: 212 } });
  });

  test('a void is refused by the time zone at the sale, and not by a later one of the merchant', async () => {
    const { database } = installation;
    const sale = await sell();
    const zones = `select t.time_zone as stored, m.time_zone as present from transactions t
      join merchants m on m.acquirer_id = t.acquirer_id and m.id = t.merchant_id where t.id = $1`;
    const { stored: zone, present } = (await database.query(zones, [sale])).rows[0];
    expect(zone).toBe(present);
    await database.query('delete from business_dates');
    // At noon and at midnight of UTC the day ends in one of these two zones, and continues in the other.
    const before = Math.floor(Date.now() / HALF_DAY_MS) * HALF_DAY_MS - 60_000;
    const isMorning = new Date(before).getUTCHours() >= 12;
    const [ended, continues] = isMorning ? ['UTC', 'Etc/GMT-12'] : ['Etc/GMT-12', 'UTC'];
    const key = { acquirerId: 1, id: sale } as Transaction;
    const change = `update transactions set settlement_date = null, sent_at = $2, time_zone = $3 where id = $1`;
    await database.query(change, [sale, new Date(before), continues]);
    expect(await findIsSettled(database, key)).toBe(false);
    await database.query(change, [sale, new Date(before), ended]);
    expect(await findIsSettled(database, key)).toBe(true);
  });
});

test('a void of a sale that the switch cannot locate, twice, is Declined, needs review, and blocks the unchanged sale', async () => {
  const { database } = installation;
  const sale = await sell();
  const before = await storedTransaction(database, sale);
  await withoutTheSale(async () => {
    const { serviceReference } = (await voidSale(installation, sale)).body as VoidResponse;
    await eventually(async () => expect(await trailOf(database, sale)).toContain('response unableToLocate 1'));
    expect(await stored(serviceReference)).toMatchObject({ disposition: null });
    await letTimePass(database, sale, 60);
    await eventually(async () =>
      expect(await stored(serviceReference)).toMatchObject({ disposition: Disposition.Declined, needsReview: true }),
    );
  });
  expect(await storedTransaction(database, sale)).toEqual(before);
  expect(before.reversalState).toBe(ReversalState.none);
  expect((await trailOf(database, sale)).slice(-1)).toEqual(['reversal refused 2']);
  await eventually(async () => expect(await jobsOf(database, sale)).toEqual([]));
  const refunded = await refundSale(installation, sale, { amount: '1.00', refundReference: randomUUID() });
  expect(refunded).toMatchObject({ status: 409, body: { errorCode: 213 } });
});

/** As a switch announces it: the next business date, from now on. */
async function cutOver(): Promise<void> {
  await installation.database.query(
    `insert into business_dates (acquirer_id, processor_id, business_date)
     select 1, 1, coalesce(max(business_date), current_date) + 1 from business_dates where acquirer_id = 1`,
  );
}

/** Simulates a switch without the sale in its books: reversals receive 25. */
async function withoutTheSale(work: () => Promise<void>): Promise<void> {
  const { ledger } = installation.simulator;
  ledger.reverse = () => 'notFound';
  try {
    await work();
  } finally {
    Reflect.deleteProperty(ledger, 'reverse');
  }
}
