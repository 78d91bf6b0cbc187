import { describe, expect, test } from 'vitest';
import type { ReversalProfile } from '../../../src/processor-kit/profile.ts';
import { Disposition } from '../../../src/transactions/disposition.ts';
import type { LateFacts } from '../../../src/transactions/ports.ts';
import {
  answeredStep,
  exhaustedStep,
  isDue,
  rearmStep,
  sentStep,
  unsentStep,
} from '../../../src/transactions/reversal/reversal-steps.ts';
import { ReversalState, type ReversalStateId, type Transaction } from '../../../src/transactions/transaction.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const { owed, sent, confirming, acknowledged, needsReview, none } = ReversalState;
const HOUR = 3_600;
const PROFILE: ReversalProfile = {
  keepsStan: true,
  delaysSeconds: [5, 30, 120, 600, 1_800, HOUR],
  giveUpAfterSeconds: 72 * HOUR,
  overtakingGuardSeconds: 5,
  acknowledged: ['00'],
  unableToLocate: ['25'],
};
const NEXT_JOB = '22222222-3333-4444-8555-666666666666';

const late = (kind: LateFacts['kind']): LateFacts => ({ kind, responseCode: '00', authorizationCode: '123456' });

function uncertain(
  reversalState: ReversalStateId,
  reversalAttempt = 0,
  changes: Partial<Transaction> = {},
): Transaction {
  return sampleTransaction({
    disposition: Disposition.Indeterminate,
    status: 9,
    reversalState,
    reversalAttempt,
    ...changes,
  });
}

/** Attempt `number`, so many seconds after the original was sent. */
const attempt = (number: number, atSeconds = 60) => ({
  number,
  nextJob: NEXT_JOB,
  nowMs: SENT_AT_MS + atSeconds * 1_000,
});

/** The job that asks for attempt `number`. */
function job(transaction: Transaction, number: number, startAfterSeconds?: number, id?: string) {
  const { acquirerId, id: transactionId, attempt: of } = transaction;
  const data = { acquirerId, id: transactionId, attempt: of, reversalAttempt: number };
  return { queue: 'reverse', data, ...(startAfterSeconds !== undefined && { startAfterSeconds }), ...(id && { id }) };
}

describe('an attempt is due', () => {
  test.each([
    ['owed', owed, true],
    ['sent', sent, true],
    ['confirming', confirming, true],
    ['waiting for a person', needsReview, true],
    ['acknowledged', acknowledged, false],
    ['not owed at all', none, false],
  ])('while the reversal is %s: %s -> %s', (_what, state, expected) => {
    expect(isDue(uncertain(state, 2), 3)).toBe(expected);
  });

  test.each([1, 2, 4])('only when it is the next one: not attempt %i after two', (number) => {
    expect(isDue(uncertain(sent, 2), number)).toBe(false);
  });
});

describe('an attempt that is sent', () => {
  test.each([
    [1, 5],
    [2, 30],
    [3, 120],
    [4, 600],
    [5, 1_800],
    [6, HOUR],
    [7, HOUR],
    [30, HOUR],
  ])('as number %i has the next one committed with it, %i s later', (number, delaySeconds) => {
    const before = uncertain(number === 1 ? owed : sent, number - 1);
    const step = sentStep(before, attempt(number), PROFILE);
    expect(step.to).toEqual({
      reversalState: sent,
      reversalAttempt: number,
      disposition: Disposition.Indeterminate,
      needsReview: false,
    });
    expect(step.told).toEqual([{ reversal: 'sent', attempt: number }]);
    expect(step.enqueue).toEqual([job(before, number + 1, delaySeconds, NEXT_JOB)]);
  });

  test('as the last one that fits into the time calls for a person and has none after it', () => {
    const atSeconds = 72 * HOUR - HOUR + 1;
    const step = sentStep(uncertain(sent, 80), attempt(81, atSeconds), PROFILE);
    expect(step.to).toMatchObject({ reversalState: needsReview, needsReview: true, reversalAttempt: 81 });
    expect(step.told.map(({ reversal }) => reversal)).toEqual(['sent', 'needsReview']);
    expect(step.enqueue).toEqual([]);
  });

  test('as the last but one has one after it', () => {
    const step = sentStep(uncertain(sent, 80), attempt(81, 72 * HOUR - HOUR), PROFILE);
    expect(step.to.reversalState).toBe(sent);
    expect(step.enqueue).toHaveLength(1);
  });

  test('while the reversal is confirming leaves it so', () => {
    expect(sentStep(uncertain(confirming, 1), attempt(2), PROFILE).to.reversalState).toBe(confirming);
  });
});

