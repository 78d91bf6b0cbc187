import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decideOutcome } from '../../../src/payments/decisions/decide-outcome.ts';
import { expirePinStep, submitPinStep } from '../../../src/payments/decisions/pin-step.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { PinState, type PinStep } from '../../../src/payments/model/pin.ts';
import { Status, type StatusId } from '../../../src/payments/model/status.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { newAttempt } from './new-attempt.ts';
import { rememberJobs } from './remember-jobs.ts';

/** The guards of the statements themselves: what a use case read may be out of date by then. */
let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
const { jobs, removed, forget } = rememberJobs();
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  store = new PostgresTransactionStore(testDatabase.database, jobs, failOnBug);
});
beforeEach(forget);
afterAll(() => testDatabase.drop());

const NOW_MS = Date.now();
const EXPIRY_JOB = '99999999-2222-4333-8444-555555555555';

/** A row that awaits its PIN for that many seconds, with the given changes. */
async function awaiting(seconds = 90, changes: Partial<Transaction> = {}): Promise<Transaction> {
  const transaction = sampleTransaction({
    id: randomUUID(),
    merchantReference: randomUUID(),
    status: Status.RespondedToPhone,
    pinState: PinState.awaiting,
    pinJob: EXPIRY_JOB,
    ...changes,
  });
  expect(await store.insert(newAttempt(transaction, { pinSeconds: seconds }))).toBe('inserted');
  return stored(transaction);
}

async function stored(transaction: Transaction): Promise<Transaction> {
  return (await store.find(transaction))!;
}

function pinOf(before: Transaction, fromStatus: StatusId = before.status) {
  const next: Transaction = {
    ...before,
    ...submitPinStep({ ...before, pinState: PinState.awaiting }),
    attempt: before.attempt + 1,
    status: Status.SubmittedToPaymentProcessor,
    pinFingerprint: `key:${randomUUID()}`,
  };
  const remove = [{ queue: 'expire-pin', id: EXPIRY_JOB } as const];
  return { ...newAttempt(next), fromStatus, remove };
}

function expiryOf(transaction: Transaction) {
  const pin: PinStep = expirePinStep({ ...transaction, pinState: PinState.awaiting });
  return { transaction, disposition: Disposition.Declined, pin, auditEntries: [], nowMs: NOW_MS, enqueue: [] };
}

