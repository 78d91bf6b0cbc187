import { describe, expect, test } from 'vitest';
import { REVERSAL_CODES } from '../../../src/kits/processor-kit/classify-outcome.ts';
import type { ReversalProfile } from '../../../src/kits/processor-kit/profile.ts';
import { exhaustedStep, isDue, sentStep, unsentStep } from '../../../src/payments/decisions/reversal-steps.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type ReversalStateId, type Transaction } from '../../../src/payments/model/transaction.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const { owed, sent, confirming, acknowledged, needsReview, none } = ReversalState;
const HOUR = 3_600;
const REVERSAL: ReversalProfile = {
  keepsStan: true,
  delaysSeconds: [5, 30, 120, 600, 1_800, HOUR],
  giveUpAfterSeconds: 72 * HOUR,
  overtakingGuardSeconds: 5,
  codes: REVERSAL_CODES,
};
const PROFILE = { reversal: REVERSAL, deadlineMs: 2_000 };
const NEXT_JOB = '22222222-3333-4444-8555-666666666666';

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

/** Attempt `number`, at this many seconds after the original was sent. */
const attempt = (number: number, atSeconds = 60) => ({
  number,
  sentAtMs: SENT_AT_MS + atSeconds * 1_000,
  stan: '000017',
  couldOvertake: false,
  processorId: 1,
  nextJob: NEXT_JOB,
  nowMs: SENT_AT_MS + atSeconds * 1_000,
});

/** The job that requests attempt `number`. */
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
  ])('an attempt is due while the reversal is %s: %s -> %s', (_what, state, expected) => {
    expect(isDue(uncertain(state, 2), 3)).toBe(expected);
  });

  test.each([1, 2, 4])('an attempt is due only if it is the next one: not attempt %i after two', (number) => {
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
  ])('an attempt that is sent as number %i has the next one committed with it, %i s later', (number, delaySeconds) => {
    const before = uncertain(number === 1 ? owed : sent, number - 1);
    const step = sentStep(before, attempt(number), number - 1, PROFILE);
    expect(step.to).toEqual({
      reversalState: sent,
      reversalAttempt: number,
      disposition: Disposition.Indeterminate,
      needsReview: false,
      voidState: null,
    });
    expect(step.record).toMatchObject({ kind: 'sent', number, stan: '000017', deadlineSeconds: 2, confirms: false });
    expect(step.attempts).toBe(number - 1);
    expect(step.auditEntries).toEqual([{ reversal: 'sent', attempt: number }]);
    expect(step.enqueue).toEqual([job(before, number + 1, delaySeconds, NEXT_JOB)]);
  });

  test.each([
    [1, 30],
    [3, 120],
  ])('an attempt that is sent as number %i is not followed before its own deadline', (number, delaySeconds) => {
    const slow = { ...PROFILE, deadlineMs: 30_000 };
    const step = sentStep(uncertain(sent, number - 1), attempt(number), number - 1, slow);
    const [next] = step.enqueue;
    expect(next?.startAfterSeconds).toBeGreaterThanOrEqual(delaySeconds);
    expect(next?.startAfterSeconds).toBeLessThan(delaySeconds + 1);
  });

  test('a long time after its request, because of a void or a late approval, has as many as any other', () => {
    const armed = uncertain(owed, 0, { reversalArmedAtMs: SENT_AT_MS + 80 * HOUR * 1_000 });
    expect(sentStep(armed, attempt(1, 80 * HOUR), 0, PROFILE).to.reversalState).toBe(sent);
  });

  test('an attempt that is sent as the last one within the time needs review and has none after it', () => {
    const atSeconds = 72 * HOUR - HOUR + 1;
    const step = sentStep(uncertain(sent, 80), attempt(81, atSeconds), 80, PROFILE);
    expect(step.to).toMatchObject({ reversalState: needsReview, needsReview: true, reversalAttempt: 81 });
    expect(step.auditEntries).toMatchObject([{ reversal: 'sent' }, { reversal: 'needsReview' }]);
    expect(step.enqueue).toEqual([]);
  });

  test('an attempt that is sent as the last but one has one after it', () => {
    const step = sentStep(uncertain(sent, 80), attempt(81, 72 * HOUR - HOUR), 80, PROFILE);
    expect(step.to.reversalState).toBe(sent);
    expect(step.enqueue).toHaveLength(1);
  });

  test('an attempt that is sent while the reversal is confirming leaves it so', () => {
    expect(sentStep(uncertain(confirming, 1), attempt(2), 1, PROFILE).to.reversalState).toBe(confirming);
  });
});

describe('an attempt of which no byte was sent', () => {
  test.each([
    [owed, 0],
    [sent, 3],
    [confirming, 1],
  ] as const)('is undone (state %i, attempt %i), and due again', (state, before) => {
    const transaction = uncertain(state, before);
    const after = sentStep(transaction, attempt(before + 1), before, PROFILE);
    const step = unsentStep(transaction, { ...transaction, ...after.to }, attempt(before + 1), 5, REVERSAL);
    expect(step.to).toMatchObject({ reversalState: state, reversalAttempt: before });
    expect(step.enqueue).toEqual([job(transaction, before + 1, 5)]);
    expect(step.remove).toEqual([NEXT_JOB]);
    expect(step.auditEntries).toEqual([{ reversal: 'unsent', attempt: before + 1 }]);
  });

  test('an attempt of which no byte was sent after the time for attempts also needs review', () => {
    const transaction = uncertain(sent, 3);
    const last = attempt(4, 73 * HOUR);
    const after = sentStep(transaction, last, 3, PROFILE);
    const step = unsentStep(transaction, { ...transaction, ...after.to }, last, 300, REVERSAL);
    expect(step.to).toMatchObject({ reversalState: needsReview, reversalAttempt: 3, needsReview: true });
    expect(step.enqueue).toEqual([job(transaction, 4, 300)]);
    expect(step.auditEntries).toMatchObject([{ reversal: 'unsent' }, { reversal: 'needsReview' }]);
  });
});

describe('without a connection to send it on', () => {
  test('a reversal waits until its time is over', () => {
    expect(exhaustedStep(uncertain(owed), REVERSAL, SENT_AT_MS + 72 * HOUR * 1_000)).toBeUndefined();
  });

  test('it needs review when the time is over, once, and its job remains', () => {
    const nowMs = SENT_AT_MS + 72 * HOUR * 1_000 + 1;
    const step = exhaustedStep(uncertain(sent, 4), REVERSAL, nowMs)!;
    expect(step.to).toMatchObject({ reversalState: needsReview, needsReview: true, reversalAttempt: 4 });
    expect(step.remove).toEqual([]);
    expect(exhaustedStep(uncertain(needsReview, 4), REVERSAL, nowMs)).toBeUndefined();
  });
});
