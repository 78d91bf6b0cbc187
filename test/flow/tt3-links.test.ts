import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { AppPhone, ask, createLink, MANDATE, statusOf } from '../support/links.ts';
import { refundSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { everythingStored } from '../support/secrets.ts';
import { untilResponded } from '../support/transactions.ts';

/**
 * One installation whose api process hands taps to a worker, and one process with both roles; each at a switch of
 * another type.
 */
let apart: Installation;
let together: Installation;
beforeAll(async () => {
  [apart, together] = await Promise.all([
    startInstallation({ type: 'type-2', role: 'api' }),
    startInstallation({ type: 'type-1' }),
  ]);
  await apart.startGateway({ TAPWIRE_ROLE: 'worker' });
  // An api process looks for workers every two seconds.
  await eventually(async () => {
    const response = await apart.phone('bakery').tap({ amount: '10.00', currency: 'ZAR' });
    expect(outcomeOf(response).type).toBe('Approved');
  });
});
afterEach(async () => {
  await expectInvariants(apart);
  await expectInvariants(together);
});
afterAll(async () => {
  await apart.stop();
  await together.stop();
});

const SHOWN = { ...MANDATE, maxCollectionAmount: '375.50' };

const wheres = [
  ['from an api process by a worker, type 2', () => apart],
  ['from the process that took it, type 1', () => together],
] as const;

test.each(
  wheres,
)('a mandate is authenticated with the card without taking money: %s', async (_where, installationOf) => {
  const installation = installationOf();
  const { database } = installation;
  for (const path of ['/consumer/tt3Applink', '/consumer/tt3IntentTransaction']) {
    const link = await createLink(installation, { ...MANDATE, amount: '100.00' }, path);
    const details = await ask(installation, link, `/consumer/qrCodeDetails/${link.id}`);
    expect(details).toMatchObject({ status: 200, body: { ...SHOWN, type: 'TT3', amount: '100.00' } });

    const response = outcomeOf(await new AppPhone(installation, link).pay({ amount: '100.00' }));
    expect(response).toMatchObject({ type: 'Approved', amount: 10_000 });
    const { serviceReference: id, authorizationCode } = response;
    await untilResponded(database, id);
    expect(installation.ledger.at(-1)).toMatchObject({ kind: 'sale', amountMinor: 0, approvedMinor: 0 });
    expect(await statusOf(installation, link.id, 'tt3QRCode')).toEqual({
      ...SHOWN,
      qrCodeState: 'TransactionCreated',
      transactionId: id,
      merchantTransactionReference: link.paymentReference,
      userId: '',
      status: 'RespondedToPhone',
      disposition: 'Approved',
      amount: 100,
      amountMinor: 10_000,
      currency: 'ZAR',
      type: 'TT3',
      responseCode: '0',
      authorisationCode: authorizationCode,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      paymentReference: link.paymentReference,
      expired: false,
      expiresAt: expect.any(String),
    });
    const headers = { 'x-api-key': await installation.apiKey() };
    const { body } = await request(installation.url, `/transactions/${id}`, { headers });
    expect(body).toMatchObject({ transactionTypeId: 2, amount: '100.00', receiptData: { transactionType: 'TT3' } });
    const refused = await refundSale(installation, id, { amount: '1.00', refundReference: `refund of ${id}` });
    expect(problemOf(refused)).toMatchObject({ status: 409, errorCode: 213 });
  }
});

test('the names in a mandate are in no column, log line or error in clear', async () => {
  const link = await createLink(together, MANDATE, '/consumer/tt3Applink');
  await ask(together, link, `/consumer/qrCodeDetails/${link.id}`);
  const texts = [await everythingStored(together.database), JSON.stringify(together.logLines)].join('\n');
  for (const secret of [MANDATE.idNumber, MANDATE.accountNumber, MANDATE.creditorABSN, link.token]) {
    expect(texts).not.toContain(secret);
  }
  expect(texts).toContain(link.id);
});
