import { type RejectionCode, RequestRejected } from '../../basics/errors.ts';
import { holdIfLost } from '../decisions/after-restore.ts';
import { Disposition } from '../model/disposition.ts';
import { Status, type StatusId } from '../model/status.ts';
import { ReversalState, type Transaction, TransactionType } from '../model/transaction.ts';
import type { RefundStore, ReturnObstacle } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { restingAttempt } from '../taps/attempts.ts';
import { draftReturn } from '../taps/draft.ts';

/**
 * A void cancels an approved sale in full, before the switch settles it. It is the reversal of the sale with another
 * reason, and reversals.ts sends and repeats it. The commit here records that the reversal is required. From then on
 * it cannot be withdrawn, and no part of the sale can be refunded.
 *
 * A row of type Void represents it. The row rests from its creation, because the `reverse` job of the sale drives
 * the void. Its disposition stays open until the switch acknowledges (Approved, and the sale is Voided) or finally
 * refuses (Declined, and the sale is unchanged). While neither is certain, the sale stays blocked. Both rows need
 * review if the time for attempts is over or the switch contradicts itself (decisions/reversal-responses.ts,
 * reversals/record-reversal-response.ts).
 */

const PATH: readonly StatusId[] = [Status.RequestReceived, Status.RespondedToPhone];

/** The use case of voids. */
export class Voids {
  readonly #deps: TransactionDependencies;

  constructor(deps: TransactionDependencies) {
    this.#deps = deps;
  }

  /**
   * Starts the void of a sale.
   *
   * @param sale the sale, already checked to belong to the caller
   * @returns the void as committed, its disposition open
   * @throws RequestRejected (SALE_SETTLED, ALREADY_VOIDED_OR_REFUNDED, SALE_IN_REVIEW, SALE_NOT_APPROVED,
   * SALE_PROCESSOR_REMOVED, SALE_SWITCH_CHANGED), HeldAfterRestore, StoreUnavailable
   */
  async start(sale: Transaction, correlationId: string | null = null): Promise<Transaction> {
    await this.#refuseUnlessWhole(sale);
    await holdIfLost(this.#deps, () => {
      const { acquirerId, merchantId, id: reference, amountMinor, currency, createdAtMs } = sale;
      const held = { acquirerId, merchantId, reference, kind: 'void', amountMinor, currency } as const;
      return { held, request: { kind: 'return', saleCreatedAtMs: createdAtMs } };
    });
    if (await this.#deps.refunds.isSettled(sale)) throw new RequestRejected('SALE_SETTLED');
    const nowMs = this.#deps.clock.nowMs();
    const attempt = restingAttempt(this.#draft(sale, correlationId, nowMs), PATH, nowMs);
    const data = { acquirerId: sale.acquirerId, id: sale.id, attempt: sale.attempt, reversalAttempt: 1 };
    const reverseJob = { queue: 'reverse', data } as const;
    const wanted = { original: sale, attempt, reverseJob, nowMs };
    if (await this.#deps.observer.commit('startVoid', attempt, () => this.#deps.refunds.startVoid(wanted)))
      return attempt.transaction;
    await this.#refuseUnlessWhole((await this.#deps.store.find(sale)) ?? sale);
    throw alreadyReversed(); // another request was faster
  }

  #draft(sale: Transaction, correlationId: string | null, nowMs: number): Transaction {
    const { newId } = this.#deps;
    const { routeId, tid, mid, providerReference } = sale;
    const id = newId();
    const amountMinor = sale.approvedMinor ?? sale.amountMinor;
    // The sale may be voided again after a refusal, so each void has a reference of its own.
    const own = { id, merchantReference: id, correlationId, type: TransactionType.Void, amountMinor };
    return { ...draftReturn(sale, own, nowMs), routeId, tid, mid, providerReference };
  }

  async #refuseUnlessWhole(sale: Transaction): Promise<void> {
    await refuseUnlessFree(this.#deps.refunds, sale);
    // Its outcome comes from the switch's books, after the end of its reversal.
    if (sale.reversalState === ReversalState.resolved) throw new RequestRejected('SALE_SETTLED');
    if (sale.refundedMinor > 0) throw alreadyReversed();
  }
}

const OBSTACLES = {
  inReview: 'SALE_IN_REVIEW',
  noProcessor: 'SALE_PROCESSOR_REMOVED',
  otherSwitch: 'SALE_SWITCH_CHANGED',
} as const satisfies Record<ReturnObstacle, RejectionCode>;

/**
 * Nothing of a sale is returned while the sale, a refund or a void of it is in review, or if no message can reach the
 * switch that approved it.
 *
 * @throws RequestRejected (ALREADY_VOIDED_OR_REFUNDED, SALE_IN_REVIEW, SALE_NOT_APPROVED, SALE_PROCESSOR_REMOVED,
 * SALE_SWITCH_CHANGED)
 */
export async function refuseUnlessFree(refunds: Pick<RefundStore, 'findObstacle'>, sale: Transaction): Promise<void> {
  refuseUnlessApproved(sale);
  const obstacle = await refunds.findObstacle(sale);
  if (obstacle) throw new RequestRejected(OBSTACLES[obstacle]);
}

/** @throws RequestRejected (ALREADY_VOIDED_OR_REFUNDED, SALE_NOT_APPROVED) */
export function refuseUnlessApproved({ type, disposition, voidState }: Transaction): void {
  const isSale = type !== TransactionType.Refund && type !== TransactionType.Void;
  if (isSale && (voidState !== null || disposition === Disposition.Voided)) throw alreadyReversed();
  if (isSale && disposition === Disposition.Approved) return;
  throw new RequestRejected('SALE_NOT_APPROVED');
}

function alreadyReversed(): RequestRejected {
  return new RequestRejected('ALREADY_VOIDED_OR_REFUNDED');
}
