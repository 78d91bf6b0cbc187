import { Forbidden, NotFound, RequestRejected, StoreUnavailable } from '../../basics/errors.ts';
import { admit } from '../decisions/admit.ts';
import type { Principal } from '../model/principal.ts';
import { canMove, moves, Status, type StatusId } from '../model/status.ts';
import type { Transaction } from '../model/transaction.ts';
import type { PhoneResponseRecord } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { isOpenTo } from './link-of-tap.ts';

/**
 * The record that the response was flushed, or its job, may be committed in between. More retries than that have
 * another cause.
 */
const MAX_TRIES = 4;

/**
 * Records that the device has the outcome: 8 or 9 -> 10. If the response is not yet recorded as flushed, the
 * transaction passes through 8, because the acknowledgement proves that the device has it.
 *
 * @returns the transaction as stored; unchanged if it was acknowledged before
 * @throws NotFound for a transaction of another merchant, Forbidden for one of another user or device,
 * RequestRejected (NO_OUTCOME_YET), StoreUnavailable
 */
export async function acknowledge(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'refunds' | 'store'>,
  principal: Principal,
  { id, deviceInstallationId }: { readonly id: string; readonly deviceInstallationId: string },
): Promise<Transaction> {
  admit(deps, principal, deviceInstallationId);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const transaction = await deps.store.find({ acquirerId: principal.acquirerId, id });
    if (transaction?.merchantId !== principal.merchantId || !isOpenTo(principal, transaction)) throw new NotFound();
    const { userClaim, deviceInstallationId: device } = transaction;
    if (userClaim !== principal.userClaim || device !== deviceInstallationId) throw new Forbidden('FORBIDDEN');
    if (transaction.status === Status.AcknowledgedByPhone) return transaction;
    const record = acknowledgementOf(deps, transaction);
    if (await deps.refunds.acknowledge(record)) return { ...transaction, status: record.status };
  }
  throw new StoreUnavailable(false); // the row changes faster than it can be read
}

function acknowledgementOf(
  deps: Pick<TransactionDependencies, 'clock'>,
  transaction: Transaction,
): PhoneResponseRecord {
  const { acquirerId, id, attempt, status: fromStatus, disposition, overdueJob } = transaction;
  if (disposition === null) throw new RequestRejected('NO_OUTCOME_YET');
  const { RespondedToPhone, AcknowledgedByPhone: status } = Status;
  const path: StatusId[] = canMove(fromStatus, status) ? [status] : [RespondedToPhone, status];
  return {
    acquirerId,
    id,
    attempt,
    fromStatus,
    status,
    overdueJob,
    auditEntries: moves(fromStatus, path, deps.clock.nowMs()),
  };
}
