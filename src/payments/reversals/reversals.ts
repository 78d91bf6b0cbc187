import assert from 'node:assert/strict';
import { isUnstored, SealError } from '../../basics/errors.ts';
import type { Reversal } from '../../kits/processor-kit/processor.ts';
import { REVERSAL_SCHEDULE } from '../../kits/processor-kit/profile.ts';
import {
  type Attempt,
  connectionRetrySeconds,
  exhaustedStep,
  isDue,
  MAX_CONNECTION_RETRY_SECONDS,
  sentStep,
  stampAfter,
  unsentStep,
} from '../decisions/reversal-steps.ts';
import { Disposition } from '../model/disposition.ts';
import { Status } from '../model/status.ts';
import { switchOf } from '../model/switch-revision.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../model/time-limits.ts';
import { ReversalState, type Transaction } from '../model/transaction.ts';
import type { OriginalFacts, ReversalAttempt, ReversalStep } from '../ports/store-ports.ts';
import type { Switch, SwitchSlot, TakenStan } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { candidatesAfter, delegateTo, findCandidate, reachedElsewhere } from '../taps/delegate.ts';
import { merchantTime, timingFrom } from '../taps/prepare-submission.ts';
import type { ReversalSteps } from './record-reversal-response.ts';

/**
 * Sends one attempt of a reversal (reversal-steps.ts describes its states) on a connection where it cannot overtake
 * its original.
 *
 * On the connection that carried the original, the reversal always follows it: at the deadline of the original, any
 * unsent part was discarded with its connection. On another connection nothing orders the two. There the reversal
 * waits until the guard of the switch's profile after the deadline of the original (`overtakingGuardSeconds`, which
 * explains why it is enough). If the switch has responded to the original, no part of it is in transit, and the
 * reversal does not wait.
 *
 * A killed worker is no exception: its kernel still delivers the contents of the socket buffer. Its orphaned
 * transactions are decided two seconds after the deadline, and their reversals are sent when the guard is over: with
 * a guard of five seconds, within ten seconds of the deadline. An acknowledgement on another connection leaves a
 * doubt and is confirmed a minute later (reversal-steps.ts).
 */

export type ReversalJobResult = 'done' | { readonly againAfterSeconds: number; readonly group?: string };

/** A switch usually responds to a completion within a second. */
const COMPLETION_POLL_SECONDS = 1;
/** Another process has taken a step meanwhile: look at what remains to be done. */
const MOVED: ReversalJobResult = { againAfterSeconds: 1 };

/** Sends reversals. */
export class Reversals {
  readonly #deps: TransactionDependencies;
  readonly #steps: ReversalSteps;

  constructor(deps: TransactionDependencies, steps: ReversalSteps) {
    this.#deps = deps;
    this.#steps = steps;
  }