describe('an attempt of which no byte left', () => {
  test.each([
    [owed, 0],
    [sent, 3],
    [confirming, 1],
  ] as const)('is taken back to where it was (state %i, attempt %i), and due again', (state, before) => {
    const transaction = uncertain(state, before);
    const after = sentStep(transaction, attempt(before + 1), PROFILE);
    const step = unsentStep(transaction, { ...transaction, ...after.to }, attempt(before + 1), 5, PROFILE);
    expect(step.to).toMatchObject({ reversalState: state, reversalAttempt: before });
    expect(step.enqueue).toEqual([job(transaction, before + 1, 5)]);
    expect(step.remove).toEqual([NEXT_JOB]);
    expect(step.told).toEqual([{ reversal: 'unsent', attempt: before + 1 }]);
  });

  test('when the time for attempts is over, needs review besides', () => {
    const transaction = uncertain(sent, 3);
    const last = attempt(4, 73 * HOUR);
    const after = sentStep(transaction, last, PROFILE);
    const step = unsentStep(transaction, { ...transaction, ...after.to }, last, 300, PROFILE);
    expect(step.to).toMatchObject({ reversalState: needsReview, reversalAttempt: 3, needsReview: true });
    expect(step.enqueue).toEqual([job(transaction, 4, 300)]);
    expect(step.told.map(({ reversal }) => reversal)).toEqual(['unsent', 'needsReview']);
  });
});

describe('an answer', () => {
  const before = uncertain(owed);
  const after: Transaction = { ...before, ...sentStep(before, attempt(1), PROFILE).to };

  test('that acknowledges voids the transaction and removes the next attempt', () => {
    const step = answeredStep(before, after, attempt(1), 'acknowledged', false)!;
    expect(step.to).toMatchObject({ reversalState: acknowledged, disposition: Disposition.Voided, reversalAttempt: 1 });
    expect(step.remove).toEqual([NEXT_JOB]);
    expect(step.enqueue).toEqual([]);
  });

  test('that refuses changes nothing: the next attempt is on its way', () => {
    expect(answeredStep(before, after, attempt(1), 'refused', false)).toBeUndefined();
    expect(answeredStep(before, after, attempt(1), 'refused', true)).toBeUndefined();
  });

  test.each([
    ['could not locate the original', 'unableToLocate', false],
    ['came for an attempt that may have overtaken the original', 'acknowledged', true],
  ] as const)('that %s must be confirmed a minute later', (_what, answer, couldOvertake) => {
    const step = answeredStep(before, after, attempt(1), answer, couldOvertake)!;
    expect(step.to).toMatchObject({ reversalState: confirming, disposition: Disposition.Indeterminate });
    expect(step.enqueue).toEqual([job(after, 2, 60)]);
    expect(step.remove).toEqual([NEXT_JOB]);
  });

  test.each(['acknowledged', 'unableToLocate'] as const)('of "%s" confirms', (answer) => {
    const doubted = uncertain(confirming, 1);
    const repeated: Transaction = { ...doubted, ...sentStep(doubted, attempt(2), PROFILE).to };
    const step = answeredStep(doubted, repeated, attempt(2), answer, true)!;
    expect(step.to).toMatchObject({ reversalState: acknowledged, disposition: Disposition.Voided });
  });
});

describe('without a line to send it on', () => {
  test('a reversal waits for as long as its time lasts', () => {
    expect(exhaustedStep(uncertain(owed), PROFILE, SENT_AT_MS + 72 * HOUR * 1_000)).toBeUndefined();
  });

  test('it calls for a person when the time is over, once, and its job stays', () => {
    const nowMs = SENT_AT_MS + 72 * HOUR * 1_000 + 1;
    const step = exhaustedStep(uncertain(sent, 4), PROFILE, nowMs)!;
    expect(step.to).toMatchObject({ reversalState: needsReview, needsReview: true, reversalAttempt: 4 });
    expect(step.remove).toEqual([]);
    expect(exhaustedStep(uncertain(needsReview, 4), PROFILE, nowMs)).toBeUndefined();
  });
});

describe('a late response', () => {
  test.each([
    sent,
    confirming,
    acknowledged,
    needsReview,
  ])('that approves has the reversal owed again from state %i, at once', (state) => {
    const transaction = uncertain(state, 2, {
      disposition: state === acknowledged ? Disposition.Voided : Disposition.Indeterminate,
    });
    const step = rearmStep(transaction, late('approved'), SENT_AT_MS)!;
    expect(step.to).toMatchObject({ reversalState: owed, reversalAttempt: 2, disposition: transaction.disposition });
    expect(step.enqueue).toEqual([job(transaction, 3)]);
  });

  test.each([
    ['declines', sent, 1, 'declined'],
    ['approves before any attempt left', owed, 0, 'approved'],
    ['approves while the reversal is owed again already', owed, 2, 'approved'],
  ] as const)('that %s changes nothing', (_what, state, attempts, kind) => {
    expect(rearmStep(uncertain(state, attempts), late(kind), SENT_AT_MS)).toBeUndefined();
  });
});

test('every step is guarded by the transaction that it was decided for', () => {
  const transaction = uncertain(owed);
  expect(sentStep(transaction, attempt(1), PROFILE).transaction).toBe(transaction);
  expect(rearmStep(uncertain(sent, 1), late('approved'), 0)!.transaction.reversalAttempt).toBe(1);
});
