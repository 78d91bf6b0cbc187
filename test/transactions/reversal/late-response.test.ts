import { describe, expect, test } from 'vitest';
import { SealError } from '../../../src/basics/errors.ts';
import type { Outcome } from '../../../src/kits/processor-kit/processor.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { PinState } from '../../../src/payments/model/pin.ts';
import { ReversalState, type Transaction, VoidState } from '../../../src/payments/model/transaction.ts';
import type { LateRecord, LateRecordOutcome, TransactionStore } from '../../../src/payments/ports/store-ports.ts';
import type { CardVault } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import {
  LateResponses,
  lateFactsOf,
  lateStep,
  type UnmatchedResponse,
} from '../../../src/payments/reversals/late-responses.ts';
import { ReversalSteps } from '../../../src/payments/reversals/record-reversal-response.ts';
import { UNOBSERVED } from '../../support/unobserved.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const { owed, sent, confirming, acknowledged, needsReview } = ReversalState;
const KEPT = { mti: '0200', amount: '000000001000' };
const FACTS = { responseCode: '00', authorizationCode: '123456', cardTags: [] };
const APPROVED: Outcome = { ...FACTS, kind: 'approved', approvedMinor: 1_000 };
const DECLINED: Outcome = { ...FACTS, kind: 'declined', responseCode: '51' };

const VOIDED = sampleTransaction({
  disposition: Disposition.Voided,
  reversalState: acknowledged,
  reversalAttempt: 1,
});

function unmatched(outcome: Outcome | undefined = APPROVED): UnmatchedResponse {
  return {
    acquirerId: 1,
    processorId: 1,
    stan: '000017',
    tid: 'TW000001',
    rrn: '606010000017',
    transmissionDateTime: '0301100000',
    read: (original) => {
      expect(original).toEqual(KEPT);
      return outcome;
    },
  };
}

/**
 * Dependencies whose store contains `found`, returns `outcomes` for what is recorded, and `rows` for repeated reads.
 */
function worldWith(
  found: (Transaction | undefined)[],
  { outcomes = ['recorded'], rows = [] }: { outcomes?: LateRecordOutcome[]; rows?: (Transaction | undefined)[] } = {},
  open: CardVault['open'] = () => ({ pan: '4111111111111111', expiry: '3012', original: KEPT }),
) {
  const records: LateRecord[] = [];
  const store = {
    findRequestsOfResponses: async () => found,
    findOriginalFacts: async () => ({ lateAuthorizationCode: null }),
    recordLate: async (record: LateRecord) => {
      records.push(record);
      return outcomes.shift() ?? 'recorded';
    },
    findRequest: async () => rows.shift(),
  } as unknown as TransactionStore;
  const reviews: string[] = [];
  const deps = {
    store,
    vault: { open } as CardVault,
    clock: { nowMs: () => SENT_AT_MS + 60_000, monotonicMs: () => 0 },
    directory: { webhookEndpoint: () => 'endpoint' } as unknown as TransactionDependencies['directory'],
    newId: () => 'event',
    refunds: {} as TransactionDependencies['refunds'],
    observer: UNOBSERVED,
    wakeups: { announce: () => {} } as unknown as TransactionDependencies['wakeups'],
    alarms: { needsReview: ({ id }: { id: string }) => void reviews.push(id) },
  };
  const ports = deps as unknown as TransactionDependencies;
  return { records, reviews, deps, late: new LateResponses(ports, new ReversalSteps(ports)) };
}

