import { describe, expect, test } from 'vitest';
import type { ReversalResponse } from '../../../src/kits/processor-kit/processor.ts';
import { stepOfResponse } from '../../../src/payments/decisions/reversal-responses.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction, VoidState } from '../../../src/payments/model/transaction.ts';
import type { SentReversal } from '../../../src/payments/ports/store-ports.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const { none, owed, sent, confirming, acknowledged, needsReview } = ReversalState;

/** The attempts of a reversal, each with its response, or with the given differences. */
function attemptsOf(...given: (ReversalResponse | null | Partial<SentReversal>)[]): SentReversal[] {
  return given.map((each, index) => ({
    sentAtMs: SENT_AT_MS + (index + 1) * 60_000,
    number: index + 1,
    stan: '000017',
    couldOvertake: false,
    confirms: false,
    counts: true,
    nextJob: `job ${index + 1}`,
    response: null,
    ...(typeof each === 'string' ? { response: each } : each),
  }));
}

interface Responded {
  /** Attempts before the response. */
  readonly attempts: readonly SentReversal[];
  /** The number of the attempt with a response; default: the last one. */
  readonly number?: number;
  readonly wasApprovedLate?: boolean;
}

function step(
  changes: Partial<Transaction>,
  response: ReversalResponse,
  { attempts, number = attempts.length, wasApprovedLate = false }: Responded,
) {
  const transaction = sampleTransaction({
    disposition: Disposition.Indeterminate,
    reversalState: sent,
    reversalAttempt: attempts.length,
    ...changes,
  });
  const { sentAtMs } = attempts[number - 1]!;
  const facts = { attempts, wasApprovedLate };
  return stepOfResponse({ transaction, facts, sentAtMs, response, nowMs: SENT_AT_MS });
}

const VOID = { disposition: Disposition.Approved, voidState: VoidState.asked } as const;
const goesOn = (response: ReversalResponse, attempt: number) => ({
  to: { reversalState: sent },
  auditEntries: [{ reversalResponse: response, attempt }],
  enqueue: [],
  remove: [],
});

describe('an acknowledgement', () => {
  const voided = { reversalState: acknowledged, disposition: Disposition.Voided };

  test('voids the transaction and removes the next attempt', () => {
    expect(step({}, 'acknowledged', { attempts: attemptsOf(null) })).toMatchObject({
      to: voided,
      auditEntries: [{ reversal: 'acknowledged', attempt: 1 }],
      record: { kind: 'responded', response: 'acknowledged' },
      attempts: 1,
      enqueue: [],
      remove: ['job 1'],
    });
  });

  test.each([1, 2])('counts for any attempt: of three, number %i', (number) => {
    const decided = step({}, 'acknowledged', { attempts: attemptsOf(null, 'refused', null), number });
    expect(decided).toMatchObject({ to: voided, auditEntries: [{ attempt: number }], remove: ['job 3'] });
  });

  test('counts in review as well, and the review remains', () => {
    const decided = step({ reversalState: needsReview, needsReview: true }, 'acknowledged', {
      attempts: attemptsOf(null),
    });
    expect(decided?.to).toMatchObject({ ...voided, needsReview: true });
  });

  test('does not count if the original was approved after its attempt: it is recorded', () => {
    const attempts = attemptsOf({ counts: false }, null);
    expect(step({}, 'acknowledged', { attempts, number: 1 })).toMatchObject({
      ...goesOn('acknowledged', 1),
      record: { response: 'acknowledged' },
    });
  });

  test('an acknowledgement of a transaction reported as Declined leaves it so', () => {
    const decided = step({ disposition: Disposition.Declined }, 'acknowledged', { attempts: attemptsOf(null) });
    expect(decided?.to).toMatchObject({ reversalState: acknowledged, disposition: Disposition.Declined });
  });

  test('an acknowledgement that is known already records nothing new', () => {
    expect(step({}, 'acknowledged', { attempts: attemptsOf('acknowledged') })).toBeUndefined();
    expect(step({}, 'refused', { attempts: attemptsOf('acknowledged') })).toBeUndefined();
  });

  test('follows a refusal of the same attempt', () => {
    expect(step({}, 'acknowledged', { attempts: attemptsOf('refused') })?.to).toMatchObject(voided);
  });
});

