import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENUMS } from '../../../schemas/enums.ts';
import { LINK_STATES } from '../../../schemas/link.ts';
import { judgeAcknowledgement } from '../../../src/payments/links/link-lifecycle.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import {
  claimedLink,
  holdsLink,
  isExpired,
  LINK_STATE_MOVES,
  LinkState,
  type LinkStateId,
  linkStateName,
  stateAfterTap,
} from '../../../src/payments/model/link.ts';
import { RELEASING_DISPOSITIONS } from '../../../src/payments/model/review.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState, TransactionType, VoidState } from '../../../src/payments/model/transaction.ts';

const STATES = Object.values(LinkState);
const state = fc.constantFrom(...STATES);
const { QRCodeGenerated, QRCodeScanned, TransactionStarted, TransactionCreated, ResponseReceivedByPhone } = LinkState;

describe('the table of transitions', () => {
  test('has a row for each state, and leads forward only', () => {
    expect([...LINK_STATE_MOVES.keys()]).toEqual(STATES);
    for (const [from, tos] of LINK_STATE_MOVES) for (const to of tos) expect(to).toBeGreaterThan(from);
  });

  test('ends with what the phone has received', () => {
    expect(LINK_STATE_MOVES.get(ResponseReceivedByPhone)).toEqual([]);
    for (const from of STATES.filter((each) => each !== ResponseReceivedByPhone)) {
      expect(LINK_STATE_MOVES.get(from)).not.toEqual([]);
    }
  });

  test('names the states as the interface does, in its order', () => {
    expect(STATES).toEqual([0, 1, 2, 3, 4]);
    expect(STATES.map(linkStateName)).toEqual(LINK_STATES);
    expect(ENUMS.qrCodeStates.map(({ name }) => name)).toEqual(LINK_STATES);
  });
});

describe('an acknowledgement', () => {
  test.each([
    [QRCodeGenerated, QRCodeScanned, false, 'moves'],
    [QRCodeGenerated, TransactionStarted, false, 'moves'],
    [QRCodeScanned, TransactionStarted, false, 'moves'],
    [QRCodeGenerated, TransactionCreated, false, 'refused'],
    [TransactionStarted, TransactionCreated, true, 'refused'],
    [TransactionCreated, TransactionCreated, false, 'stays'],
    [TransactionCreated, TransactionStarted, true, 'stays'],
    [TransactionCreated, ResponseReceivedByPhone, false, 'refused'],
    [TransactionCreated, ResponseReceivedByPhone, true, 'moves'],
    [TransactionStarted, ResponseReceivedByPhone, false, 'refused'],
    [ResponseReceivedByPhone, QRCodeGenerated, true, 'stays'],
  ] as const)('an acknowledgement from %i to %i, with an outcome: %s, %s', (from, to, hasOutcome, verdict) => {
    expect(judgeAcknowledgement(from, to, hasOutcome)).toBe(verdict);
  });

  test('moves along the table or not at all, and never backwards', () => {
    fc.assert(
      fc.property(state, state, fc.boolean(), (from, to, hasOutcome) => {
        const verdict = judgeAcknowledgement(from, to, hasOutcome);
        if (to <= from) expect(verdict).toBe('stays');
        if (verdict === 'moves') expect(LINK_STATE_MOVES.get(from)).toContain(to);
      }),
    );
  });

  test('any sequence of them ends at the furthest accepted one, and at the last one only with an outcome', () => {
    const step = fc.record({ to: state, hasOutcome: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let at: LinkStateId = QRCodeGenerated;
        for (const { to, hasOutcome } of steps) {
          const before: LinkStateId = at;
          if (judgeAcknowledgement(at, to, hasOutcome) === 'moves') at = to;
          expect(at).toBeGreaterThanOrEqual(before);
          if (at === ResponseReceivedByPhone && before !== at) expect(hasOutcome).toBe(true);
          expect(at).not.toBe(TransactionCreated); // only the tap's commit does that
        }
      }),
    );
  });

  test('repeated immediately changes nothing further', () => {
    fc.assert(
      fc.property(state, state, fc.boolean(), (from, to, hasOutcome) => {
        if (judgeAcknowledgement(from, to, hasOutcome) === 'moves') {
          expect(judgeAcknowledgement(to, to, hasOutcome)).toBe('stays');
        }
      }),
    );
  });
});

describe('the hold of a link', () => {
  test('is not released by an uncertain or an approved outcome, but by every other', () => {
    const all = Object.values(Disposition);
    const holding = all.filter((each) => !RELEASING_DISPOSITIONS.includes(each));
    expect(holding).toEqual([Disposition.Approved, Disposition.Indeterminate]);
  });

  test('remains with a tap that the merchant voided, or is voiding; not with one that was only reversed', () => {
    const status = Status.RespondedToPhone;
    const reversalState = ReversalState.acknowledged;
    const reversed = { status, disposition: Disposition.Voided, voidState: null, reversalState, needsReview: false };
    for (const voidState of Object.values(VoidState)) expect(holdsLink({ ...reversed, voidState })).toBe(true);
    expect(holdsLink(reversed)).toBe(false);
    expect(holdsLink({ ...reversed, reversalState: ReversalState.resolved })).toBe(false);
    expect(holdsLink({ ...reversed, needsReview: true })).toBe(true);
    expect(holdsLink({ ...reversed, reversalState: ReversalState.owed })).toBe(true);
    expect(holdsLink({ ...reversed, status: Status.ErrorFindingConfig, disposition: null })).toBe(false);
  });

  test('prevents its expiry, also when its time is over', () => {
    for (const isPast of [false, true]) {
      for (const isHeld of [false, true]) expect(isExpired({ isPast, isHeld })).toBe(isPast && !isHeld);
    }
  });

  test('is taken by taps, not by refunds and voids of them', () => {
    const consumerId = 'a link';
    const { Tap, TT3, Refund, Void } = TransactionType;
    for (const type of [Tap, TT3]) expect(claimedLink({ type, consumerId })).toBe(consumerId);
    for (const type of [Refund, Void]) expect(claimedLink({ type, consumerId })).toBeUndefined();
    expect(claimedLink({ type: Tap, consumerId: null })).toBeUndefined();
  });

  test('is not taken by a tap that was refused before its submission', () => {
    for (const status of Object.values(Status)) {
      const isRefused = status === Status.BadRequestReceived || status === Status.ErrorFindingConfig;
      expect(stateAfterTap({ status })).toBe(isRefused ? QRCodeGenerated : TransactionCreated);
    }
  });
});
