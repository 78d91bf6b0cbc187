import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/kits/processor-kit/processor.ts';
import { decideOutcome, type SwitchEvent } from '../../../src/payments/decisions/decide-outcome.ts';
import type { PinWait } from '../../../src/payments/decisions/pin-step.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { NO_PIN, PinState } from '../../../src/payments/model/pin.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState } from '../../../src/payments/model/transaction.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const NOW_MS = SENT_AT_MS + 1_234;
const PROVIDER_FIELDS = { stan: '000017', settlementDate: '0301' };
const CARD_TAGS = [{ tag: '91', value: '0123456789ABCDEF3030' }];
const FACTS = {
  responseCode: '00',
  authorizationCode: '123456',
  rrn: '606010999999',
  cardTags: CARD_TAGS,
  cardType: 'credit',
};

function decide(event: SwitchEvent, changes = {}) {
  return decideOutcome(sampleTransaction(changes), event, NOW_MS);
}

const PIN_WAIT = { job: '99999999-2222-4333-8444-555555555555', seconds: 90 };

function responded(outcome: Outcome, pinWait: PinWait | null = PIN_WAIT): SwitchEvent {
  return { kind: 'responded', outcome, providerFields: PROVIDER_FIELDS, pinWait };
}

describe('an approval', () => {
  const approved = decide(responded({ ...FACTS, kind: 'approved', approvedMinor: 1_000 }));

  test('is Approved with all values of the response, and no errorCode', () => {
    expect(approved.status).toBe(Status.ResponseReceivedFromPaymentProcessor);
    expect(approved.result).toEqual({
      disposition: Disposition.Approved,
      responseCode: '00',
      authorizationCode: '123456',
      unusableAuthorizationCode: null,
      settlementDate: null,
      approvedMinor: 1_000,
      cardTags: CARD_TAGS,
      cardType: 'credit',
      providerReference: '606010999999',
      providerFields: PROVIDER_FIELDS,
      errorCode: null,
      reversalState: ReversalState.none,
      needsReview: false,
    });
  });

  test('is recorded as one transition and leads to no job', () => {
    expect(approved.auditEntries).toEqual([
      {
        from: 'SubmittedToPaymentProcessor',
        to: 'ResponseReceivedFromPaymentProcessor',
        at: new Date(NOW_MS).toISOString(),
      },
    ]);
    expect(approved.enqueue).toEqual([]);
  });

  test('an approval of a part has the part as its amount', () => {
    const { result } = decide(responded({ ...FACTS, responseCode: '10', kind: 'approved', approvedMinor: 500 }));
    expect(result).toMatchObject({ disposition: Disposition.Approved, responseCode: '10', approvedMinor: 500 });
  });

  test.each([
    ['1231', '2026-03-01T00:30:00Z', null],
    ['0228', '2026-03-01T00:30:00Z', '2026-02-28'],
    ['0302', '2026-03-01T23:30:00Z', '2026-03-02'],
    ['1231', '2026-01-01T00:30:00Z', '2025-12-31'],
    ['9999', '2026-03-01T00:30:00Z', null],
  ])('keeps the settlement date of its switch: %s at %s is %s', (settlementDate, sentAt, expected) => {
    const transaction = sampleTransaction({ status: 4, sentAtMs: Date.parse(sentAt) });
    const event = { ...responded({ ...FACTS, kind: 'approved', approvedMinor: 1_000 }), settlementDate } as SwitchEvent;
    expect(decideOutcome(transaction, event, NOW_MS).result.settlementDate).toBe(expected);
  });

  test('an approval without a reference of the switch keeps that of the gateway', () => {
    const { result } = decide(responded({ ...FACTS, rrn: undefined, kind: 'approved', approvedMinor: 1_000 }));
    expect(result.providerReference).toBe('606010000017');
  });
});