test('the wait ends according to the clock of the database, in seconds from the commit', async () => {
  const { pinExpiresAtMs } = await awaiting(90);
  const { rows } = await testDatabase.database.query(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  expect(pinExpiresAtMs! - rows[0].now).toBeGreaterThan(80_000);
  expect(pinExpiresAtMs! - rows[0].now).toBeLessThanOrEqual(90_000);
});

describe('a PIN', () => {
  test('is accepted while it is awaited, and ends the wait’s job', async () => {
    const before = await awaiting();
    expect(await store.submitPin(pinOf(before))).toBe(true);
    expect(await stored(before)).toMatchObject({ attempt: 2, pinState: PinState.submitted, pinExpiresAtMs: null });
    expect(removed).toEqual([['expire-pin', EXPIRY_JOB]]);
  });

  test('one of two submissions of a PIN in one batch is accepted', async () => {
    const before = await awaiting();
    const both = await Promise.all([store.submitPin(pinOf(before)), store.submitPin(pinOf(before))]);
    expect(both.toSorted()).toEqual([false, true]);
  });

  test('a PIN in a batch with one that is too late is still accepted', async () => {
    const [good, late] = [await awaiting(), await awaiting(0)];
    expect(await Promise.all([store.submitPin(pinOf(late)), store.submitPin(pinOf(good))])).toEqual([false, true]);
    expect(await stored(late)).toMatchObject({ attempt: 1, pinState: PinState.awaiting });
    expect(removed).toEqual([['expire-pin', EXPIRY_JOB]]);
  });

  test('a PIN for the previous attempt is not accepted by the next one, which awaits another', async () => {
    const before = await awaiting();
    const again = await awaiting(90, { attempt: 2 });
    expect(await store.submitPin(pinOf({ ...before, id: again.id }))).toBe(false);
  });

  test.each([
    ['another status than it was read in', { status: Status.FailedToRespondToPhone }, Status.RespondedToPhone],
    ['a step that is over', { pinState: PinState.expired }, undefined],
    ['a step that never began', { pinState: PinState.none }, undefined],
    ['a PIN that is under way', { pinState: PinState.submitted }, undefined],
  ] as const)('is not accepted in %s', async (_what, changes, fromStatus) => {
    const before = await awaiting(90, changes);
    expect(await store.submitPin(pinOf(before, fromStatus))).toBe(false);
    expect(removed).toEqual([]);
  });
});

describe('the end of the wait', () => {
  test('occurs when its time is over', async () => {
    const before = await awaiting(0);
    expect(await store.expirePin(expiryOf(before))).toBe(true);
    const after = {
      disposition: Disposition.Declined,
      pinState: PinState.expired,
      pinJob: null,
      status: before.status,
    };
    expect(await stored(before)).toMatchObject(after);
    expect(await store.submitPin(pinOf(before))).toBe(false);
  });

  test.each([
    ['before its time', 90, {}],
    ['after a PIN was submitted', 0, { pinState: PinState.submitted }],
    ['twice', 0, { pinState: PinState.expired }],
  ] as const)('does not occur %s', async (_what, seconds, changes) => {
    const before = await awaiting(seconds, changes);
    expect(await store.expirePin(expiryOf(before))).toBe(false);
    expect(await stored(before)).toEqual(before);
  });

  test('the end of the wait of the previous attempt does not affect the next one', async () => {
    const before = await awaiting(0, { attempt: 2 });
    expect(await store.expirePin(expiryOf({ ...before, attempt: 1 }))).toBe(false);
  });
});

describe('while a PIN is awaited, and its response is still to be recorded', () => {
  const ready = { status: Status.ReadyToSubmitToPaymentProcessor, deadlineSeconds: null } as const;

  test('no outcome is committed from an older version of the row', async () => {
    const transaction = await awaiting(90, ready);
    const decision = decideOutcome({ ...transaction, pinState: PinState.submitted }, { kind: 'unsent' }, NOW_MS);
    expect(await store.recordDecision({ transaction, decision, isOverdue: true, nowMs: NOW_MS })).toBe(false);
    expect(await stored(transaction)).toEqual(transaction);
  });

  test('nothing is submitted to a switch', async () => {
    const transaction = await awaiting(90, ready);
    const submitted = { ...transaction, status: Status.SubmittedToPaymentProcessor, deadlineSeconds: 30 };
    const submission = { transaction: submitted, fromStatus: ready.status, auditEntries: [], overdueSeconds: 32 };
    expect(await store.submit(submission)).toBe(false);
  });
});

test('a reference whose PIN could not be sent online is not used again', async () => {
  const unsent = { disposition: Disposition.UnableToGoOnline, pinState: PinState.done, attempt: 2 } as const;
  const withPin = await awaiting(0, { ...unsent, pinFingerprint: 'key:mac' });
  expect(await store.retry(newAttempt({ ...withPin, attempt: 3 }))).toBe(false);
  const firstTap = await awaiting(0, { ...unsent, pinFingerprint: null });
  expect(await store.retry(newAttempt({ ...firstTap, attempt: 3 }))).toBe(true);
});

test('a reference that became that of a link is not used again without it', async () => {
  const unsent = await awaiting(0, { disposition: Disposition.UnableToGoOnline, pinState: PinState.none });
  const { acquirerId, merchantId, merchantReference } = unsent;
  // The link does not depend on others: its merchant is not in the directory.
  await testDatabase.database.query(`
    alter table links drop constraint links_acquirer_id_merchant_id_fkey;
    insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor, currency, is_consumer_app, expires_at)
    values (${acquirerId}, gen_random_uuid(), 1, '${merchantId}', 'link', 1, '${merchantReference}', 1000, 'ZAR', false, now() + interval '1 h')`);
  expect(await store.retry(newAttempt({ ...unsent, attempt: 2 }))).toBe(false);
  await testDatabase.database.query('update links set is_expired = true');
  expect(await store.retry(newAttempt({ ...unsent, attempt: 2 }))).toBe(true);
});
