import { describe, expect, test } from 'vitest';
import { mayContainPan } from '../../../schemas/reason.ts';
import { decideResolution, type ReviewCase } from '../../../src/payments/decisions/resolve-review.ts';
import { SWITCH_BOOKS, type SwitchBooks } from '../../../src/payments/model/decision.ts';
import { DISPOSITION_MOVES, Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import {
  ReversalState,
  RUNNING_REVERSAL_STATES,
  type Transaction,
  TransactionType,
  VoidState,
} from '../../../src/payments/model/transaction.ts';
import { sampleTransaction } from '../sample-transaction.ts';

const { Approved, Declined, Indeterminate, UnableToGoOnline, Voided } = Disposition;
const FACTS = {
  isUnderWay: false,
  isEarlierReversalRunning: false,
  isEarlierReversalInReview: false,
  isVoidInReview: false,
  wasApprovedInPart: false,
  needsCompletion: false,
  lastSequence: null,
};
const deps = { newId: () => 'new', directory: { webhookEndpoint: () => 'endpoint' } } as never;

const inReview = (changes: Partial<Transaction> = {}) =>
  sampleTransaction({
    disposition: Indeterminate,
    status: Status.RespondedToPhone,
    reversalState: ReversalState.needsReview,
    reversalAttempt: 2,
    needsReview: true,
    errorCode: 203,
    ...changes,
  });
const refusedVoid = { disposition: Approved, reversalState: ReversalState.none, voidState: null, needsReview: false };
const voidRow = (disposition: Transaction['disposition']) =>
  sampleTransaction({ id: 'void', type: TransactionType.Void, disposition, needsReview: true });

function decide(books: SwitchBooks, changes: Partial<Transaction> = {}, others: Partial<ReviewCase> = {}) {
  const facts = { ...FACTS, isVoidInReview: others.voidRow?.needsReview ?? false };
  const review: ReviewCase = { transaction: inReview(changes), voidRow: undefined, facts, ...others };
  return decideResolution(deps, review, books, Date.UTC(2026, 10, 22));
}

const eventsOf = ({ enqueue }: ReturnType<typeof decide>) =>
  enqueue.map(({ data }) => {
    const { outcome } = data as { outcome: { type: string; sequence: number } };
    return `${outcome.type} ${outcome.sequence}`;
  });

describe('a resolution', () => {
  const asked = { disposition: Approved, voidState: VoidState.asked };
  const disputed = { disposition: Approved, voidState: VoidState.disputed };
  test.each<[string, Partial<Transaction>, Transaction | undefined, ...(string | number)[]]>([
    ['an uncertain tap', {}, undefined, Voided, Approved, Voided],
    ['an open void', asked, voidRow(null), Voided, Approved, Voided],
    ['a disputed void', disputed, voidRow(Declined), Voided, Approved, Approved],
    ['a refused void', refusedVoid, voidRow(Declined), Voided, Approved, Approved],
    [
      'an approval without completion',
      { disposition: Approved, reversalState: 0 },
      undefined,
      Voided,
      Approved,
      Approved,
    ],
    ['a decline', { disposition: Declined, reversalState: 3 }, undefined, Declined, 'refused', Declined],
    [
      'a decline without a reversal',
      { disposition: Declined, reversalState: 0 },
      undefined,
      Declined,
      'refused',
      Declined,
    ],
    [
      'a tap that reached no switch after a PIN',
      { disposition: UnableToGoOnline, reversalState: 0 },
      undefined,
      UnableToGoOnline,
      'refused',
      UnableToGoOnline,
    ],
    ['a reversed tap', { disposition: Voided, reversalState: 3 }, undefined, Voided, 'refused', Voided],
  ])('a resolution of %s follows declared transitions', (_what, changes, row, ...expected) => {
    for (const [n, books] of SWITCH_BOOKS.entries()) {
      const decided = () => decide(books, changes, { voidRow: row });
      if (expected[n] === 'refused') {
        expect(decided, books).toThrow('RESOLUTION_CONTRADICTS_OUTCOME');
        continue;
      }
      const { transaction, to } = decided();
      const isSame = transaction.disposition !== Declined && expected[n] === transaction.disposition;
      const isUntouched = isSame && transaction.reversalState === ReversalState.none;
      const reversalState = isUntouched ? ReversalState.none : ReversalState.resolved;
      expect(to, books).toMatchObject({ disposition: expected[n], reversalState });
      if (to.disposition !== transaction.disposition)
        expect(DISPOSITION_MOVES.get(transaction.disposition)).toContain(to.disposition);
    }
  });

  test('is reported under a new sequence number if the disposition changes', () => {
    expect(eventsOf(decide('voided'))).toEqual(['transaction.voided 2']);
    expect(eventsOf(decide('approved'))).toEqual(['transaction.completed 2']);
    expect(eventsOf(decide('voided', { attempt: 2 }, { facts: { ...FACTS, lastSequence: 4 } }))).toEqual([
      'transaction.voided 5',
    ]);
    expect(eventsOf(decide('adjusted', { disposition: Declined }))).toEqual([]);
    expect(eventsOf(decide('approved', asked, { voidRow: voidRow(null) }))).toEqual(['void.failed 2']);
    expect(eventsOf(decide('approved', disputed, { voidRow: voidRow(Declined) }))).toEqual(['void.failed 4']);
    expect(eventsOf(decide('approved', refusedVoid, { voidRow: voidRow(Declined) }))).toEqual([]);
  });

  test('a resolution of an uncertain tap as approved is for the whole amount, without the code of the unusable response', () => {
    expect(decide('approved', { responseCode: '68', unusableAuthorizationCode: '123456' }).to).toMatchObject({
      approvedMinor: 1_000,
      responseCode: null,
      authorizationCode: '123456',
      errorCode: null,
    });
  });

  test('a resolution of a sale without a reversal leaves it as it is: its completion goes on, and it can be voided', () => {
    const earlier = { disposition: Approved, reversalState: ReversalState.none, approvedMinor: 1_000 };
    const facts = { ...FACTS, isEarlierReversalInReview: true, needsCompletion: true };
    for (const books of ['approved', 'adjusted'] as const)
      expect(decide(books, earlier, { facts }).to.reversalState).toBe(ReversalState.none);
    expect(decide('voided', { ...refusedVoid, needsReview: true }, { voidRow: voidRow(Declined) }).to).toMatchObject({
      disposition: Voided,
      reversalState: ReversalState.resolved,
    });
  });

  test('a resolution as approved is refused if the switch would not post the sale without a completion', () => {
    const facts = { ...FACTS, needsCompletion: true };
    for (const [changes, row] of [
      [{}, undefined],
      [asked, voidRow(null)],
      [disputed, voidRow(Declined)],
    ] as const) {
      expect(() => decide('approved', changes, { facts, voidRow: row })).toThrow('RESOLUTION_NOT_COMPLETED');
      expect(decide('voided', changes, { facts, voidRow: row }).to.disposition).toBe(Voided);
    }
  });

  test.each([...RUNNING_REVERSAL_STATES])('is refused while the reversal is in state %i', (reversalState) => {
    for (const books of SWITCH_BOOKS) expect(() => decide(books, { reversalState })).toThrow('REVERSAL_IN_PROGRESS');
  });

  test('is refused while anything is under way, without a review or an outcome, and for the row of a void', () => {
    for (const fact of ['isUnderWay', 'isEarlierReversalRunning'])
      expect(() => decide('voided', {}, { facts: { ...FACTS, [fact]: true } })).toThrow('REVERSAL_IN_PROGRESS');
    expect(() => decide('voided', { needsReview: false })).toThrow('NOT_IN_REVIEW');
    expect(() => decide('voided', { disposition: null })).toThrow('NO_OUTCOME_YET');
    expect(() => decide('voided', { status: Status.ResponseReceivedFromPaymentProcessor })).toThrow('NO_OUTCOME_YET');
    expect(() => decide('voided', { type: TransactionType.Void })).toThrow('RESOLUTION_OF_VOID');
  });

  test('cannot undo a sale that was refunded, hide refunds beyond a sale, or void a sale for an earlier attempt', () => {
    const approved = { disposition: Approved, reversalState: ReversalState.none, approvedMinor: 1_000 };
    expect(() => decide('voided', { ...approved, refundedMinor: 1 })).toThrow('RESOLUTION_HAS_REFUNDS');
    expect(() => decide('adjusted', { ...approved, refundedMinor: 1_001 })).toThrow('RESOLUTION_HAS_REFUNDS');
    const facts = { ...FACTS, isEarlierReversalInReview: true };
    expect(() => decide('voided', approved, { facts })).toThrow('RESOLUTION_CONTRADICTS_OUTCOME');
    expect(decide('adjusted', approved, { facts }).to.disposition).toBe(Approved);
  });
});

describe('a reason', () => {
  test.each([
    '4111111111111111',
    'card 4111 1111 1111 1111.',
    '4111-1111-1111-1111',
    '4111.1111.1111.1111',
    'amex 3782 822463 10005',
    '411111111111111',
    '\u0664\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661',
    '４１１１１１１１１１１１１１１１',
    'x12345678901234567890123y',
    '4111, 1111, 1111, 1111',
    '4111  1111 - 1111_1111',
    '4111:1111*1111|1111',
    '4111\u20131111\u00b71111\u200b1111',
  ])('must not contain %s', (text) => expect(mayContainPan(text)).toBe(true));

  test.each([
    '',
    'RRN 606010000017, STAN 000017',
    'call 011 555 0199',
    'case 4711 of 2026-11-22',
    '123456789012',
  ])('may contain "%s"', (text) => expect(mayContainPan(text)).toBe(false));
});
