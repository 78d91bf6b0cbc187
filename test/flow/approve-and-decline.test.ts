import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

test('an approved tap receives a response from its row, is booked at the switch and comes to rest without a job', async () => {
  const { database } = installation;
  const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(response).toMatchObject({
    type: 'Approved',
    isoResponseCode: '00',
    amount: 1000,
    currency: 'ZAR',
    isSingleTapAndPin: false,
  });
  expect(response).not.toHaveProperty('errorCode');
  expect(response.authorizationCode).toMatch(/^\d{6}$/);
  expect(installation.ledger).toMatchObject([{ state: 'approved', amountMinor: 1000, approvedMinor: 1000 }]);
  const { id } = await untilResponded(database, response.serviceReference);
  expect(await trailOf(database, id)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'SubmittedToPaymentProcessor',
    'ResponseReceivedFromPaymentProcessor',
    'RespondedToPhone',
  ]);
  expect(await jobsOf(database, id)).toEqual([]);
});

describe('a decline', () => {
  test.each([
    '01',
    '05',
    '12',
    '14',
    '30',
    '41',
    '43',
    '51',
    '54',
    '57',
    '61',
    '75',
    '91',
  ])('a decline with code %s is reported as the issuer gave it and leaves nothing to reverse', async (code) => {
    const reversalsBefore = installation.asked.reversals;
    const response = outcomeOf(await installation.phone().tap({ amount: `10.${code}`, currency: 'ZAR' }));
    expect(response).toMatchObject({ type: 'Declined', isoResponseCode: code, errorCode: 209, authorizationCode: '' });
    expect(installation.asked.reversals).toBe(reversalsBefore);
  });
});

describe('an approval', () => {
  test.each([
    ['visa', 'Visa', '411111******1111'],
    ['mastercard', 'Mastercard', '541333******0640'],
    ['maestro', 'Maestro', '675964******8453'],
    ['amex', 'Amex', '374245*****0126'],
  ] as const)('an approval of a card of %s names its scheme and shows no more of its number than allowed', async (card, cardScheme, maskedPAN) => {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR', card }));
    expect(response).toMatchObject({ type: 'Approved', cardScheme, maskedPAN, expiryDate: '12/31' });
  });

  test.each([
    ['JPY', '1000', 1_000],
    ['BHD', '1.500', 1_500],
    ['EUR', '9999999999.00', 999_999_999_900],
  ])('an approval in %s has the minor units of its currency', async (currency, amount, amountMinor) => {
    const response = outcomeOf(await installation.phone().tap({ amount, currency }));
    expect(response).toMatchObject({ type: 'Approved', currency, amount: amountMinor });
    expect(installation.ledger.at(-1)).toMatchObject({ amountMinor });
  });

  test('a card that gives its number and expiry without a track is approved', async () => {
    const tamper = (values: Map<number, Uint8Array>) => {
      values.delete(0x57);
      values.set(0x5a, Buffer.from('4111111111111111', 'hex')).set(0x5f24, Buffer.from('311231', 'hex'));
    };
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR', tamper }));
    expect(response).toMatchObject({ type: 'Approved', maskedPAN: '411111******1111' });
  });

  test('an approval that is slow is waited for', async () => {
    const { ms, ...response } = await installation.phone().tap({ amount: '10.10', currency: 'ZAR' });
    expect(outcomeOf({ ms, ...response }).type).toBe('Approved');
    expect(ms).toBeGreaterThan(400);
  });

  test("an approval of another acquirer's merchant with the same id belongs to that merchant alone", async () => {
    const [ours, theirs] = [installation.phone('coffee'), installation.phone('tailor')];
    const merchantReference = 'the same reference';
    for (const phone of [ours, theirs]) {
      const response = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR', merchantReference }));
      expect(response.type).toBe('Approved');
    }
  });
});

test('the phone and the books have the approved part as the amount if the switch may approve a part', async () => {
  const allowing = await startInstallation({ profile: { partialApproval: true } });
  try {
    const response = outcomeOf(await allowing.phone().tap({ amount: '10.85', currency: 'ZAR' }));
    expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '10', amount: 542 });
    await untilResponded(allowing.database, response.serviceReference);
    expect(allowing.ledger).toMatchObject([{ state: 'approved', amountMinor: 1_085, approvedMinor: 542 }]);
    await expectInvariants(allowing);
  } finally {
    await allowing.stop();
  }
});

describe('what the gateway leaves to the issuer and the operator', () => {
  test('a cryptogram and counter that a reader seals again under another reference are refused', async () => {
    const { authorizations } = installation.asked;
    const phone = installation.phone();
    const tamper = (values: Map<number, Uint8Array>) => {
      values.set(0x9f26, Buffer.from('0102030405060708', 'hex'));
      values.set(0x9f36, Buffer.from('0042', 'hex'));
    };
    expect(outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR', tamper })).type).toBe('Approved');
    const again = await phone.tap({ amount: '10.00', currency: 'ZAR', tamper });
    expect(again).toMatchObject({ status: 400, body: { errorCode: 202 } });
    expect(installation.asked.authorizations).toBe(authorizations + 1);
  });

  test("a currency other than the merchant's is sent as it is, where a route accepts it", async () => {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'EUR' }));
    expect(response).toMatchObject({ type: 'Approved', amount: 1000, currency: 'EUR' });
    expect(installation.ledger.at(-1)).toMatchObject({ amountMinor: 1000, currencyNumeric: '978' });
  });
});
