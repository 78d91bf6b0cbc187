import { describe, expect, test } from 'vitest';
import type { WebhookOutcome } from '../../schemas/jobs.ts';
import { type Webhook, webhook } from '../../schemas/webhook.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../src/payments/model/transaction.ts';
import { webhookBody } from '../../src/webhooks/webhook-body.ts';
import { sampleTransaction } from '../transactions/sample-transaction.ts';

const PROVIDER_ID = { tid: 'TW000001', mid: 'TEST00000001001' };
const FIELDS = { stan: '000017', rrn: '606010000017', responseCode: '00' };
const APPROVED: Partial<Transaction> = {
  disposition: Disposition.Approved,
  authorizationCode: '123456',
  providerReference: '606010000017',
  providerFields: FIELDS,
};

/** The webhook of a transaction; the row may be ahead of the outcome. */
function reported(
  row: Partial<Transaction>,
  outcome: Partial<WebhookOutcome>,
  providerId: typeof PROVIDER_ID | null = PROVIDER_ID,
) {
  const transaction = sampleTransaction(row);
  const happened: WebhookOutcome = {
    transactionId: transaction.id,
    type: 'transaction.completed',
    disposition: 'Approved',
    sequence: 1,
    at: '2026-03-01T10:00:01.234Z',
    amountMinor: 1_000,
    currency: 'ZAR',
    ...outcome,
  };
  const body: unknown = JSON.parse(webhookBody(transaction, happened, providerId ?? undefined));
  expect(webhook.strict().parse(body)).toEqual(body);
  return body as Webhook;
}

test('an approval has every member of 2.6 except an errorCode', () => {
  expect(reported(APPROVED, {})).toEqual({
    type: 'transaction.completed',
    timestamp: '2026-03-01T10:00:01.234Z',
    sequence: 1,
    id: sampleTransaction().id,
    merchantId: sampleTransaction().merchantId,
    merchantReference: 'order-4711',
    disposition: 'Approved',
    paymentProviderReference: '606010000017',
    authorisationCode: '123456',
    amount: 10,
    amountMinor: 1_000,
    currency: 'ZAR',
    serviceReference: sampleTransaction().id,
    deviceInstallationId: 'device-1',
    paymentProviderId: PROVIDER_ID,
    paymentProviderFields: FIELDS,
  });
});

test('id is the consumer transaction if there is one', () => {
  const consumerId = '44444444-4444-4444-8444-444444444444';
  expect(reported({ ...APPROVED, consumerId }, {})).toMatchObject({
    id: consumerId,
    serviceReference: sampleTransaction().id,
  });
});

test.each([
  ['refund', TransactionType.Refund],
  ['void', TransactionType.Void],
] as const)('an event of a %s has the id of its own row, and names the sale, although the sale paid a link', (_what, type) => {
  const consumerId = '44444444-4444-4444-8444-444444444444';
  const originalId = '55555555-5555-4555-8555-555555555555';
  expect(reported({ ...APPROVED, type, consumerId, originalId }, {})).toMatchObject({
    id: sampleTransaction().id,
    serviceReference: sampleTransaction().id,
    originalTransactionId: originalId,
    merchantReference: sampleTransaction().merchantReference,
  });
});

test.each([
  [1_051, 'ZAR', 10.51],
  [1_000, 'JPY', 1_000],
  [1_005, 'BHD', 1.005],
  [1, 'ZAR', 0.01],
  [999_999_999_999, 'ZAR', 9_999_999_999.99],
])('%i minor units of %s are reported as %f', (amountMinor, currency, amount) => {
  expect(reported(APPROVED, { amountMinor, currency })).toMatchObject({ amount, currency });
});

describe('a later state of the row does not change the event', () => {
  test('Indeterminate is reported as such even if the row is Voided already', () => {
    const row = {
      disposition: Disposition.Voided,
      errorCode: 203,
      providerReference: '606010000017',
      authorizationCode: '777777',
    };
    expect(reported(row, { disposition: 'Indeterminate' })).toMatchObject({
      disposition: 'Indeterminate',
      errorCode: 203,
      authorisationCode: '',
      paymentProviderReference: '606010000017',
    });
  });

  test('UnableToGoOnline has nothing of the attempt that followed it', () => {
    const event = reported(APPROVED, { disposition: 'UnableToGoOnline', amountMinor: 500 });
    expect(event).toMatchObject({ disposition: 'UnableToGoOnline', errorCode: 210, authorisationCode: '', amount: 5 });
    for (const member of ['paymentProviderReference', 'paymentProviderId', 'paymentProviderFields']) {
      expect(event).not.toHaveProperty(member);
    }
  });
});

test('what the card declined is Declined with errorCode 2', () => {
  expect(reported({}, { disposition: 'DeclinedOffline' })).toMatchObject({ disposition: 'Declined', errorCode: 2 });
});

test('a decline has its errorCode, and a void of an approval has none', () => {
  const declined = { disposition: Disposition.Declined, errorCode: 209, providerFields: { responseCode: '51' } };
  expect(reported(declined, { disposition: 'Declined' })).toMatchObject({ errorCode: 209, authorisationCode: '' });
  const voided = reported(
    { ...APPROVED, disposition: Disposition.Voided },
    { disposition: 'Voided', type: 'transaction.voided' },
  );
  expect(voided).not.toHaveProperty('errorCode');
  expect(voided).toMatchObject({ authorisationCode: '123456' });
});

test('unknown values are left out', () => {
  const { authorisationCode, ...event } = reported(
    { disposition: Disposition.Declined, errorCode: 209 },
    { disposition: 'Declined' },
    null,
  );
  expect(authorisationCode).toBe('');
  expect(Object.values(event)).not.toContain(null);
  expect(event).not.toHaveProperty('paymentProviderId');
});
