import { StoreUnavailable } from '../../errors.ts';
import { hasAnswer } from '../pin/pin-step.ts';
import { decideOverdue } from '../reversal/overdue.ts';
import { ANSWER_SLACK_SECONDS, LONGEST_DEADLINE_SECONDS, OUTCOME_GRACE_SECONDS } from '../time-limits.ts';
import type { Transaction } from '../transaction.ts';
import type { World } from '../world.ts';

/** A wake-up can be lost, or belong to a process that does not share them: the row is looked at this often anyway. */
const LOOK_AGAIN_MS = 1_000;
/** A database that restarts, or is replaced, is there again within this time; whoever waits for an outcome need not notice. */
const UNREAD_FOR_MS = 10_000;

/**
 * Waits for an outcome, or the wish for a PIN, that somebody else commits: a worker, the `overdue` job, the same request
 * running elsewhere. The answer always comes from the row. Past the last moment the caller makes the move itself; it never
 * invents an outcome.
 *
 * @throws StoreUnavailable when the row is gone or stays undecided
 */
export async function awaitOutcome(world: World, transaction: Transaction): Promise<Transaction> {
  const deadlineSeconds = transaction.deadlineSeconds ?? LONGEST_DEADLINE_SECONDS;
  const giveUpMs = world.clock.monotonicMs() + (deadlineSeconds + ANSWER_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1000;
  let readAtMs = world.clock.monotonicMs();
  for (;;) {
    const current = await world.store.find(transaction).catch((cause) => {
      const nowMs = world.clock.monotonicMs();
      const mayWait = cause instanceof StoreUnavailable && nowMs - readAtMs < UNREAD_FOR_MS && nowMs < giveUpMs;
      if (!mayWait) throw new StoreUnavailable(true, { cause });
      return 'unread' as const;
    });
    if (current === 'unread') {
      await world.wakeups.moved(transaction, LOOK_AGAIN_MS);
      continue;
    }
    readAtMs = world.clock.monotonicMs();
    if (!current) throw new StoreUnavailable(true);
    if (hasAnswer(current)) return current;
    const leftMs = giveUpMs - world.clock.monotonicMs();
    if (leftMs <= 0) {
      if ((await decideOverdue(world, current)) === 'decided') continue;
      throw new StoreUnavailable(true);
    }
    await world.wakeups.moved(transaction, Math.min(leftMs, LOOK_AGAIN_MS));
  }
}
