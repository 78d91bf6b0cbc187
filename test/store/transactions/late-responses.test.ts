import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { REVERSAL_CODES } from '../../../src/kits/processor-kit/classify-outcome.ts';
import { stepOfResponse } from '../../../src/payments/decisions/reversal-responses.ts';
import { sentStep, unsentStep } from '../../../src/payments/decisions/reversal-steps.ts';
import type { LateFacts } from '../../../src/payments/model/decision.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { PinState } from '../../../src/payments/model/pin.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState, type Transaction } from '../../../src/payments/model/transaction.ts';
import type { ResponseIdentity, SentReversal } from '../../../src/payments/ports/store-ports.ts';
import { lateStep } from '../../../src/payments/reversals/late-responses.ts';
import { saveAcquirer, saveProcessor, saveRoute } from '../../../src/store/settings/tenants.ts';
import { IS_OPEN_TO_RESPONSE } from '../../../src/store/transactions/late-responses.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { newAttempt } from './new-attempt.ts';
import { rememberJobs } from './remember-jobs.ts';

const SENT_AT_MS = Date.parse('2026-03-01T10:20:30.400Z');
const PROFILE = {
  deadlineMs: 30_000,
  reversal: {
    keepsStan: true,
    delaysSeconds: [5],
    giveUpAfterSeconds: 1e9,
    overtakingGuardSeconds: 5,
    codes: REVERSAL_CODES,
  },
};
const NOBODY_TO_TELL = { directory: { webhookEndpoint: () => undefined }, newId: randomUUID } as unknown as Parameters<
  typeof lateStep
>[0];
const APPROVED: LateFacts = { kind: 'approved', responseCode: '00', authorizationCode: '123456' };

let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
const { jobs, enqueued, forget } = rememberJobs();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  store = new PostgresTransactionStore(database, jobs, () => {});
  for (const acquirerId of [1, 2]) {
    await saveAcquirer(database, acquirerId, `Acquirer ${acquirerId}`);
    for (const id of [1, 2]) {
      await saveProcessor(database, { acquirerId, id, type: 'type-1', config: {} });
      await saveRoute(database, { acquirerId, id: 100 * id, processorId: id, priority: id });
    }
  }
});
beforeEach(async () => {
  forget();
  await testDatabase.database.query('truncate transactions, late_responses, reversal_attempts, superseded_attempts');
});
afterAll(() => testDatabase.drop());

/** A stored transaction with an uncertain outcome, with the given changes. */
async function uncertain(changes: Partial<Transaction> = {}): Promise<Transaction> {
  const transaction = sampleTransaction({
    id: randomUUID(),
    merchantReference: randomUUID(),
    status: Status.FailedToRespondToPhone,
    disposition: Disposition.Indeterminate,
    reversalState: ReversalState.owed,
    sentAtMs: SENT_AT_MS,
    ...changes,
  });
  await store.insert(newAttempt(transaction));
  return (await store.find(transaction))!;
}

/** The first attempt of its reversal, at a whole second. */
const attemptOf = ({ stan }: Transaction) => ({
  ...{ number: 1, stan: stan!, processorId: 1, couldOvertake: false, nextJob: randomUUID(), nowMs: SENT_AT_MS },
  sentAtMs: Math.floor(SENT_AT_MS / 1_000) * 1_000,
});

function acknowledged(transaction: Transaction, attempts: readonly SentReversal[]) {
  const facts = { attempts, wasApprovedLate: false };
  const { sentAtMs } = attempts[0]!;
  return stepOfResponse({ transaction, facts, sentAtMs, response: 'acknowledged', nowMs: SENT_AT_MS })!;
}

/** The identity with which a response names the sample. */
const identity = (changes: Partial<ResponseIdentity> = {}): ResponseIdentity => ({
  acquirerId: 1,
  processorId: 1,
  stan: '000017',
  tid: 'TW000001',
  rrn: '606010000017',
  transmissionDateTime: '0301102030',
  ...changes,
});

async function idsFor(...responses: ResponseIdentity[]): Promise<(string | undefined)[]> {
  return (await store.findRequestsOfResponses(responses)).map((found) => found?.id);
}