describe('a doubtful acknowledgement', () => {
  test.each([
    ['could not locate the original', 'unableToLocate', {}],
    ['came for an attempt that may have overtaken the original', 'acknowledged', { couldOvertake: true }],
  ] as const)('a doubtful acknowledgement because the switch %s must be confirmed a minute later', (_what, response, attempt) => {
    expect(step({}, response, { attempts: attemptsOf(attempt) })).toMatchObject({
      to: { reversalState: confirming, disposition: Disposition.Indeterminate },
      auditEntries: [{ reversal: 'confirming', attempt: 1 }],
      enqueue: [{ queue: 'reverse', startAfterSeconds: 60, data: { reversalAttempt: 2 } }],
      remove: ['job 1'],
    });
  });

  test.each([
    'acknowledged',
    'unableToLocate',
  ] as const)('is confirmed by "%s" to an attempt that requests it', (response) => {
    const attempts = attemptsOf('unableToLocate', { confirms: true, couldOvertake: true });
    const decided = step({ reversalState: confirming }, response, { attempts });
    expect(decided?.to).toMatchObject({ reversalState: acknowledged, needsReview: false });
  });

  test('is not confirmed by an earlier attempt', () => {
    const attempts = attemptsOf({ couldOvertake: true }, 'unableToLocate');
    const decided = step({ reversalState: confirming }, 'acknowledged', { attempts, number: 1 });
    expect(decided?.to.reversalState).toBe(confirming);
    expect(decided?.enqueue).toEqual([]);
  });

  test('ends in review if the switch cannot locate what it has approved', () => {
    const attempts = attemptsOf('unableToLocate', { confirms: true });
    const decided = step({ reversalState: confirming }, 'unableToLocate', { attempts, wasApprovedLate: true });
    expect(decided?.to).toMatchObject({ reversalState: acknowledged, needsReview: true });
  });
});

describe('"duplicate transmission"', () => {
  const inReview = (number: number) => ({
    to: { disposition: Disposition.Indeterminate, reversalState: needsReview, needsReview: true },
    auditEntries: [{ reversal: 'needsReview', attempt: number }],
    enqueue: [],
    remove: [`job ${number}`],
  });

  test('"duplicate transmission" of the first attempt acknowledges nothing, and needs review', () => {
    expect(step({}, 'duplicate', { attempts: attemptsOf(null) })).toMatchObject(inReview(1));
  });

  /** Attempts that share a STAN, which is not that of their original. */
  const withOwnStan = (...given: (ReversalResponse | null | Partial<SentReversal>)[]) =>
    attemptsOf(...given).map((each) => ({ ...each, stan: '000021' }));

  test('acknowledges a repeat of an attempt without a response, if the STAN is that of the reversal alone', () => {
    const decided = step({}, 'duplicate', { attempts: withOwnStan(null, null) });
    expect(decided?.to).toMatchObject({ reversalState: acknowledged, needsReview: false });
  });

  test('acknowledges no repeat with the STAN of its original: the switch may have compared the two', () => {
    expect(step({}, 'duplicate', { attempts: attemptsOf(null, null) })).toMatchObject(inReview(2));
  });

  test.each([
    ['with a STAN of its own', [...withOwnStan(null), attemptsOf(null, { stan: '000022' })[1]!]],
    ['of an attempt that was refused', withOwnStan('refused', null)],
    ['of an attempt that met a fault of the switch', withOwnStan('undecided', null)],
    ['of an attempt that was a duplicate', withOwnStan('duplicate', null)],
    ['of an attempt before the approval', withOwnStan({ counts: false }, null)],
  ])('acknowledges no repeat %s, and needs review', (_what, attempts) => {
    expect(step({}, 'duplicate', { attempts })).toMatchObject(inReview(2));
  });

  test('acknowledges nothing after another one, although an attempt between them has no response', () => {
    expect(step({}, 'duplicate', { attempts: withOwnStan('duplicate', null, null) })).toMatchObject(inReview(3));
  });

  test('"duplicate transmission" of the first attempt that comes after that of its repeat has the end of the reversal reviewed', () => {
    const ended = { reversalState: acknowledged, disposition: Disposition.Voided };
    const decided = step(ended, 'duplicate', { attempts: attemptsOf(null, 'duplicate'), number: 1 });
    expect(decided).toMatchObject({ to: { ...ended, needsReview: true }, enqueue: [], remove: [] });
    const known = step(ended, 'duplicate', { attempts: attemptsOf(null, 'acknowledged'), number: 1 });
    expect(known?.to.needsReview).toBe(false);
  });

  test('"duplicate transmission" of a void has the sale stay blocked, in review', () => {
    const decided = step(VOID, 'duplicate', { attempts: attemptsOf(null) });
    expect(decided?.to).toMatchObject({ ...VOID, reversalState: needsReview, needsReview: true });
  });
});