describe('an unmatched response', () => {
  test('an unmatched response of an uncertain transaction is late, and is recorded with the step that it causes', async () => {
    const { late, records } = worldWith([VOIDED]);
    expect(await late.recordUnmatched([unmatched()])).toEqual(['late']);
    expect(records).toMatchObject([
      {
        transaction: VOIDED,
        late: { kind: 'approved', responseCode: '00', authorizationCode: '123456' },
        rearm: { to: { disposition: Disposition.Voided }, auditEntries: [{ reversal: 'owed', attempt: 1 }] },
        nowMs: SENT_AT_MS + 60_000,
      },
    ]);
  });

  test('an unmatched response that declines is recorded and causes nothing', async () => {
    const { late, records } = worldWith([VOIDED]);
    expect(await late.recordUnmatched([unmatched(DECLINED)])).toEqual(['late']);
    expect(records[0]).toMatchObject({ late: { kind: 'declined', authorizationCode: '' }, rearm: undefined });
  });

  test('an unmatched response that was recorded before is a duplicate', async () => {
    const { late } = worldWith([VOIDED], { outcomes: ['known'] });
    expect(await late.recordUnmatched([unmatched()])).toEqual(['duplicate']);
  });

  test('an unmatched response that belongs to nothing uncertain, or to another kind of message, is unknown', async () => {
    const { late, records } = worldWith([undefined, VOIDED]);
    const ofAnotherKind = { ...unmatched(), read: () => undefined };
    expect(await late.recordUnmatched([unmatched(), ofAnotherKind])).toEqual(['unknown', 'unknown']);
    expect(records).toEqual([]);
  });

  test('is decided again if the reversal has taken a step meanwhile', async () => {
    const before = { ...VOIDED, disposition: Disposition.Indeterminate, reversalState: sent };
    const { late, records } = worldWith([before], { outcomes: ['moved', 'recorded'], rows: [VOIDED] });
    expect(await late.recordUnmatched([unmatched()])).toEqual(['late']);
    expect(records.map(({ transaction }) => transaction)).toEqual([before, VOIDED]);
    expect(records[1]?.rearm?.to.disposition).toBe(Disposition.Voided);
  });

  test('is given up if the reversal keeps changing, or was removed: it is looked up again', async () => {
    const restless = worldWith([VOIDED], { outcomes: ['moved', 'moved', 'moved'], rows: [VOIDED, VOIDED, VOIDED] });
    expect(await restless.late.recordUnmatched([unmatched()])).toEqual(['unknown']);
    expect(restless.records).toHaveLength(3);
    const gone = worldWith([VOIDED], { outcomes: ['moved'] });
    expect(await gone.late.recordUnmatched([unmatched()])).toEqual(['unknown']);
    expect(gone.records).toHaveLength(1);
  });

  test('an unmatched response whose original can no longer be opened may have been an approval', async () => {
    const { late, records } = worldWith([VOIDED], {}, () => {
      throw new SealError('KEY_GONE');
    });
    expect(await late.recordUnmatched([unmatched()])).toEqual(['late']);
    expect(records[0]).toMatchObject({ late: { kind: 'unknown', authorizationCode: '' }, rearm: expect.anything() });
  });

  test('an unmatched response on which the processor fails may have been an approval, and does not affect the others of its batch', async () => {
    const strange: UnmatchedResponse = {
      ...unmatched(),
      read: () => {
        throw new TypeError('unexpected');
      },
    };
    const other = { ...VOIDED, id: 'b1c8a4be-45c0-4d3a-9d2f-64d1a1f6a002' };
    const { late, records } = worldWith([VOIDED, other]);
    expect(await late.recordUnmatched([strange, unmatched()])).toEqual(['late', 'late']);
    expect(records.map(({ late }) => late.kind)).toEqual(['unknown', 'approved']);
  });
});

test('repeated in one batch is one commit; another response is another', async () => {
  const { late, records } = worldWith([VOIDED, VOIDED, VOIDED, VOIDED]);
  const kinds = await late.recordUnmatched([unmatched(), unmatched(), unmatched(DECLINED), unmatched()]);
  expect(kinds).toEqual(['late', 'duplicate', 'late', 'duplicate']);
  expect(records).toHaveLength(2);
});

test.each<[Outcome, object]>([
  [APPROVED, { kind: 'approved', responseCode: '00', authorizationCode: '123456', approvedMinor: 1_000 }],
  [DECLINED, { kind: 'declined', responseCode: '51', authorizationCode: '' }],
  [
    { ...FACTS, kind: 'pinRequired', responseCode: '70' },
    { kind: 'declined', responseCode: '70', authorizationCode: '' },
  ],
  [
    { ...FACTS, kind: 'unknown', why: 'MAC bad' },
    { kind: 'unknown', responseCode: '00', authorizationCode: '' },
  ],
])('a late response with outcome %o states no more than is certain', (outcome, facts) => {
  expect(lateFactsOf(outcome)).toEqual(facts);
});