  /** @param jobId the job that requested the attempt, if it waits in the queue: the commit of the attempt removes it */
  async send(asked: ReversalAttempt, jobId?: string): Promise<ReversalJobResult> {
    const transaction = await this.#deps.store.findRequest(asked);
    if (!transaction || !isDue(transaction, asked.reversalAttempt)) return 'done';
    if (this.#deps.path.kind !== 'direct') throw new Error('Reversals are sent by workers');
    const candidates = candidatesAfter(this.#deps.directory, transaction);
    const [processorId = 0] = candidates.processorIds();
    const target = findCandidate(this.#deps.path.switches, candidates);
    // A switch may accept fewer sessions than there are processes.
    const elsewhere = reachedElsewhere(this.#deps.path, candidates);
    if (elsewhere !== undefined) return delegateTo(asked.acquirerId, elsewhere);
    try {
      return await this.#attempt(transaction, target, {
        number: asked.reversalAttempt,
        processorId,
        jobId,
      });
    } catch (error) {
      return this.#steps.reviewUnsendable(transaction, target, error);
    }
  }

  async #attempt(
    transaction: Transaction,
    target: Switch | undefined,
    { number, ...asked }: NumberedAttempt,
  ): Promise<ReversalJobResult> {
    if (!target) return this.#waitForSlot(transaction, target, NOT_NOW);
    const leadsTo = switchOf(transaction, target);
    if (leadsTo === 'other') return this.#steps.reviewMoved(transaction);
    if (leadsTo === 'outdated') return this.#waitForSlot(transaction, target, NOT_NOW);
    const original = await this.#deps.store.findOriginalFacts(transaction);
    // The reversal must not overtake a completion either, because the completion would post what was reversed.
    if (original.completingSeconds > 0)
      return { againAfterSeconds: Math.min(original.completingSeconds, COMPLETION_POLL_SECONDS) };
    // Nor may it be sent before the deadline of the previous attempt, which may still be in transit.
    if (original.underWaySeconds > 0) return { againAfterSeconds: original.underWaySeconds };
    const doubtSeconds = secondsOfDoubt(transaction, original);
    if (doubtSeconds > 0) return { againAfterSeconds: doubtSeconds };
    const line = await this.#takeSlot(target, transaction, original);
    if (!line.slot) return this.#waitForSlot(transaction, target, line);
    return this.#sendOn({ transaction, target, original, ...asked, ...line }, number);
  }

  async #takeSlot(target: Switch, transaction: Transaction, original: OriginalFacts): Promise<FreeSlot | NoSlot> {
    const carrier = this.#deps.originals.find(transaction.id);
    const behind = carrier === undefined ? undefined : await target.takeSlot(carrier);
    if (behind) return { slot: behind, couldOvertake: false };
    if (carrier !== undefined && target.hasConnection(carrier)) return NOT_NOW; // signing on again, or full
    const { overtakingGuardSeconds } = target.profile.reversal;
    const waitSeconds = original.hasResponse ? 0 : overtakingGuardSeconds - original.sinceDeadlineSeconds;
    if (waitSeconds > 0) return { againAfterSeconds: waitSeconds };
    const slot = await target.takeSlot();
    return slot ? { slot, couldOvertake: !original.hasResponse } : NOT_NOW;
  }

