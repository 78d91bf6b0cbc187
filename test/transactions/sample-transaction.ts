import { NO_PIN } from '../../src/payments/model/pin.ts';
import { Status } from '../../src/payments/model/status.ts';
import { NO_RESULT, type Transaction, TransactionType } from '../../src/payments/model/transaction.ts';

export const SENT_AT_MS = Date.parse('2026-03-01T10:00:00Z');

/** A tap of 10.00 ZAR that was submitted to a switch with a deadline of 30 s, with the given changes. */
export function sampleTransaction(changes: Partial<Transaction> = {}): Transaction {
  return {
    ...NO_RESULT,
    ...NO_PIN,
    acquirerId: 1,
    id: '6f1c0a52-7f0e-4a57-9f57-0d9a2b1c8e11',
    integratorId: 10,
    merchantId: '1001',
    merchantReference: 'order-4711',
    deviceInstallationId: 'device-1',
    userClaim: 'till-3',
    userId: null,
    xTid: 'TERM0001',
    consumerId: null,
    correlationId: null,
    attempt: 1,
    status: Status.SubmittedToPaymentProcessor,
    type: TransactionType.Tap,
    originalId: null,
    fingerprint: 'key:mac',
    pinFingerprint: null,
    pinExpiresAtMs: null,
    panHash: 'key:hash',
    sealedCard: Uint8Array.of(1),
    amountMinor: 1_000,
    currency: 'ZAR',
    readerId: 'reader-1',
    readerTransactionId: 'r-1',
    latitude: null,
    longitude: null,
    scheme: 'Visa',
    maskedPan: '411111******1111',
    chipTags: null,
    routeId: 100,
    switchRevision: null,
    tid: 'TW000001',
    mid: 'TEST00000001001',
    stan: '000017',
    rrn: '606010000017',
    sentAtMs: SENT_AT_MS,
    deadlineSeconds: 30,
    reversalAttempt: 0,
    reversalArmedAtMs: null,
    refundedMinor: 0,
    voidState: null,
    earlierAttempts: null,
    createdAtMs: SENT_AT_MS,
    updatedAtMs: SENT_AT_MS,
    ...changes,
  };
}
