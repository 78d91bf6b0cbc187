import { describe, expect, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import { FAILPOINTS, type FailpointName, Failpoints } from '../../src/observe/failpoints.ts';
import { ProcessObserver } from '../../src/observe/transaction-observer.ts';
import { Status } from '../../src/payments/model/status.ts';
import type { GuardedDecision, NewAttempt, ReversalStep } from '../../src/payments/ports/store-ports.ts';
import type { SwitchResponse } from '../../src/payments/ports/switch-ports.ts';
import type { CommitListener, Commits } from '../../src/payments/ports/transaction-dependencies.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { sampleTransaction } from '../transactions/sample-transaction.ts';

const submitted = sampleTransaction({ status: Status.SubmittedToPaymentProcessor });
const accepted = sampleTransaction({ status: Status.ReadyToSubmitToPaymentProcessor });
const NONE = { listeners: [], onError: failOnBug, tracing: undefined, failpoints: undefined, load: undefined };
const RESPONDED: SwitchResponse<string> = { kind: 'responded', value: 'approved', connectionId: 'line' };

describe('the load of a process', () => {
  const observe = () => {
    const load = new TapLoad(1);
    return { load, observer: new ProcessObserver({ ...NONE, load }) };
  };

  test('does not contain a tap while a switch has its request', async () => {
    const { load, observer } = observe();
    const response = Promise.withResolvers<SwitchResponse<string>>();
    load.begin();
    const authorizing = observer.roundTrip('authorization', 'type-1', submitted, () => response.promise);
    expect(load.count).toBe(0);
    response.resolve(RESPONDED);
    expect(await authorizing).toBe(RESPONDED);
    expect(load.count).toBe(1);
  });

  test('does not contain a tap while another process decides', async () => {
    const { load, observer } = observe();
    const wakeup = Promise.withResolvers<void>();
    load.begin();
    const waiting = observer.wait(() => wakeup.promise);
    expect(load.count).toBe(0);
    wakeup.resolve();
    await waiting;
    expect(load.count).toBe(1);
  });
});

describe('a failpoint', () => {
  /** The moments of a process in order, with its own effects among them. */
  function record() {
    const moments: string[] = [];
    const failpoints = Failpoints.parse(FAILPOINTS.map((name) => `${name}:kill`).join(','))!;
    failpoints.pass = (name: FailpointName) => void moments.push(name);
    return {
      moments,
      observer: new ProcessObserver({ ...NONE, failpoints }),
    };
  }

  async function momentsOf<Name extends keyof Commits>(name: Name, written: Commits[Name], isCommitted = true) {
    const { moments, observer } = record();
    await observer.commit(name, written, async () => {
      moments.push('commit');
      return isCommitted;
    });
    return moments;
  }

  const attempt = { transaction: submitted } as NewAttempt;
  const decision = (isOverdue: boolean) => ({ transaction: submitted, isOverdue }) as GuardedDecision;
  const step = (rest: Partial<ReversalStep>) => ({ transaction: submitted, ...rest }) as ReversalStep;

  test.each(['retry', 'submitPin'] as const)('is on each side of a %s that submits', async (name) => {
    expect(await momentsOf(name, attempt)).toEqual(['before-submit-commit', 'commit', 'after-submit-commit']);
    expect(await momentsOf(name, { transaction: accepted } as NewAttempt)).toEqual(['commit']);
  });

  test('does not follow a commit that stored nothing', async () => {
    expect(await momentsOf('retry', attempt, false)).toEqual(['before-submit-commit', 'commit']);
    expect(await momentsOf('startVoid', attempt, false)).toEqual(['before-void-commit', 'commit']);
  });

  test('is on each side of a refund and of a void', async () => {
    expect(await momentsOf('reserve', attempt)).toEqual(['before-refund-commit', 'commit', 'after-refund-commit']);
    expect(await momentsOf('startVoid', attempt)).toEqual(['before-void-commit', 'commit', 'after-void-commit']);
  });

  test('follows a decision and each step of a reversal', async () => {
    expect(await momentsOf('decision', decision(false))).toEqual(['commit', 'after-outcome-commit']);
    expect(await momentsOf('decision', decision(true))).toEqual(['commit', 'after-overdue-commit']);
    const sent = step({ record: { kind: 'sent' } as ReversalStep['record'] });
    expect(await momentsOf('stepReversal', sent)).toEqual(['commit', 'after-reversal-commit']);
    expect(await momentsOf('stepReversal', step({}))).toEqual(['commit', 'after-reversal-outcome']);
    const voided = step({ voidRow: { id: 'void', disposition: 0, needsReview: false } });
    expect(await momentsOf('stepReversal', voided)).toEqual(['commit', 'after-void-outcome']);
  });

  test.each([
    ['authorization', ['sent', 'after-write', 'after-response']],
    ['reversal', ['sent', 'after-reversal-write', 'after-reversal-response']],
    ['completion', ['sent']],
  ] as const)('is between the bytes of the %s and its response', async (message, expected) => {
    const { moments, observer } = record();
    const send = async () => {
      moments.push('sent');
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      return RESPONDED;
    };
    await observer.roundTrip(message, 'type-1', submitted, send);
    expect(moments).toEqual(expected);
  });
});

test('listeners are notified in order, of what was stored', async () => {
  const heard: unknown[] = [];
  const listener = (name: string): CommitListener => ({
    retry: ({ transaction }, result) => heard.push([name, transaction.id, result]),
  });
  const listeners = [listener('first'), listener('second')];
  const observer = new ProcessObserver({ ...NONE, listeners });
  await observer.commit('retry', { transaction: submitted } as NewAttempt, async () => true);
  await observer.commit('retry', { transaction: submitted } as NewAttempt, async () => false);
  await observer.commit('submitPin', { transaction: submitted } as NewAttempt, async () => true);
  expect(heard).toEqual([
    ['first', submitted.id, true],
    ['second', submitted.id, true],
  ]);
});

test('a listener that fails is reported, and the commit counts as what it is', async () => {
  const heard: string[] = [];
  const errors: unknown[] = [];
  const failing: CommitListener = {
    retry: () => {
      throw new TypeError('a label is missing');
    },
  };
  const next: CommitListener = { retry: ({ transaction }) => heard.push(transaction.id) };
  const observer = new ProcessObserver({
    ...NONE,
    listeners: [failing, next],
    onError: (error) => errors.push(error),
  });
  expect(await observer.commit('retry', { transaction: submitted } as NewAttempt, async () => true)).toBe(true);
  expect(errors).toMatchObject([{ message: 'a label is missing' }]);
  expect(heard).toEqual([submitted.id]);
});
