import { voidEventJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { type Transaction, VoidState } from '../model/transaction.ts';
import type { ReversalStep, VoidRow } from '../ports/reversal-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * Adds the effects of a step of a sale's reversal: on the row of its void, and for the integrator who received 202.
 *
 * - done: Approved; the integrator receives an event of the sale, which is Voided
 * - refused: Declined, in review; `void.failed`
 * - in doubt: in review, with an unchanged disposition; `void.needsReview`, once
 *
 * @returns the step with all of these effects, to be committed together
 */
export async function withVoidRow(
  deps: Pick<TransactionDependencies, 'directory' | 'newId' | 'refunds'>,
  step: ReversalStep,
): Promise<ReversalStep> {
  const { transaction, to, auditEntries, nowMs } = step;
  const isOfVoid = transaction.voidState === VoidState.asked || to.voidState === VoidState.disputed;
  const isInDoubt = auditEntries.some((each) => 'reversal' in each && each.reversal === 'needsReview');
  if (!isOfVoid || (to.voidState === transaction.voidState && !isInDoubt)) return step;
  const row = await deps.refunds.findVoid(transaction);
  if (!row) return step;
  const { voidRow, event } = fateOf(row, step, isInDoubt);
  const enqueue = event ? voidEventJobs(deps, row, event, nowMs) : [];
  return { ...step, voidRow, enqueue: [...step.enqueue, ...enqueue] };
}

interface Fate {
  readonly voidRow: VoidRow;
  readonly event?: 'failed' | 'needsReview' | 'disputed' | undefined;
}

function fateOf({ id, disposition, needsReview }: Transaction, { to }: ReversalStep, isInDoubt: boolean): Fate {
  if (to.voidState === VoidState.done) return { voidRow: { id, disposition: Disposition.Approved, needsReview } };
  if (to.voidState === null) {
    return { voidRow: { id, disposition: Disposition.Declined, needsReview: true }, event: 'failed' };
  }
  const voidRow = { id, disposition, needsReview: isInDoubt || needsReview };
  if (to.voidState === VoidState.disputed) return { voidRow, event: 'disputed' };
  return { voidRow, event: needsReview ? undefined : 'needsReview' };
}