async function trailOf(transaction: Transaction): Promise<object[]> {
  return (await store.events(transaction)).flatMap(({ auditEntries }) => auditEntries);
}

describe('an approved request', () => {
  const approved = (changes: Partial<Transaction> = {}) =>
    uncertain({
      ...{ disposition: Disposition.Approved, reversalState: ReversalState.none, responseCode: '00' },
      ...{ createdAtMs: SENT_AT_MS - 1_000, ...changes },
    });
  const approvedFor = async (...responses: ResponseIdentity[]) =>
    (await store.findApproved(responses)).map((found) => found?.id);

  test('is found by the time of its request, or by the hour in its reference', async () => {
    const { id } = await approved();
    const found = await approvedFor(
      identity(),
      identity({ rrn: 'BANK00000001' }),
      identity({ rrn: undefined }),
      identity({ transmissionDateTime: undefined }),
      identity({ transmissionDateTime: '0401102030' }), // of the switch's own clock
    );
    expect(found).toEqual([id, id, id, id, id]);
    expect(await idsFor(identity())).toEqual([undefined]);
  });

  test('is not found for another terminal, number, acquirer or processor, or without a time', async () => {
    await approved();
    const found = await approvedFor(
      identity({ tid: 'TW000002' }),
      identity({ stan: '000018' }),
      identity({ acquirerId: 2 }),
      identity({ processorId: 2 }),
      identity({ rrn: 'BANK00000001', transmissionDateTime: undefined }),
      identity({ rrn: 'BANK00000001', transmissionDateTime: '9999999999' }),
      identity({ rrn: '606010000018', transmissionDateTime: '0301112030' }),
    );
    expect(found).toEqual(found.map(() => undefined));
  });

  test('an approved request of a later attempt is found with those that may still change, because its row is older', async () => {
    const { id } = await approved({ attempt: 2, createdAtMs: SENT_AT_MS - 86_400_000 });
    expect(await idsFor(identity())).toEqual([id]);
  });
});

