import { StoreUnavailable } from '../../basics/errors.ts';
import { hasAnswer } from '../model/pin.ts';
import { ANSWER_SLACK_SECONDS, OUTCOME_GRACE_SECONDS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import { decideOverdue, type OutcomeDependencies } from '../reversals/overdue.ts';

/**
 * A wake-up can be lost, or come from a process that does not share them, so the row is read at this interval
 * anyway.
 */
const LOOK_AGAIN_MS = 1_000;
/**
 * A database that restarts or is replaced is usually available again within this time, so waiting requests do not
 * notice.
 */
const UNREAD_FOR_MS = 10_000;

/** After the last moment another process may be deciding, or the clock of the database may be slightly behind. */
const DECIDED_WITHIN_MS = 5_000;

/**
 * Waits for an outcome, or a request for a PIN, that another actor commits: a worker, the `overdue` job, or the same
 * request in another process. The result always comes from the row. After the last moment the caller makes the
 * transition itself; it never invents an outcome.
 *
 * @throws StoreUnavailable, `mayBeStored`, if the row does not exist, cannot be read for a long time, or stays
 * undecided
 */
export async function awaitOutcome(deps: OutcomeDependencies, transaction: Transaction): Promise<Transaction> {
  const deadlineSeconds = transaction.deadlineSeconds ?? deps.longestDeadlineSeconds(transaction.acquirerId);
  const lastMomentAtMs =
    deps.clock.monotonicMs() + (deadlineSeconds + ANSWER_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1000;
  let readAtMs = deps.clock.monotonicMs();
  for (;;) {
    const current = await lookOrDecide(deps, transaction, lastMomentAtMs).catch((cause) => {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      if (deps.clock.monotonicMs() - readAtMs >= UNREAD_FOR_MS) throw new StoreUnavailable(true, { cause });
      return 'unread' as const;
    });
    if (current === undefined) throw new StoreUnavailable(true);
    if (current !== 'unread') {
      if (hasAnswer(current)) return current;
      readAtMs = deps.clock.monotonicMs();
    }
    const leftMs = lastMomentAtMs - deps.clock.monotonicMs();
    if (leftMs <= -DECIDED_WITHIN_MS) throw new StoreUnavailable(true);
    await deps.wakeups.moved(transaction, leftMs > 0 ? Math.min(leftMs, LOOK_AGAIN_MS) : LOOK_AGAIN_MS);
  }
}

/** The row as stored; after the last moment, the row after the decision of this request. */
async function lookOrDecide(
  deps: OutcomeDependencies,
  transaction: Transaction,
  lastMomentAtMs: number,
): Promise<Transaction | undefined> {
  const current = await deps.store.find(transaction);
  if (!current || hasAnswer(current) || deps.clock.monotonicMs() < lastMomentAtMs) return current;
  await decideOverdue(deps, current);
  return deps.store.find(transaction);
}
