import { SealError, StoreUnavailable } from '../../basics/errors.ts';
import { REVERSAL_SCHEDULE } from '../../kits/processor-kit/profile.ts';
import { exhaustedStep, reviewStep } from '../decisions/reversal-steps.ts';
import type { Transaction } from '../model/transaction.ts';
import type { Switch } from '../ports/switch-ports.ts';
import { type ReversalAnswerDependencies, stepReversal } from './record-reversal-answer.ts';

/** The fault of a message whose switch is no longer behind its processor. */
export const SWITCH_CHANGED = 'SWITCH_CHANGED';

/**
 * Decides what happens to a reversal whose attempt failed with an error before it was sent.
 *
 * - If its card data were erased, or its sealed bytes were changed, no attempt can ever be built. The transaction
 *   needs review at once, and the job ends.
 * - If the sealing key no longer exists, the transaction needs review at once, because only a person can restore the
 *   key. The job is retried, so that the reversal is sent when the key is restored.
 * - Any other error (an exception of a processor type, for example) may be temporary. The job is retried, and the
 *   transaction needs review after the time for attempts is over.
 *
 * @throws the error itself if the job has to be retried, so that it is logged
 */
export async function reviewUnsendable(
  deps: ReversalAnswerDependencies,
  transaction: Transaction,
  target: Switch | undefined,
  error: unknown,
): Promise<'done'> {
  if (error instanceof StoreUnavailable) throw error;
  const sealFault = error instanceof SealError ? error.code : undefined;
  const nowMs = deps.clock.nowMs();
  const step = sealFault
    ? reviewStep(transaction, nowMs)
    : exhaustedStep(transaction, target?.profile.reversal ?? REVERSAL_SCHEDULE, nowMs);
  if (step) await stepReversal(deps, step, sealFault ?? (error instanceof Error ? error.name : 'unknown'));
  if (sealFault === 'NOT_KEPT' || sealFault === 'SEAL_BROKEN') return 'done';
  throw error;
}

/**
 * The processor now leads to another switch than the one that the transaction was sent to. That switch has not seen the
 * transaction, and might acknowledge its reversal all the same. A person must ask the former switch.
 */
export async function reviewMoved(
  deps: ReversalAnswerDependencies,
  transaction: Transaction,
): Promise<'done' | { readonly againAfterSeconds: number }> {
  const step = reviewStep(transaction, deps.clock.nowMs());
  const isReviewed = step === undefined || (await stepReversal(deps, step, SWITCH_CHANGED));
  return isReviewed ? 'done' : { againAfterSeconds: 1 };
}
