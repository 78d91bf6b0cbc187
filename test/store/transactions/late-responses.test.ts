import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { saveAcquirer, saveProcessor, saveRoute } from '../../../src/store/settings/tenants.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { Disposition } from '../../../src/transactions/disposition.ts';
import type { JobRequest } from '../../../src/transactions/jobs.ts';
import type { LateFacts, ResponseIdentity } from '../../../src/transactions/ports.ts';
import { answeredStep, rearmStep, sentStep } from '../../../src/transactions/reversal/reversal-steps.ts';
import { Status } from '../../../src/transactions/status.ts';
import { ReversalState, type Transaction } from '../../../src/transactions/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';

const SENT_AT_MS = Date.parse('2026-03-01T10:20:30.400Z');
const PROFILE = {
  keepsStan: true,
  delaysSeconds: [5],
  giveUpAfterSeconds: 1e9,
  overtakingGuardSeconds: 5,
  acknowledged: ['00'],
  unableToLocate: ['25'],
};
const APPROVED: LateFacts = { kind: 'approved', responseCode: '00', authorizationCode: '123456' };

let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
let enqueued: JobRequest[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const jobs = { enqueue: async (_client: unknown, added: readonly JobRequest[]) => void enqueued.push(...added) };
  store = new PostgresTransactionStore(database, { ...jobs, remove: async () => {} }, () => {});
  for (const acquirerId of [1, 2]) {
    await saveAcquirer(database, acquirerId, `Acquirer ${acquirerId}`);
    for (const id of [1, 2]) {
      await saveProcessor(database, { acquirerId, id, type: 'type-1', config: {} });
      await saveRoute(database, { acquirerId, id: 100 * id, processorId: id, priority: id });
    }
  }
});
beforeEach(async () => {
  enqueued = [];
  await testDatabase.database.query('truncate transactions, late_responses');
});
afterAll(() => testDatabase.drop());

/** A stored transaction whose outcome is uncertain; `changes` makes it another. */
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
  const attempt = { moves: [], enqueue: [], answerBySeconds: 0, pinSeconds: null, handover: null };
  await store.insert({ transaction, ...attempt });
  return (await store.find(transaction))!;
}

/** What a response would name the sample by. */
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
  return (await store.findUncertain(responses)).map((found) => found?.id);
}

async function trailOf({ id }: Transaction): Promise<object[]> {
  const { rows } = await testDatabase.database.query<{ moves: object[] }>(
    'select moves from transaction_events where transaction_id = $1 order by id',
    [id],
  );
  return rows.flatMap(({ moves }) => moves);
}

