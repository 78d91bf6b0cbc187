import { describe, expect, test } from 'vitest';
import {
  expirePinStep,
  judgePin,
  MAX_PIN_TRIES,
  type PinVerdict,
  pinEntries,
  submitPinStep,
} from '../../../src/payments/decisions/pin-step.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import {
  hasResponse,
  isAwaitingPin,
  NO_PIN,
  PIN_STATE_MOVES,
  PinState,
  type PinStateId,
  type PinStep,
  pinStateName,
} from '../../../src/payments/model/pin.ts';

const { none, awaiting, submitted, done, exhausted, expired } = PinState;
const ALL = Object.values(PinState);
const WAIT = { job: '11111111-2222-4333-8444-555555555555', seconds: 90 };
const VERDICTS: readonly PinVerdict[] = ['wanted', 'triesExceeded', 'final'];

function step(pinState: PinStateId, pinTries = 0): PinStep {
  return { pinState, pinTries, pinJob: pinState === awaiting ? WAIT.job : null };
}

/** The transitions of the design, written a second time. */
const ALLOWED: Readonly<Record<PinStateId, readonly PinStateId[]>> = {
  [none]: [awaiting, submitted],
  [awaiting]: [submitted, expired],
  [submitted]: [done, awaiting, exhausted],
  [done]: [],
  [exhausted]: [],
  [expired]: [],
};

/** Every operation on a step, and the state it leads to if it is allowed. */
const ATTEMPTS: readonly (readonly [what: string, to: PinStateId, attempt: (from: PinStep) => PinStep])[] = [
  ['a PIN', submitted, submitPinStep],
  ['the end of the wait', expired, expirePinStep],
];

describe.each(ALL)('from state %i', (from) => {
  test('the table allows what the design allows, and nothing else', () => {
    expect(PIN_STATE_MOVES.get(from)).toEqual(ALLOWED[from]);
  });

  test.each(
    ATTEMPTS,
  )('%s moves it if the table allows it, and is a fault of the gateway otherwise', (_what, to, attempt) => {
    if (ALLOWED[from].includes(to)) expect(attempt(step(from))).toEqual(step(to));
    else
      expect(() => attempt(step(from))).toThrow(`No move of a PIN from ${pinStateName(from)} to ${pinStateName(to)}`);
  });

  test.each(VERDICTS)('the verdict "%s" moves it along the table or not at all', (verdict) => {
    for (const wait of [WAIT, null]) {
      if (from === none || from === submitted) {
        const { pinState } = judgePin(step(from), verdict, wait);
        expect(pinState === from || ALLOWED[from].includes(pinState)).toBe(true);
      } else {
        expect(() => judgePin(step(from), verdict, wait)).toThrow(/No move of a PIN/);
      }
    }
  });
});

describe('an attempt without a PIN', () => {
  test('an attempt without a PIN that requires one awaits it with its job', () => {
    expect(judgePin(NO_PIN, 'wanted', WAIT)).toEqual({ pinState: awaiting, pinTries: 0, pinJob: WAIT.job });
  });

  test('an attempt without a PIN that requires one at a terminal without PINs remains without', () => {
    expect(judgePin(NO_PIN, 'wanted', null)).toEqual(NO_PIN);
  });

  test.each(['final', 'triesExceeded'] as const)('an attempt without a PIN that is %s remains without', (verdict) => {
    expect(judgePin(NO_PIN, verdict, WAIT)).toEqual(NO_PIN);
  });

  test('returns only a step, not the data that it was read from', () => {
    expect(judgePin({ ...NO_PIN, disposition: null } as PinStep, 'final', null)).toEqual(NO_PIN);
  });
});

describe('a submitted PIN', () => {
  test('is done with any outcome', () => {
    expect(judgePin(step(submitted, 1), 'final', WAIT)).toEqual(step(done, 1));
  });

  test('a submitted PIN that is wrong is awaited again until the third time', () => {
    let before = NO_PIN;
    const states: [string, number][] = [];
    for (let tries = 0; tries < MAX_PIN_TRIES; tries++) {
      before = judgePin(submitPinStep(before), 'wanted', WAIT);
      states.push([pinStateName(before.pinState), before.pinTries]);
    }
    expect(states).toEqual([
      ['awaiting', 1],
      ['awaiting', 2],
      ['exhausted', 3],
    ]);
    expect(before.pinJob).toBeNull();
  });

  test('a submitted PIN after which the issuer accepts no more is exhausted immediately', () => {
    expect(judgePin(step(submitted), 'triesExceeded', WAIT)).toEqual(step(exhausted));
  });

  test('a submitted PIN that is wrong at a terminal without further PINs is exhausted', () => {
    expect(judgePin(step(submitted), 'wanted', null)).toEqual(step(exhausted, 1));
  });
});

test('the trail contains each transition once, by name', () => {
  const nowMs = Date.parse('2026-03-01T10:00:00.123Z');
  expect(pinEntries(NO_PIN, step(awaiting), nowMs)).toEqual([{ pin: 'awaiting', at: '2026-03-01T10:00:00.123Z' }]);
  expect(pinEntries(NO_PIN, NO_PIN, nowMs)).toEqual([]);
});

test.each(
  ALL,
)('in state %i there is something to report to the phone if there is an outcome, or a PIN is awaited', (pinState) => {
  expect(hasResponse({ pinState, disposition: null })).toBe(isAwaitingPin({ pinState }));
  expect(hasResponse({ pinState, disposition: Disposition.Declined })).toBe(true);
});
