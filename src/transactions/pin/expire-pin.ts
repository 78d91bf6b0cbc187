import { expirePinStep, pinEntries } from '../decisions/pin-step.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import type { TransactionKey } from '../model/transaction.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/** The database's clock says that it is not time yet, by milliseconds: look again after so long. */
const NOT_YET_SECONDS = 1;

/**
 * No PIN came: the decline that asked for it is the outcome, with the code and the errorCode that it had.
 *
 * @returns `done` too when a PIN was faster
 */
export async function expirePin(
  deps: TransactionDependencies,
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
