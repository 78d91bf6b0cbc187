import { expirePinStep, pinEntries } from '../decisions/pin-step.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import type { TransactionKey } from '../model/transaction.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * If the clock of the database has not reached the time yet, by milliseconds, the job runs again after this many
 * seconds.
 */
const NOT_YET_SECONDS = 1;

/**
 * No PIN arrived: the decline that asked for it becomes the outcome, with its code and errorCode.
 *
 * @returns `done` also if a PIN was faster
 */
export async function expirePin(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'newId' | 'store' | 'wakeups'>,
  asked: TransactionKey & { readonly attempt: number },
): Promise<'done' | { readonly againAfterSeconds: number }> {
  const transaction = await deps.store.find(asked);
  if (!transaction || transaction.attempt !== asked.attempt || !isAwaitingPin(transaction)) return 'done';
  const nowMs = deps.clock.nowMs();
  const pin = expirePinStep(transaction);
  const disposition = Disposition.Declined;
  const isExpired = await deps.store.expirePin({
    transaction,
    disposition,
    pin,
    auditEntries: pinEntries(transaction, pin, nowMs),
    nowMs,
    enqueue: webhookJobs(deps, transaction, { disposition, approvedMinor: null }, nowMs),
  });
  deps.wakeups.announce(transaction);
  return isExpired ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
}