describe('a decline', () => {
  test('is Declined with 209, approves nothing and requires no reversal', () => {
    const decision = decide(
      responded({ ...FACTS, responseCode: '51', authorizationCode: undefined, kind: 'declined' }),
    );
    expect(decision.status).toBe(Status.ResponseReceivedFromPaymentProcessor);
    expect(decision.result).toMatchObject({
      disposition: Disposition.Declined,
      responseCode: '51',
      authorizationCode: null,
      approvedMinor: null,
      errorCode: 209,
      reversalState: ReversalState.none,
      needsReview: false,
    });
    expect(decision.enqueue).toEqual([]);
  });

  test('a decline that needs review is marked so, and is not reversed automatically', () => {
    const decision = decide(responded({ ...FACTS, responseCode: '94', kind: 'declined', needsReview: true }));
    expect(decision.result).toMatchObject({ needsReview: true, reversalState: ReversalState.none });
    expect(decision.enqueue).toEqual([]);
  });

  test('a decline that requires a PIN at a terminal without one has 65', () => {
    const decision = decide(responded({ ...FACTS, responseCode: '70', kind: 'pinRequired' }, null));
    expect(decision.result).toMatchObject({ disposition: Disposition.Declined, errorCode: 65, approvedMinor: null });
    expect(decision).toMatchObject({ pin: NO_PIN, pinSeconds: null, enqueue: [] });
  });
});

describe('a decline that requires a PIN', () => {
  const wanted = (responseCode: string) => responded({ ...FACTS, responseCode, kind: 'pinRequired' });
  const EXPIRY = { queue: 'expire-pin', id: PIN_WAIT.job, startAfterSeconds: 90.1 };

  test('leaves the outcome open, with the job that ends the wait', () => {
    const { acquirerId, id } = sampleTransaction();
    const decision = decide(wanted('70'));
    expect(decision.status).toBe(Status.ResponseReceivedFromPaymentProcessor);
    expect(decision.result).toMatchObject({ disposition: null, errorCode: 65, responseCode: '70' });
    expect(decision).toMatchObject({
      pin: { pinState: PinState.awaiting, pinTries: 0, pinJob: PIN_WAIT.job },
      pinSeconds: 90,
      enqueue: [{ ...EXPIRY, data: { acquirerId, id, attempt: 1 } }],
    });
    expect(decision.auditEntries).toMatchObject([{ to: 'ResponseReceivedFromPaymentProcessor' }, { pin: 'awaiting' }]);
  });

  test('a decline that requires a PIN after a PIN has 211 if the PIN was wrong, and 65 if the issuer requires one as before', () => {
    const afterPin = { pinState: PinState.submitted, attempt: 2 };
    expect(decide(wanted('55'), afterPin).result).toMatchObject({ disposition: null, errorCode: 211 });
    expect(decide(wanted('70'), afterPin).result).toMatchObject({ disposition: null, errorCode: 65 });
    expect(decide(wanted('55')).result).toMatchObject({ disposition: null, errorCode: 65 });
  });

  test('a decline that requires a PIN for the third time is the outcome', () => {
    const decision = decide(wanted('55'), { pinState: PinState.submitted, pinTries: 2 });
    expect(decision.result).toMatchObject({ disposition: Disposition.Declined, errorCode: 211, responseCode: '55' });
    expect(decision).toMatchObject({ pin: { pinState: PinState.exhausted }, pinSeconds: null, enqueue: [] });
  });
});

describe('the response of a switch to a PIN', () => {
  const afterPin = { pinState: PinState.submitted, attempt: 2 };

  test.each([
    ['an approval', responded({ ...FACTS, kind: 'approved', approvedMinor: 1_000 }), Disposition.Approved],
    ['a decline', responded({ ...FACTS, responseCode: '51', kind: 'declined' }), Disposition.Declined],
    ['silence', { kind: 'noResponse' }, Disposition.Indeterminate],
    ['a response that cannot be used', { kind: 'garbled' }, Disposition.Indeterminate],
    ['no way to a switch', { kind: 'unsent' }, Disposition.UnableToGoOnline],
  ] as const)('%s ends the step', (_what, event, disposition) => {
    const decision = decide(event, afterPin);
    expect(decision.result.disposition).toBe(disposition);
    expect(decision).toMatchObject({ pin: { pinState: PinState.done }, pinSeconds: null });
    expect(decision.auditEntries).toContainEqual({ pin: 'done', at: new Date(NOW_MS).toISOString() });
  });

  test.each(['38', '75'])('%s, no further attempts allowed, exhausts the step and has 209', (responseCode) => {
    const decision = decide(responded({ ...FACTS, responseCode, kind: 'declined' }), afterPin);
    expect(decision.result).toMatchObject({ disposition: Disposition.Declined, errorCode: 209, responseCode });
    expect(decision.pin.pinState).toBe(PinState.exhausted);
  });
});

