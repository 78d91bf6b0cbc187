import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import {
  LONGEST_DEADLINE_SECONDS,
  OUTCOME_GRACE_SECONDS,
  RESPONSE_SLACK_SECONDS,
} from '../../../src/payments/model/time-limits.ts';
import { ReversalState, type Transaction } from '../../../src/payments/model/transaction.ts';
import type { GuardedDecision } from '../../../src/payments/ports/store-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { Outcomes } from '../../../src/payments/reversals/outcomes.ts';
import { UNOBSERVED } from '../../support/unobserved.ts';
import { sampleTransaction } from '../sample-transaction.ts';

/** Dependencies in which time passes only by waiting, with one row; `onLook` may change it before each read. */
function deps(
  row: Transaction | undefined,
  onLook: (look: number, nowMs: number) => Partial<Transaction> | Error | undefined = () => undefined,
) {
  let current = row;
  let lookUps = 0;
  let nowMs = 0;
  let isSettled = true;
  let decisionError: Error | undefined;
  const decisions: GuardedDecision[] = [];
  const parts = {
    clock: { nowMs: () => 1_000_000 + nowMs, monotonicMs: () => nowMs },
    newId: () => 'a new id',
    directory: { webhookEndpoint: () => undefined, lostWindow: () => undefined },
    observer: UNOBSERVED,
    wakeups: {
      moved: async (_key: unknown, timeoutMs: number) => {
        nowMs += timeoutMs;
      },
      announce: () => {},
    },
    longestDeadlineSeconds: () => LONGEST_DEADLINE_SECONDS,
    store: {
      find: async () => {
        const change = onLook(++lookUps, nowMs);
        if (change instanceof Error) throw change;
        if (current && change) current = { ...current, ...change };
        return current;
      },
      recordDecision: async (decision: GuardedDecision) => {
        if (decisionError) throw decisionError;
        decisions.push(decision);
        if (isSettled && current)
          current = { ...current, ...decision.decision.result, status: decision.decision.status };
        return isSettled;
      },
    },
  };
  return {
    deps: parts as unknown as TransactionDependencies,
    decisions,
    get lookUps() {
      return lookUps;
    },
    get waitedMs() {
      return nowMs;
    },
    refuseDecisions: (error?: Error) => {
      isSettled = false;
      decisionError = error;
    },
  };
}

const waitingForWorker = sampleTransaction({ status: Status.ReadyToSubmitToPaymentProcessor, deadlineSeconds: null });
const submitted = sampleTransaction({ deadlineSeconds: 30 });
const lastMomentAtMs = (deadlineSeconds: number) =>
  (deadlineSeconds + RESPONSE_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1_000;

test('an existing outcome is returned immediately', async () => {
  const there = deps({ ...submitted, disposition: Disposition.Approved });
  expect(await new Outcomes(there.deps).await(submitted)).toMatchObject({ disposition: Disposition.Approved });
  expect(there).toMatchObject({ lookUps: 1, waitedMs: 0 });
});

test('a database that is unavailable for seconds does not end the wait', async () => {
  const back = deps(submitted, (look) => {
    if (look === 1) return undefined;
    return look < 6 ? new StoreUnavailable(false) : { disposition: Disposition.Approved };
  });
  expect(await new Outcomes(back.deps).await(submitted)).toMatchObject({ disposition: Disposition.Approved });
});

test('an outcome without a notice is found within a second', async () => {
  const silent = deps(submitted, (_look, nowMs) =>
    nowMs >= 7_500 ? { disposition: Disposition.Declined } : undefined,
  );
  expect(await new Outcomes(silent.deps).await(submitted)).toMatchObject({ disposition: Disposition.Declined });
  expect(silent.waitedMs).toBe(8_000);
  expect(silent.decisions).toEqual([]);
});

describe('after the last moment the waiting request decides itself, and reports what it has stored', () => {
  test('the waiting request decides on a tap that no worker took: nothing was sent', async () => {
    const lost = deps(waitingForWorker);
    const outcome = await new Outcomes(lost.deps).await(waitingForWorker);
    expect(outcome).toMatchObject({ disposition: Disposition.UnableToGoOnline, reversalState: ReversalState.none });
    expect(lost.waitedMs).toBe(lastMomentAtMs(LONGEST_DEADLINE_SECONDS));
    expect(lost.decisions).toMatchObject([{ isOverdue: true }]);
  });

  test('the waiting request decides on a submitted tap: Indeterminate, and a reversal is pending', async () => {
    const lost = deps(submitted);
    const outcome = await new Outcomes(lost.deps).await(submitted);
    expect(outcome).toMatchObject({ disposition: Disposition.Indeterminate, reversalState: ReversalState.owed });
    expect(lost.waitedMs).toBe(lastMomentAtMs(30));
    expect(lost.decisions[0]!.decision.enqueue.map(({ queue }) => queue)).toEqual(['reverse', 'webhook']);
  });
});

test('a decision of another process at the last moment is reported, and is not a failure', async () => {
  // Its own decision comes too late: the row has changed between the read and the commit.
  const raced = deps(submitted, (_look, nowMs) =>
    nowMs > lastMomentAtMs(30) ? { disposition: Disposition.Indeterminate } : undefined,
  );
  raced.refuseDecisions();
  expect(await new Outcomes(raced.deps).await(submitted)).toMatchObject({ disposition: Disposition.Indeterminate });
});

describe('what cannot be reported is not an outcome: the phone must repeat its request', () => {
  const expectUnavailable = async (waiting: Promise<Transaction>) => {
    const error = await waiting.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error).toMatchObject({ mayBeStored: true });
  };

  test('a missing row', () => expectUnavailable(new Outcomes(deps(undefined).deps).await(submitted)));

  test('a decision that the database refuses', () => {
    const refusing = deps(submitted);
    refusing.refuseDecisions(new StoreUnavailable(false));
    return expectUnavailable(new Outcomes(refusing.deps).await(submitted));
  });

  test('a database that remains unavailable', () => {
    const away = deps(submitted, (look) => (look >= 2 ? new StoreUnavailable(false) : undefined));
    return expectUnavailable(new Outcomes(away.deps).await(submitted));
  });

  test("a deadline that has not passed yet according to the database's clock", () => {
    const early = deps(submitted);
    early.refuseDecisions();
    return expectUnavailable(new Outcomes(early.deps).await(submitted));
  });
});