describe('a refusal', () => {
  test.each([
    'refused',
    'undecided',
  ] as const)('"%s" of an uncertain request changes nothing, any number of times', (response) => {
    expect(step({}, response, { attempts: attemptsOf('refused', 'refused', null) })).toMatchObject(goesOn(response, 3));
  });

  test.each(['refused', 'unableToLocate'] as const)('"%s" of a void is not final the first time', (response) => {
    expect(step(VOID, response, { attempts: attemptsOf(null) })).toMatchObject(goesOn(response, 1));
  });

  test.each([
    ['refused', 'refused'],
    ['unableToLocate', 'unableToLocate'],
    ['refused', 'unableToLocate'],
  ] as const)('a refusal of every attempt of a void, %s and %s, ends it: nothing of the reversal is left', (first, second) => {
    expect(step(VOID, second, { attempts: attemptsOf(first, null) })).toMatchObject({
      to: {
        reversalState: none,
        reversalAttempt: 0,
        voidState: null,
        disposition: Disposition.Approved,
        needsReview: false,
      },
      auditEntries: [{ reversal: 'refused', attempt: 2 }],
      remove: ['job 2'],
      enqueue: [],
    });
  });

  test.each([
    ['had no response', [null, 'refused'] as const],
    ['had a response with a trouble code', ['undecided', 'refused'] as const],
  ])('twice, after an attempt of the void that %s, leaves it in doubt', (_what, [first, second]) => {
    expect(step(VOID, 'refused', { attempts: attemptsOf(first, second, null) })).toMatchObject({
      to: { reversalState: needsReview, needsReview: true, voidState: VoidState.asked },
      auditEntries: [{ reversal: 'needsReview', attempt: 3 }],
      remove: ['job 3'],
    });
  });

  test('twice, after an attempt before a late approval that may have taken effect, leaves it in doubt as well', () => {
    const attempts = attemptsOf({ counts: false }, { counts: false, response: 'refused' }, 'refused', null);
    expect(step(VOID, 'refused', { attempts })?.to).toMatchObject({ reversalState: needsReview });
  });

  test('twice, after an attempt that was not recorded, leaves it in doubt as well', () => {
    const attempts = attemptsOf({ number: 2, response: 'refused' }, { number: 3 });
    expect(step({ ...VOID, reversalAttempt: 3 }, 'refused', { attempts })?.to).toMatchObject({
      reversalState: needsReview,
    });
  });

  test('a refusal after an attempt without a response, which followed the first refusal, is not a second one', () => {
    expect(step(VOID, 'refused', { attempts: attemptsOf('refused', null, null) })).toMatchObject(goesOn('refused', 3));
  });

  test('a refusal of the attempt that was open ends a void in doubt', () => {
    const attempts = attemptsOf(null, 'refused', 'refused');
    const decided = step({ ...VOID, reversalState: needsReview }, 'refused', { attempts, number: 1 });
    expect(decided?.auditEntries).toEqual([{ reversal: 'refused', attempt: 1 }]);
  });

  test('a refusal of a previous void does not count for the next one', () => {
    const before = attemptsOf('refused', 'refused');
    const now = attemptsOf(null, null, { number: 1 }).slice(2);
    const decided = step({ ...VOID, reversalAttempt: 1 }, 'refused', { attempts: [...before, ...now] });
    expect(decided).toMatchObject(goesOn('refused', 1));
    const late = step({ ...VOID, reversalAttempt: 0, reversalState: owed }, 'unableToLocate', { attempts: before });
    expect(late?.auditEntries).toEqual([{ reversalResponse: 'unableToLocate', attempt: 2 }]);
  });
});

describe('an acknowledgement of a void', () => {
  test('makes the sale Voided', () => {
    const decided = step(VOID, 'acknowledged', { attempts: attemptsOf(null) });
    expect(decided?.to).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done });
  });

  test('an acknowledgement of a void that was permanently refused makes it disputed', () => {
    const refused = { ...VOID, voidState: null, reversalState: none, reversalAttempt: 0 };
    expect(step(refused, 'acknowledged', { attempts: attemptsOf('refused', 'refused') })).toMatchObject({
      to: {
        ...{ reversalState: needsReview, voidState: VoidState.disputed, needsReview: true },
        disposition: Disposition.Approved,
      },
      auditEntries: [{ reversal: 'needsReview', attempt: 2 }],
      enqueue: [],
    });
  });

  test('an acknowledgement of a void that was permanently refused makes it disputed, also for an attempt sent before a late approval', () => {
    const refused = { ...VOID, voidState: null, reversalState: none, reversalAttempt: 0 };
    const attempts = attemptsOf({ response: 'refused', counts: false }, 'refused', 'refused');
    expect(step(refused, 'acknowledged', { attempts, number: 1, wasApprovedLate: true })?.to).toMatchObject({
      ...{ reversalState: needsReview, voidState: VoidState.disputed, needsReview: true },
      disposition: Disposition.Approved,
    });
  });

  test('an acknowledgement of a void that was refused and requested again ends the new one', () => {
    const again = { ...VOID, reversalState: owed, reversalAttempt: 0 };
    const decided = step(again, 'acknowledged', { attempts: attemptsOf('refused', 'refused') });
    expect(decided?.to).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done });
  });

  test('an acknowledgement of a void that is disputed changes nothing further', () => {
    const disputed = { ...VOID, voidState: VoidState.disputed, reversalState: needsReview };
    const decided = step(disputed, 'acknowledged', { attempts: attemptsOf('refused', 'acknowledged'), number: 1 });
    expect(decided?.to).toMatchObject({ voidState: VoidState.disputed, disposition: Disposition.Approved });
  });
});