describe('the request that a response belongs to', () => {
  test('is found with terminal and STAN, and with either the reference or the time', async () => {
    const { id } = await uncertain();
    const found = await idsFor(
      identity(),
      identity({ rrn: 'BANK00000001' }),
      identity({ rrn: undefined }),
      identity({ transmissionDateTime: '0301102031' }),
      identity({ transmissionDateTime: undefined }),
    );
    expect(found).toEqual([id, id, id, id, id]);
  });

  test.each<[string, Partial<ResponseIdentity>]>([
    ['acquirer', { acquirerId: 2 }],
    ['processor', { processorId: 2 }],
    ['terminal', { tid: 'TW000002' }],
    ['STAN', { stan: '000018' }],
    ['reference and time', { rrn: 'BANK00000001', transmissionDateTime: '0301102031' }],
    ['reference and time, both missing', { rrn: undefined, transmissionDateTime: undefined }],
  ])('is not one with another %s', async (_what, changes) => {
    await uncertain();
    expect(await idsFor(identity(changes))).toEqual([undefined]);
  });

  test.each([
    ['was approved', { disposition: Disposition.Approved }],
    ['was never written', { disposition: Disposition.UnableToGoOnline }],
    ['was declined by the card', { disposition: Disposition.DeclinedOffline }],
    ['has no outcome yet', { disposition: null, status: Status.SubmittedToPaymentProcessor }],
  ])('is not one that %s', async (_what, changes) => {
    await uncertain({ ...changes, reversalState: ReversalState.none });
    expect(await idsFor(identity())).toEqual([undefined]);
  });

  test.each([
    ['was declined', { disposition: Disposition.Declined }],
    ['awaits a PIN', { disposition: null, pinState: PinState.awaiting }],
  ])('is one that %s: an approval may follow', async (_what, changes) => {
    const { id } = await uncertain({ ...changes, reversalState: ReversalState.none });
    expect(await idsFor(identity())).toEqual([id]);
  });

  test('is the newest, if two have the same numbers', async () => {
    const aYearAgoMs = SENT_AT_MS - 365 * 86_400_000;
    await uncertain({ createdAtMs: aYearAgoMs, sentAtMs: aYearAgoMs });
    const { id } = await uncertain();
    expect(await idsFor(identity())).toEqual([id]);
  });

  test('is found for each response of a batch, in order', async () => {
    const first = await uncertain();
    const second = await uncertain({ stan: '000018', rrn: '606010000018' });
    const of18 = identity({ stan: '000018', rrn: '606010000018' });
    expect(await idsFor(of18, identity({ stan: '000019' }), identity(), of18)).toEqual([
      second.id,
      undefined,
      first.id,
      second.id,
    ]);
    expect(await idsFor()).toEqual([]);
  });

  test('is found in an index that has no entry for a tap that has a response', async () => {
    const { database } = testDatabase;
    const client = await database.connect();
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select from transactions t where acquirer_id = 1 and tid = 'TW000001' and stan = '000017' and ${IS_OPEN_TO_RESPONSE}`,
    );
    client.release(true);
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('transactions_default_acquirer_id_tid_stan_idx');
    const pagesOf = async (index: string): Promise<number> => {
      const { rows: sizes } = await database.query<{ bytes: number }>('select pg_relation_size($1) as bytes', [index]);
      return sizes[0]!.bytes / 8_192;
    };
    const approved = { disposition: Disposition.Approved, reversalState: ReversalState.none };
    for (let tap = 0; tap < 50; tap++) await uncertain(approved);
    const justTheFirst = 1; // which shows that there is no other
    expect(await pagesOf('transactions_default_acquirer_id_tid_stan_idx')).toBe(justTheFirst);
    expect(await pagesOf('transactions_default_acquirer_id_stan_idx')).toBe(justTheFirst);
    await uncertain();
    expect(await pagesOf('transactions_default_acquirer_id_tid_stan_idx')).toBeGreaterThan(justTheFirst);
    expect(await pagesOf('transactions_default_acquirer_id_stan_idx')).toBeGreaterThan(justTheFirst);
  });
});

describe('a late response', () => {
  const record = (transaction: Transaction, late = APPROVED) =>
    store.recordLate({
      ...{ transaction, late, nowMs: SENT_AT_MS },
      rearm: lateStep(NOBODY_TO_TELL, transaction, late, SENT_AT_MS),
    });

  test('is recorded with an audit entry, and re-arms a reversal with its job', async () => {
    const voided = await uncertain({
      disposition: Disposition.Voided,
      reversalState: ReversalState.acknowledged,
      reversalAttempt: 2,
    });
    expect(await record(voided)).toBe('recorded');
    expect(await store.find(voided)).toMatchObject({
      disposition: Disposition.Voided,
      reversalState: ReversalState.owed,
      reversalAttempt: 2,
    });
    expect(enqueued).toMatchObject([{ queue: 'reverse', data: { id: voided.id, reversalAttempt: 3 } }]);
    const at = new Date(SENT_AT_MS).toISOString();
    expect(await trailOf(voided)).toEqual([
      { late: 'approved', responseCode: '00', at },
      { reversal: 'owed', attempt: 2, at },
    ]);
  });

  test('is recognized when it is repeated: nothing is reported, nothing re-armed', async () => {
    const first = await uncertain({ reversalState: ReversalState.acknowledged, reversalAttempt: 1 });
    await record(first);
    const again = (await store.find(first))!;
    await testDatabase.database.query('update transactions set reversal_state = 3 where id = $1', [first.id]);
    expect(await record({ ...again, reversalState: ReversalState.acknowledged })).toBe('known');
    expect((await store.find(first))?.reversalState).toBe(ReversalState.acknowledged);
    expect(await trailOf(first)).toHaveLength(2);
    expect(enqueued).toHaveLength(1);
  });

  test('a late response after eight different ones proves nothing new', async () => {
    const transaction = await uncertain();
    const outcomes: string[] = [];
    for (let code = 0; code < 12; code++) {
      outcomes.push(await record(transaction, { ...APPROVED, authorizationCode: String(code).padStart(6, '0') }));
    }
    expect(outcomes.filter((outcome) => outcome === 'recorded')).toHaveLength(8);
    expect(outcomes.slice(8)).toEqual(['known', 'known', 'known', 'known']);
    // Earlier responses must not hide one with another meaning.
    expect(await record(transaction, { ...APPROVED, kind: 'unknown' })).toBe('recorded');
  });

  test('decided from a changed row is not recorded at all', async () => {
    const transaction = await uncertain({ reversalState: ReversalState.sent, reversalAttempt: 1 });
    await testDatabase.database.query('update transactions set reversal_state = 3 where id = $1', [transaction.id]);
    expect(await record(transaction)).toBe('moved');
    expect(await trailOf(transaction)).toEqual([]);
    const { rowCount } = await testDatabase.database.query('select from late_responses');
    expect(rowCount).toBe(0);
    await testDatabase.database.query('update transactions set reversal_state = 2, attempt = 2 where id = $1', [
      transaction.id,
    ]);
    expect(await record(transaction)).toBe('moved');
  });

  test('invalidates an acknowledgement in transit for an earlier attempt', async () => {
    const owed = await uncertain();
    const sent = sentStep(owed, attemptOf(owed), 0, PROFILE);
    expect(await store.stepReversal(sent)).toBe(true);
    const underWay = { ...owed, ...sent.to };
    expect(await record(underWay)).toBe('recorded');
    const { attempts } = await store.findOriginalFacts(owed);
    expect(attempts).toMatchObject([{ counts: false }]);
    expect(await store.stepReversal(acknowledged(underWay, [{ ...attempts[0]!, counts: true }]))).toBe(false);
    expect(await store.stepReversal(acknowledged((await store.find(owed))!, attempts))).toBe(true);
    expect(await store.find(owed)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.owed,
      reversalAttempt: 1,
    });
  });
});

describe('what a reversal reads of its original', () => {
  test('is how long its deadline is past, according to the database', async () => {
    const transaction = await uncertain({ deadlineSeconds: 30 });
    const facts = await store.findOriginalFacts(transaction);
    expect(facts.sinceDeadlineSeconds).toBeGreaterThan(-31);
    expect(facts.sinceDeadlineSeconds).toBeLessThan(-20);
    expect(facts).toMatchObject({ hasResponse: false, wasApprovedLate: false, lateAuthorizationCode: null });
  });

  test('is whether the switch has responded to it, in time or late, and the first DE38 of a late approval', async () => {
    const responded = await uncertain({ responseCode: '09' });
    expect(await store.findOriginalFacts(responded)).toMatchObject({ hasResponse: true, wasApprovedLate: false });
    const late = await uncertain();
    const facts = [
      { kind: 'declined', responseCode: '51', authorizationCode: '' },
      APPROVED,
      { ...APPROVED, authorizationCode: '999999' },
    ] as const;
    for (const each of facts) {
      await store.recordLate({ transaction: late, late: each, rearm: undefined, nowMs: SENT_AT_MS });
    }
    expect(await store.findOriginalFacts(late)).toMatchObject({
      hasResponse: true,
      wasApprovedLate: true,
      lateAuthorizationCode: '123456',
    });
  });

  test('excludes responses without a good MAC, or that could not be read: they have no response code', async () => {
    const transaction = await uncertain();
    const late = { kind: 'unknown', responseCode: '', authorizationCode: '' } as const;
    await store.recordLate({ transaction, late, rearm: undefined, nowMs: SENT_AT_MS });
    expect(await store.findOriginalFacts(transaction)).toMatchObject({ hasResponse: false });
  });

  test('excludes responses to an earlier attempt of the same transaction', async () => {
    const transaction = await uncertain();
    await store.recordLate({ transaction, late: APPROVED, rearm: undefined, nowMs: SENT_AT_MS });
    await testDatabase.database.query('update transactions set attempt = 2 where id = $1', [transaction.id]);
    const later = { ...transaction, attempt: 2 };
    expect(await store.findOriginalFacts(later)).toMatchObject({ hasResponse: false, wasApprovedLate: false });
  });
});

describe('the attempt of a reversal that a response belongs to', () => {
  const late = (changes: Partial<ResponseIdentity> = {}) => identity({ rrn: undefined, ...changes });

  async function sentTwice(): Promise<Transaction> {
    const transaction = await uncertain();
    const first = attemptOf(transaction);
    const step = sentStep(transaction, first, 0, PROFILE);
    await store.stepReversal(step);
    const second = { ...first, number: 2, sentAtMs: first.sentAtMs + 30_000 };
    await store.stepReversal(sentStep({ ...transaction, ...step.to }, second, 1, PROFILE));
    return transaction;
  }

  test('is found with terminal, STAN and its own DE7', async () => {
    const { id } = await sentTwice();
    const found = await store.findReversals([
      late({ transmissionDateTime: '0301102030' }),
      late({ transmissionDateTime: '0301102100' }),
    ]);
    const first = Math.floor(SENT_AT_MS / 1_000) * 1_000;
    expect(found).toEqual([
      { acquirerId: 1, id, attempt: 1, sentAtMs: first },
      { acquirerId: 1, id, attempt: 1, sentAtMs: first + 30_000 },
    ]);
  });

  test.each<[string, Partial<ResponseIdentity>]>([
    ['acquirer', { acquirerId: 2 }],
    ['processor', { processorId: 2 }],
    ['terminal', { tid: 'TW000002' }],
    ['STAN', { stan: '000018' }],
    ['time', { transmissionDateTime: '0301102031' }],
  ])('is not one with another %s', async (_what, changes) => {
    await sentTwice();
    expect(await store.findReversals([late(changes)])).toEqual([undefined]);
  });

  test('is found without DE7 with its own STAN and the reference', async () => {
    const transaction = await uncertain();
    await store.stepReversal(sentStep(transaction, { ...attemptOf(transaction), stan: '000018' }, 0, PROFILE));
    const withoutTime = identity({ transmissionDateTime: undefined, stan: '000018' });
    expect(await store.findReversals([withoutTime])).toMatchObject([{ id: transaction.id, attempt: 1 }]);
    expect(await store.findReversals([{ ...withoutTime, rrn: '606010000018' }])).toEqual([undefined]);
  });

  test('is not found without DE7 with the STAN of its original, because the response may belong to that', async () => {
    await sentTwice();
    await testDatabase.database.query('delete from reversal_attempts where number = 2');
    expect(await store.findReversals([identity({ transmissionDateTime: undefined })])).toEqual([undefined]);
  });

  test('is not one whose DE7 is of another message, with any reference', async () => {
    await sentTwice();
    await testDatabase.database.query('delete from reversal_attempts where number = 2');
    // A switch that responds to the sale as a 0430 echoes the DE7 of the sale: it acknowledges no reversal.
    expect(await store.findReversals([identity({ transmissionDateTime: '0301101959' })])).toEqual([undefined]);
  });

  test('exists until it is known that no byte of it was sent', async () => {
    const transaction = await uncertain();
    const attempt = attemptOf(transaction);
    const step = sentStep(transaction, attempt, 0, PROFILE);
    await store.stepReversal(step);
    expect(await store.findOriginalFacts(transaction)).toMatchObject({
      attempts: [{ number: 1, sentAtMs: attempt.sentAtMs, response: null, counts: true, nextJob: attempt.nextJob }],
      underWaySeconds: expect.toSatisfy((seconds: number) => seconds > 20 && seconds <= 30),
    });
    const sent = { ...transaction, ...step.to };
    await store.stepReversal(unsentStep(transaction, sent, attempt, 5, PROFILE.reversal));
    expect(await store.findOriginalFacts(transaction)).toMatchObject({ attempts: [], underWaySeconds: 0 });
  });

  test('guards decisions: a step that knows fewer attempts is out of date', async () => {
    const transaction = await uncertain();
    const step = sentStep(transaction, attemptOf(transaction), 1, PROFILE);
    expect(await store.stepReversal(step)).toBe(false);
  });
});