describe('the uncertain transaction that a response answers', () => {
  test('is found by terminal and STAN, and by either the reference or the time', async () => {
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

  test('is not one whose outcome was never uncertain', async () => {
    await uncertain({ disposition: Disposition.Approved, reversalState: ReversalState.none });
    expect(await idsFor(identity())).toEqual([undefined]);
  });

  test('is the newest, should two have the same numbers', async () => {
    await uncertain({ createdAtMs: SENT_AT_MS - 365 * 86_400_000 });
    const { id } = await uncertain();
    expect(await idsFor(identity())).toEqual([id]);
  });

  test('is found for each response of a batch, in its order', async () => {
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

  test('is found by an index that has no entry for a tap that was answered', async () => {
    const { database } = testDatabase;
    const client = await database.connect();
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select from transactions where acquirer_id = 1 and tid = 'TW000001' and stan = '000017' and reversal_state <> 0`,
    );
    client.release(true);
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('transactions_uncertain');
    const pagesOf = async (index: string): Promise<number> => {
      const { rows: sizes } = await database.query<{ bytes: number }>('select pg_relation_size($1) as bytes', [index]);
      return sizes[0]!.bytes / 8_192;
    };
    for (let tap = 0; tap < 50; tap++) await uncertain({ reversalState: ReversalState.none });
    const justTheFirst = 1; // which tells that there is no other
    expect(await pagesOf('transactions_uncertain')).toBe(justTheFirst);
    expect(await pagesOf('transactions_owed')).toBe(justTheFirst);
    await uncertain();
    expect(await pagesOf('transactions_uncertain')).toBeGreaterThan(justTheFirst);
    expect(await pagesOf('transactions_owed')).toBeGreaterThan(justTheFirst);
  });
});

describe('a late response', () => {
  const record = (transaction: Transaction, late = APPROVED) =>
    store.recordLate({ transaction, late, rearm: rearmStep(transaction, late, SENT_AT_MS), nowMs: SENT_AT_MS });

  test('is recorded with its line in the audit trail, and re-arms a reversal with its job', async () => {
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

  test('is known when it comes again: nothing is told, nothing re-armed', async () => {
    const first = await uncertain({ reversalState: ReversalState.acknowledged, reversalAttempt: 1 });
    await record(first);
    const again = (await store.find(first))!;
    await testDatabase.database.query('update transactions set reversal_state = 3 where id = $1', [first.id]);
    expect(await record({ ...again, reversalState: ReversalState.acknowledged })).toBe('known');
    expect((await store.find(first))?.reversalState).toBe(ReversalState.acknowledged);
    expect(await trailOf(first)).toHaveLength(2);
    expect(enqueued).toHaveLength(1);
  });

  test('of which eight different ones came proves nothing new', async () => {
    const transaction = await uncertain();
    const outcomes: string[] = [];
    for (let code = 0; code < 12; code++) {
      outcomes.push(await record(transaction, { ...APPROVED, authorizationCode: String(code).padStart(6, '0') }));
    }
    expect(outcomes.filter((outcome) => outcome === 'recorded')).toHaveLength(8);
    expect(outcomes.slice(8)).toEqual(['known', 'known', 'known', 'known']);
  });

  test('decided from a row that has moved is not recorded at all', async () => {
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

  test('makes an acknowledgement worthless that is on its way for an attempt that left before', async () => {
    const owed = await uncertain();
    const attempt = { number: 1, nextJob: randomUUID(), nowMs: SENT_AT_MS };
    const sent = sentStep(owed, attempt, PROFILE);
    expect(await store.stepReversal(sent)).toBe(true);
    const underWay = { ...owed, ...sent.to };
    expect(await record(underWay)).toBe('recorded');
    expect(await store.stepReversal(answeredStep(owed, underWay, attempt, 'acknowledged', false)!)).toBe(false);
    expect(await store.find(owed)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.owed,
      reversalAttempt: 1,
    });
  });
});

describe('what a reversal learns of its original', () => {
  test('is how long its deadline is past, by the database', async () => {
    const transaction = await uncertain({ deadlineSeconds: 30 });
    const facts = await store.findOriginalFacts(transaction);
    expect(facts.sinceDeadlineSeconds).toBeGreaterThan(-31);
    expect(facts.sinceDeadlineSeconds).toBeLessThan(-20);
    expect(facts).toMatchObject({ wasAnswered: false, wasApprovedLate: false, lateAuthorizationCode: null });
  });

  test('is whether the switch has answered it, in time or late, and the first DE38 of a late approval', async () => {
    const answered = await uncertain({ responseCode: '09' });
    expect(await store.findOriginalFacts(answered)).toMatchObject({ wasAnswered: true, wasApprovedLate: false });
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
      wasAnswered: true,
      wasApprovedLate: true,
      lateAuthorizationCode: '123456',
    });
  });

  test('leaves out what answered an earlier attempt of the same transaction', async () => {
    const transaction = await uncertain();
    await store.recordLate({ transaction, late: APPROVED, rearm: undefined, nowMs: SENT_AT_MS });
    await testDatabase.database.query('update transactions set attempt = 2 where id = $1', [transaction.id]);
    expect(await store.findOriginalFacts(transaction)).toMatchObject({ wasAnswered: false, wasApprovedLate: false });
  });
});
