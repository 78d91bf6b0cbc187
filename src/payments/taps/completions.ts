import type { Completion } from '../../kits/processor-kit/processor.ts';
import { REVERSAL_SCHEDULE, type ReversalProfile } from '../../kits/processor-kit/profile.ts';
import { wasUnderWay } from '../decisions/after-restore.ts';
import { connectionRetrySeconds } from '../decisions/reversal-steps.ts';
import type { JobRequest } from '../model/decision.ts';
import { Disposition } from '../model/disposition.ts';
import { switchOf } from '../model/switch-revision.ts';
import { ReversalState, type Transaction, type TransactionKey } from '../model/transaction.ts';
import type { Switch, TakenStan } from '../ports/switch-ports.ts';
import type { Clock, TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { SWITCH_CHANGED } from '../reversals/record-reversal-response.ts';
import { type Again, candidatesAfter, delegateTo, findCandidate, reachedElsewhere } from './delegate.ts';
import { merchantTime, timingFrom } from './prepare-submission.ts';

/**
 * Some switches post an approval only after a completion advice. This file sends that advice. Its job is committed
 * with the outcome, so a crash does not lose it. The job repeats the advice until the switch accepts it or the time
 * limit of a reversal is over.
 *
 * A completion must not reach the switch after a void, because it would undo the void. The sender therefore first
 * acquires the right to complete, which a sale that is being voided or reversed does not grant. The reversal of a
 * void waits while a completion holds this right (reversals.ts).
 */

/** The payload of a completion job: one attempt, the first or a repeat. */
export interface CompletionAttempt extends TransactionKey {
  readonly attempt: number;
  readonly completionAttempt: number;
}

export type CompletionJobResult = 'done' | (Again & { readonly payload?: CompletionAttempt });

/** No slot is free, a void is being decided, or the attempt before may still be in transit: try again later. */
function later(transaction: Transaction, clock: Pick<Clock, 'nowMs'>): { readonly againAfterSeconds: number } {
  return { againAfterSeconds: connectionRetrySeconds(transaction, clock.nowMs()) };
}

/** The job that is committed with an approval. */
export function completionJob({ acquirerId, id, attempt }: Transaction): JobRequest {
  return { queue: 'complete', data: { acquirerId, id, attempt, completionAttempt: 1 } };
}

/** Sends completions. */
export class Completions {
  readonly #deps: TransactionDependencies;

  constructor(deps: TransactionDependencies) {
    this.#deps = deps;
  }

  async send(asked: CompletionAttempt): Promise<CompletionJobResult> {
    const transaction = await this.#deps.store.find(asked);
    if (transaction?.attempt !== asked.attempt || transaction.disposition !== Disposition.Approved) return 'done';
    if (this.#deps.path.kind !== 'direct') throw new Error('Completions are sent by workers');
    // A requested void may be refused, and then the sale remains approved. A void without a response already needs
    // review. If a person has resolved it, the books agree with the sale.
    const { reversalState } = transaction;
    if (reversalState === ReversalState.needsReview || reversalState === ReversalState.resolved) return 'done';
    if (reversalState !== ReversalState.none) return later(transaction, this.#deps.clock);
    // The sale may have been voided, and a completion would post it after its void.
    if (wasUnderWay(this.#deps, transaction, this.#deps.clock.nowMs())) return later(transaction, this.#deps.clock);
    const candidates = candidatesAfter(this.#deps.directory, transaction);
    const target = findCandidate(this.#deps.path.switches, candidates);
    const elsewhere = reachedElsewhere(this.#deps.path, candidates);
    if (elsewhere !== undefined) return delegateTo(asked.acquirerId, elsewhere);
    const nowMs = this.#deps.clock.nowMs();
    const leadsTo = target && switchOf(transaction, target);
    const isTooLate = isTooOld(transaction, target?.profile.reversal ?? REVERSAL_SCHEDULE, nowMs);
    if (isTooLate || leadsTo === 'other') {
      await this.#deps.completions.giveUp(transaction, nowMs);
      if (isTooLate) this.#deps.alarms.needsReview(transaction, 'UNACKNOWLEDGED');
      else this.#deps.alarms.needsReview(transaction, 'UNSENDABLE', SWITCH_CHANGED);
      return 'done';
    }
    return leadsTo === 'own' ? this.#attemptAt(target!, transaction, asked) : later(transaction, this.#deps.clock);
  }

  async #attemptAt(target: Switch, transaction: Transaction, asked: CompletionAttempt): Promise<CompletionJobResult> {
    const slot = await target.takeSlot();
    if (!slot) return later(transaction, this.#deps.clock);
    const { deadlineMs, reversal } = target.profile;
    const timing = timingFrom(this.#deps.clock, target);
    let taken: TakenStan | undefined;
    let completion: Completion;
    let isBegun = false;
    try {
      taken = await target.nextStan(transaction.tid!, 'followUp');
      if (taken === undefined) return later(transaction, this.#deps.clock);
      completion = this.#build(transaction, asked, taken.stan);
      const onItsWaySeconds = deadlineMs / 1_000 + reversal.overtakingGuardSeconds;
      isBegun = await this.#deps.completions.begin(transaction, onItsWaySeconds);
      if (!isBegun) return later(transaction, this.#deps.clock);
    } finally {
      // No row has the STAN of a completion.
      if (!isBegun) {
        slot.release();
        taken?.putBack();
      }
    }
    const response = await this.#deps.observer.roundTrip('completion', target.type, transaction, () =>
      slot.complete(completion, timing, transaction),
    );
    // A completion that was written without a response may still be in transit: its right expires after its time
    // limit.
    if (response.kind !== 'failed' || !response.written) await this.#deps.completions.end(transaction);
    if (response.kind === 'responded' && response.value) return 'done';
    if (response.kind === 'failed' && !response.written) return later(transaction, this.#deps.clock);
    const { completionAttempt } = asked;
    const againAfterSeconds = reversal.delaysSeconds[Math.min(completionAttempt, reversal.delaysSeconds.length) - 1]!;
    return { againAfterSeconds, payload: { ...asked, completionAttempt: completionAttempt + 1 } };
  }

  #build(transaction: Transaction, { completionAttempt }: CompletionAttempt, stan: string): Completion {
    const sentAtMs = this.#deps.clock.nowMs();
    return {
      original: this.#deps.vault.open(transaction.id, transaction.sealedCard!).original,
      amountMinor: transaction.approvedMinor!,
      authorizationCode: transaction.authorizationCode ?? undefined,
      attempt: completionAttempt,
      stan,
      sentAtMs,
      localDateTime: merchantTime(this.#deps.directory, transaction, sentAtMs),
    };
  }
}

function isTooOld(
  { sentAtMs }: Transaction,
  { giveUpAfterSeconds }: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
  nowMs: number,
): boolean {
  return nowMs - (sentAtMs ?? nowMs) > giveUpAfterSeconds * 1_000;
}