describe('the effect of a late response', () => {
  const { deps } = worldWith([]);
  const approved = { kind: 'approved', responseCode: '00', authorizationCode: '123456' } as const;
  const causedBy = (request: Transaction, late: Parameters<typeof lateStep>[2] = approved) =>
    lateStep(deps, request, late, SENT_AT_MS);
  const uncertain = (reversalState: Transaction['reversalState'], reversalAttempt: number) =>
    sampleTransaction({ disposition: Disposition.Indeterminate, reversalState, reversalAttempt });

  test.each([
    sent,
    confirming,
    acknowledged,
    needsReview,
  ])('is a reversal pending again from state %i, immediately', (state) => {
    expect(causedBy(uncertain(state, 2))).toMatchObject({
      auditEntries: [{ reversal: 'owed', attempt: 2 }],
      enqueue: [{ queue: 'reverse', data: { reversalAttempt: 3 } }],
    });
  });

  test.each([
    ['declines', uncertain(sent, 1), { ...approved, kind: 'declined' }],
    ['comes before any attempt left', uncertain(owed, 0), approved],
    ['arrives while the reversal is pending again already', uncertain(owed, 2), approved],
    ['is of an approved sale', sampleTransaction({ disposition: Disposition.Approved }), approved],
  ] as const)('is nothing if it %s', (_what, request, late) => {
    expect(causedBy(request, late)).toBeUndefined();
  });

  test.each([
    'approved',
    'unknown',
  ] as const)('the effect of a late response after a decline, %s, is a reversal and a review', (kind) => {
    const declined = sampleTransaction({ disposition: Disposition.Declined, responseCode: '91' });
    expect(causedBy(declined, { ...approved, kind })).toMatchObject({
      to: { disposition: Disposition.Declined, needsReview: true },
      enqueue: [{ queue: 'reverse', data: { reversalAttempt: 1 } }],
    });
  });

  test('the effect of a late response while a PIN is awaited is also the end of the wait, which the integrator is notified of', () => {
    const pinJob = '44444444-2222-4333-8444-555555555555';
    const awaiting = sampleTransaction({ pinState: PinState.awaiting, pinJob });
    expect(causedBy(awaiting)).toMatchObject({
      to: { disposition: Disposition.Declined, needsReview: true, pinState: PinState.expired, pinJob: null },
      auditEntries: [{ pin: 'expired' }],
      enqueue: [{ queue: 'reverse' }, { queue: 'webhook', data: { outcome: { disposition: 'Declined' } } }],
      remove: [{ queue: 'expire-pin', id: pinJob }],
    });
  });
});

describe('the response that decided, repeated,', () => {
  const { Approved, Declined } = Disposition;
  const asked = { reversalState: sent, reversalAttempt: 1, voidState: VoidState.asked };

  test.each<[string, Partial<Transaction>, Outcome]>([
    [
      'an approval of a sale that is voided',
      { ...asked, disposition: Approved, approvedMinor: 1_000, responseCode: '00' },
      APPROVED,
    ],
    ['a decline', { disposition: Declined, responseCode: '51' }, DECLINED],
    ['a wish for a PIN', { pinState: PinState.awaiting, responseCode: '51' }, DECLINED],
  ])('%s, is a duplicate: it proves nothing new', async (_what, changes, outcome) => {
    const { late, records } = worldWith([sampleTransaction({ authorizationCode: '123456', ...changes })]);
    expect(await late.recordUnmatched([unmatched(outcome)])).toEqual(['duplicate']);
    expect(records).toEqual([]);
  });

  test('the response that decided, repeated, with another DE38 is another approval: the void is sent again', async () => {
    const sale = sampleTransaction({
      ...asked,
      disposition: Approved,
      responseCode: '00',
      authorizationCode: '999999',
    });
    const { late, records } = worldWith([sale]);
    expect(await late.recordUnmatched([unmatched()])).toEqual(['late']);
    expect(records[0]).toMatchObject({ rearm: { auditEntries: [{ reversal: 'owed' }] } });
  });
});

test('an approval after a decline needs review', async () => {
  const declined = sampleTransaction({ disposition: Disposition.Declined, responseCode: '91' });
  const { late, reviews } = worldWith([declined]);
  await late.recordUnmatched([unmatched()]);
  expect(reviews).toEqual([declined.id]);
});
