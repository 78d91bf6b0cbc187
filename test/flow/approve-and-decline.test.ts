import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { outcomeOf } from '../support/answers.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { jobsOf, trailOf, untilAnswered } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

test('an approved tap is answered from its row, booked at the switch and comes to rest without a job', async () => {
  const { database } = installation;
  const answer = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(answer).toMatchObject({
    type: 'Approved',
    isoResponseCode: '00',
    amount: 1000,
    currency: 'ZAR',
    isSingleTapAndPin: false,
  });
  expect(answer).not.toHaveProperty('errorCode');
  expect(answer.authorizationCode).toMatch(/^\d{6}$/);
  expect(installation.ledger).toMatchObject([{ state: 'approved', amountMinor: 1000, approvedMinor: 1000 }]);
  const { id } = await untilAnswered(database, answer.serviceReference);
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
    '96',
  ])('with code %s is told as the issuer gave it and leaves nothing to reverse', async (code) => {
    const reversalsBefore = installation.asked.reversals;
    const answer = outcomeOf(await installation.phone().tap({ amount: `10.${code}`, currency: 'ZAR' }));
    expect(answer).toMatchObject({ type: 'Declined', isoResponseCode: code, errorCode: 209, authorizationCode: '' });
    expect(installation.asked.reversals).toBe(reversalsBefore);
  });
});
