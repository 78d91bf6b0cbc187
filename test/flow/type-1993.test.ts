import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Type1993Config } from '../../processors/type-1993/config.ts';
import type { RefundResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { refundSale, sellApproved, voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { letDoubtPass, letTimePass, storedTransaction, trailOf } from '../support/transactions.ts';

/** An amount selects the response by the code that the phone sees; the switch sends the action code for it. */
let installation: Installation;
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const tap = async (amount: string) => outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));

async function bookedFor(id: string) {
  const { rrn } = await storedTransaction(installation.database, id);
  return installation.ledger.find((entry) => entry.rrn === rrn);
}

function untilVoided(id: string) {
  return eventually(async () =>
    expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: Disposition.Voided }),
  );
}

describe('at a switch of ISO 8583:1993 where a 1200 posts a sale', () => {
  beforeAll(async () => {
    installation = await startInstallation({ type: 'type-1993', profile: { partialApproval: true } });
  });

  test('a sale is approved with 000, and integrators see the action code', async () => {
    const response = await tap('10.00');
    expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    const { body } = await request(installation.url, `/transactions/${response.serviceReference}`, {
      headers: { 'x-api-key': await installation.apiKey() },
    });
    expect(body).toMatchObject({ responseCode: 0 });
    const { rows } = await installation.database.query(
      'select provider_fields as fields, settlement_date as "settlementDate" from transactions where id = $1',
      [response.serviceReference],
    );
    expect(rows).toMatchObject([{ fields: { actionCode: '000', responseCode: '00' } }]);
    expect(rows[0].settlementDate).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test.each([
    ['10.51', '51', 'Not sufficient funds'],
    ['10.61', '61', 'Exceeds withdrawal amount limit'],
    ['10.54', '54', 'Expired card'],
    ['10.91', '91', 'Issuer or switch inoperative'],
  ])('%s is declined, with the code and the text of the interface instead of three digits', async (amount, code, text) => {
    const response = await tap(amount);
    expect(response).toMatchObject({ type: 'Declined', isoResponseCode: code, errorCode: 209, errorMessage: text });
    expect(await bookedFor(response.serviceReference)).toBeUndefined();
  });

  test('116 in the response is what integrators see as the action code of a decline', async () => {
    const { serviceReference: id } = await tap('10.51');
    const { rows } = await installation.database.query(
      'select provider_fields as fields from transactions where id = $1',
      [id],
    );
    expect(rows).toMatchObject([{ fields: { actionCode: '116', responseCode: '51' } }]);
  });

  test('a partial approval, 002, is approved for the amount in DE4', async () => {
    expect(await tap('10.85')).toMatchObject({ type: 'Approved', isoResponseCode: '10', amount: 542 });
  });

  test('a sale without a response is reversed with 1420, and 400 in 1430 makes it Voided', async () => {
    const { serviceReference: id, ...response } = await tap('10.69');
    expect(response).toMatchObject({ type: 'Indeterminate', isoResponseCode: '' });
    await untilVoided(id);
    expect(await bookedFor(id)).toMatchObject({ state: 'reversed' });
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      reversalState: ReversalState.acknowledged,
    });
  });

  test('909, a malfunction of the switch, is uncertain: it is reversed until 914 is confirmed', async () => {
    const { serviceReference: id, ...response } = await tap('10.96');
    expect(response.type).toBe('Indeterminate');
    await letDoubtPass(installation.database, id); // nothing was booked: the switch cannot locate it
    await untilVoided(id);
    expect(await bookedFor(id)).toBeUndefined();
  });

  test('an approval after the deadline is recorded, and certainly reversed', async () => {
    const { serviceReference: id, ...response } = await tap('10.68');
    expect(response.type).toBe('Indeterminate');
    await eventually(async () => expect(await trailOf(installation.database, id)).toContain('late approved'));
    await untilVoided(id);
    expect(await bookedFor(id)).toMatchObject({ state: 'reversed' });
  });

  test('a void is repeated with 1421 until the third reversal is acknowledged', async () => {
    const id = await sellApproved(installation, '10.89');
    expect((await voidSale(installation, id)).status).toBe(202);
    for (const reversals of [1, 2, 3]) {
      await eventually(async () => expect(await bookedFor(id)).toMatchObject({ reversals }));
      await letTimePass(installation.database, id, 30);
    }
    await untilVoided(id);
  });

  test('a refund names its sale in DE56 and is booked', async () => {
    const sale = await sellApproved(installation, '100.00');
    const { status, body } = await refundSale(installation, sale, { amount: '40.00', refundReference: randomUUID() });
    expect({ status, body }).toMatchObject({ status: 200, body: { type: 'Approved', amountMinor: 4_000 } });
    expect(await bookedFor((body as RefundResponse).serviceReference)).toMatchObject({
      kind: 'refund',
      state: 'approved',
      approvedMinor: 4_000,
    });
  });

  test('112 asks any card for its PIN, 117 asks again, and the right PIN is approved', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone, { card: 'mastercard', amount: '12.65' });
    expect(asked.response).toMatchObject({
      type: 'Declined',
      errorCode: 65,
      isoResponseCode: '70',
      isSingleTapAndPin: true,
    });
    const again = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    expect(again.response).toMatchObject({ errorCode: 211, isoResponseCode: '55' });
    expect(outcomeOf(await enterPin(phone, again))).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
  });

  test('the tap is declined with 75 after the third wrong PIN', async () => {
    const phone = installation.phone();
    let asked = await tapForPin(phone, { card: 'visa', amount: '12.65' });
    asked = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    asked = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    expect(outcomeOf(await enterPin(phone, asked, WRONG_PIN))).toMatchObject({
      type: 'Declined',
      errorCode: 209,
      isoResponseCode: '75',
    });
  });
});

describe('at a switch of ISO 8583:1993 that posts a sale only after its completion, with MACs', () => {
  beforeAll(async () => {
    await installation.stop();
    const config: Partial<Type1993Config> = { completion: true, macKeys: [{ number: 1, keyId: 'type-1993-mac' }] };
    installation = await startInstallation({ type: 'type-1993', config });
  });

  test('1220 with 201 posts an approved 1100, and a void still reverses it', async () => {
    const id = await sellApproved(installation, '10.00');
    await eventually(() => expect(installation.simulator.ledger.totals()).toMatchObject({ posted: 1 }));
    expect((await voidSale(installation, id)).status).toBe(202);
    await untilVoided(id);
    expect(installation.simulator.ledger.totals()).toMatchObject({ posted: 0, reversed: 1 });
  });
});