describe('a PIN block that the HSM cannot open', () => {
  const unusable: SwitchEvent = { kind: 'pinUnusable', pinWait: PIN_WAIT };
  const ready = { status: Status.ReadyToSubmitToPaymentProcessor, pinState: PinState.submitted };

  test('is a wrong PIN of which nothing was sent: another one is awaited', () => {
    const decision = decide(unusable, ready);
    expect(decision.status).toBe(Status.ReadyToSubmitToPaymentProcessor);
    expect(decision.result).toMatchObject({ disposition: null, errorCode: 211, responseCode: null });
    expect(decision.pin).toMatchObject({ pinState: PinState.awaiting, pinTries: 1 });
    expect(decision.auditEntries).toMatchObject([{ pin: 'awaiting' }]);
  });

  test('counts as an attempt like one', () => {
    const decision = decide(unusable, { ...ready, pinTries: 2 });
    expect(decision.result).toMatchObject({ disposition: Disposition.Declined, errorCode: 211 });
    expect(decision.pin.pinState).toBe(PinState.exhausted);
  });
});

describe('an open outcome requires a reversal, committed with its first job', () => {
  const unknown = responded({ ...FACTS, responseCode: '77', kind: 'unknown', why: 'response code in no table' });

  test.each([
    ['silence', { kind: 'noResponse' }, Status.NoResponseFromPaymentProcessor, null],
    ['a response that cannot be used', { kind: 'garbled' }, Status.BadResponseFromPaymentProcessor, null],
    ['a response of unknown meaning', unknown, Status.BadResponseFromPaymentProcessor, '77'],
  ] as const)('%s', (_what, event, status, responseCode) => {
    const decision = decide(event, { attempt: 3 });
    const { acquirerId, id } = sampleTransaction();
    expect(decision.status).toBe(status);
    expect(decision.result).toMatchObject({
      disposition: Disposition.Indeterminate,
      responseCode,
      authorizationCode: null,
      approvedMinor: null,
      errorCode: 203,
      reversalState: ReversalState.owed,
    });
    expect(decision.enqueue).toEqual([{ queue: 'reverse', data: { acquirerId, id, attempt: 3, reversalAttempt: 1 } }]);
  });

  test('an approval that cannot be used keeps its DE38 for its reversal, and only for that', () => {
    const { result } = decide(responded({ ...FACTS, kind: 'unknown', why: 'amount differs from the request' }));
    expect(result).toMatchObject({ unusableAuthorizationCode: '123456', authorizationCode: null });
  });

  test('an unknown response without a code has none', () => {
    const { result } = decide(responded({ ...FACTS, responseCode: '', kind: 'unknown', why: 'no response code' }));
    expect(result.responseCode).toBeNull();
  });
});

describe('what was certainly never written', () => {
  test('returns from submitted to ready, UnableToGoOnline, and requires no reversal', () => {
    const decision = decide({ kind: 'unsent' });
    expect(decision.status).toBe(Status.ReadyToSubmitToPaymentProcessor);
    expect(decision.auditEntries).toMatchObject([
      { from: 'SubmittedToPaymentProcessor', to: 'ReadyToSubmitToPaymentProcessor' },
    ]);
    expect(decision.result).toMatchObject({
      disposition: Disposition.UnableToGoOnline,
      errorCode: 210,
      reversalState: ReversalState.none,
    });
    expect(decision.enqueue).toEqual([]);
  });

  test('remains ready if it was never submitted, and records no transition', () => {
    const decision = decide({ kind: 'unsent' }, { status: Status.ReadyToSubmitToPaymentProcessor });
    expect(decision.status).toBe(Status.ReadyToSubmitToPaymentProcessor);
    expect(decision.auditEntries).toEqual([]);
  });
});

test.each([
  Status.RespondedToPhone,
  Status.AcknowledgedByPhone,
  Status.NoResponseFromPaymentProcessor,
] as const)('a response to a transaction that is no longer submitted (%s) is a fault of the gateway', (status) => {
  const outcome: Outcome = { ...FACTS, kind: 'approved', approvedMinor: 1_000 };
  expect(() => decide(responded(outcome), { status })).toThrow(/No move from/);
});