  /** No connection could take the attempt. The attempt does not count, but the elapsed time does. */
  async #waitForSlot(
    transaction: Transaction,
    target: Switch | undefined,
    { againAfterSeconds }: NoSlot,
  ): Promise<ReversalJobResult> {
    const nowMs = this.#deps.clock.nowMs();
    const exhausted = exhaustedStep(transaction, target?.profile.reversal ?? REVERSAL_SCHEDULE, nowMs);
    if (exhausted && !(await this.#steps.commit(exhausted))) return MOVED;
    return { againAfterSeconds: againAfterSeconds ?? connectionRetrySeconds(transaction, nowMs) };
  }

  async #sendOn(sending: Sending, number: number): Promise<ReversalJobResult> {
    const { transaction, target, slot, jobId } = sending;
    let made: BuiltAttempt | undefined;
    try {
      made = await this.#build(sending, number);
      if (!made || !(await this.#steps.commit({ ...made.step, remove: jobId ? [jobId] : [] }))) {
        slot.release();
        made?.taken?.putBack();
        if (made) return MOVED;
        // No STAN is left before the cut-over.
        return this.#waitForSlot(transaction, target, { againAfterSeconds: MAX_CONNECTION_RETRY_SECONDS });
      }
    } catch (error) {
      slot.release();
      if (isUnstored(error)) made?.taken?.putBack();
      throw error;
    }
    const { reversal, attempt, step } = made;
    const isStanding = transaction.disposition === Disposition.Approved && transaction.voidState === null;
    assert(!isStanding, 'an approval that stands is not reversed');
    const timing = timingFrom(this.#deps.clock, target);
    const response = await this.#deps.observer.roundTrip('reversal', target.type, transaction, () =>
      slot.reverse(reversal, timing, transaction),
    );
    await this.#finish(sending, { ...transaction, ...step.to }, attempt, response);
    return 'done';
  }

  async #finish(
    { transaction, target }: Sending,
    sent: Transaction,
    attempt: Attempt,
    response: Awaited<ReturnType<SwitchSlot['reverse']>>,
  ): Promise<void> {
    if (response.kind === 'failed' && !response.written) {
      const now = { ...attempt, nowMs: this.#deps.clock.nowMs() };
      const delaySeconds = connectionRetrySeconds(transaction, now.nowMs);
      await this.#steps.commit(unsentStep(transaction, sent, now, delaySeconds, target.profile.reversal));
      return;
    }
    if (response.kind === 'responded') {
      const { acquirerId, id, attempt: of } = transaction;
      await this.#steps.recordResponse({ acquirerId, id, attempt: of, sentAtMs: attempt.sentAtMs }, response.value);
    }
    if (sent.reversalState !== ReversalState.needsReview) return;
    // This was the last attempt, or one for a connection that came back too late. If no acknowledgement is known by
    // now, a person is needed.
    const after = await this.#deps.store.findRequest(transaction);
    if (after?.reversalState === ReversalState.needsReview) this.#deps.alarms.needsReview(sent, 'UNACKNOWLEDGED');
  }

  /** Undefined if the attempt needs a STAN of its own and the business day has none left. */
  async #build(
    { transaction, target, processorId, original, couldOvertake }: Sending,
    number: number,
  ): Promise<BuiltAttempt | undefined> {
    if (transaction.sealedCard === null) throw new SealError('NOT_KEPT');
    const { keepsStan } = target.profile.reversal;
    const kept = this.#deps.vault.open(transaction.id, transaction.sealedCard);
    const taken = keepsStan ? undefined : await target.nextStan(transaction.tid!, 'followUp');
    const stan = keepsStan ? transaction.stan! : taken?.stan;
    if (stan === undefined) return undefined;
    const nowMs = this.#deps.clock.nowMs();
    const sentAtMs = stampAfter(transaction, original.attempts, nowMs);
    const attempt: Attempt = { number, sentAtMs, stan, processorId, couldOvertake, nextJob: this.#deps.newId(), nowMs };
    const reversal: Reversal = {
      original: kept.original,
      reason: reasonOf(transaction, original),
      attempt: number,
      stan,
      sentAtMs,
      localDateTime: merchantTime(this.#deps.directory, transaction, sentAtMs),
      authorizationCode: authorizationCodeOf(transaction, original),
    };
    const step = sentStep(transaction, attempt, original.attempts.length, target.profile);
    return { reversal, attempt, step, taken };
  }
}

/** The attempt to send, and the job that requested it if the commit of the attempt removes that job. */
interface NumberedAttempt {
  readonly number: number;
  readonly processorId: number;
  readonly jobId: string | undefined;
}

/**
 * How long a confirmation has to wait. The job of the next attempt may have been scheduled before the doubtful
 * response arrived, and then finds the reversal confirming. The time of that job therefore does not include the
 * minute.
 */
function secondsOfDoubt({ reversalState }: Transaction, { sinceAcknowledgementSeconds: since }: OriginalFacts): number {
  if (reversalState !== ReversalState.confirming || since === null) return 0;
  return REVERSAL_CONFIRMED_AFTER_SECONDS - since;
}

interface FreeSlot {
  readonly slot: SwitchSlot;
  readonly couldOvertake: boolean;
}

/** No slot is free now; if a time is given, none will be free before it. */
interface NoSlot {
  readonly slot?: undefined;
  readonly againAfterSeconds?: number;
}

const NOT_NOW: NoSlot = {};

interface Sending extends FreeSlot {
  readonly transaction: Transaction;
  readonly target: Switch;
  readonly processorId: number;
  readonly original: OriginalFacts;
  readonly jobId: string | undefined;
}

interface BuiltAttempt {
  readonly reversal: Reversal;
  readonly attempt: Attempt;
  readonly step: ReversalStep;
  /** Undefined if the attempt has the STAN of the original. */
  readonly taken: TakenStan | undefined;
}

function authorizationCodeOf(
  { authorizationCode, unusableAuthorizationCode }: Transaction,
  { lateAuthorizationCode }: OriginalFacts,
): string | undefined {
  return lateAuthorizationCode ?? authorizationCode ?? unusableAuthorizationCode ?? undefined;
}

function reasonOf(
  { responseCode, status, voidState }: Transaction,
  { wasApprovedLate }: OriginalFacts,
): Reversal['reason'] {
  if (voidState !== null) return 'void';
  if (wasApprovedLate) return 'late-approval';
  const isUnusable = responseCode !== null || status === Status.BadResponseFromPaymentProcessor;
  return isUnusable ? 'unusable-response' : 'timeout';
}
