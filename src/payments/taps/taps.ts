import { isOfServer } from '../../basics/errors/system-error.ts';
import {
  DuplicateReference,
  Forbidden,
  HeldAfterRestore,
  NoConfiguration,
  NotFound,
  Overloaded,
  RequestRejected,
  StoreUnavailable,
  TapRefused,
} from '../../basics/errors.ts';
import { admit } from '../decisions/admit.ts';
import { holdIfLost } from '../decisions/after-restore.ts';
import { ERROR_CODES } from '../decisions/decide-outcome.ts';
import { pinEntries, submitPinStep } from '../decisions/pin-step.ts';
import { Disposition } from '../model/disposition.ts';
import { holdsLink } from '../model/link.ts';
import { NO_PIN } from '../model/pin.ts';
import { isInDoubt } from '../model/review.ts';
import { canMove, moves, Status, type StatusId } from '../model/status.ts';
import { isTapTooOld, REFERENCE_REUSABLE_DAYS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import { saysOnlinePin } from '../pins/read-pin.ts';
import type { Principal } from '../ports/directory-ports.ts';
import type { PhoneResponseRecord, TransactionStore } from '../ports/store-ports.ts';
import type { OpenedTap, TapRequest } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import { applyProfile } from './apply-profile.ts';
import { type Attempts, NEW, type Plan, restingAttempt } from './attempts.ts';
import { type Draft, draftTap, nextAttempt } from './draft.ts';
import { findUnsupported } from './find-unsupported.ts';
import {
  checkLinkedAmount,
  checkReferenceOfToken,
  isOpenTo,
  linkHeld,
  linkOfToken,
  refusedLink,
} from './link-of-tap.ts';
import {
  openTap,
  type ReadTap,
  readableAmount,
  readTap,
  reportCopy,
  TRANSACTION_DATE,
  TRANSACTION_TIME,
  usesOfTap,
} from './read-tap.ts';

/** A link may expire or be created between the lookup and the commit. More retries than this point to another cause. */
const MAX_CHECKS = 3;

/**
 * Attempts of one reference. Each adds about 1.5 KB of chip data to the row of the transaction, and the next one reads
 * and writes all of it. A customer taps a few times; a phone that repeats without end would slow down all others.
 */
const MAX_ATTEMPTS = 50;
const REUSABLE_MS = REFERENCE_REUSABLE_DAYS * 86_400_000;

type InsertOutcome = Awaited<ReturnType<TransactionStore['insert']>>;

/**
 * Between the look-up of a transaction and a commit that expects its status, the record of its response and the decision of a
 * worker that found it overdue may each be committed. If the commit still fails after this number of tries, there is another cause.
 */
const MAX_ACKNOWLEDGEMENTS = 4;

/** The use cases of taps. */
export class Taps {
  readonly #deps: TransactionDependencies;
  readonly #attempts: Attempts;
  readonly #outcomes: Outcomes;

  constructor(deps: TransactionDependencies, attempts: Attempts, outcomes: Outcomes) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#outcomes = outcomes;
  }

  /**
   * Processes one tap from the phone's request to its outcome.
   *
   * @returns the transaction as committed with its result: an outcome, or a request for a PIN
   * @throws Forbidden, TapRefused, NoConfiguration, DuplicateReference, RequestRejected (TOO_MANY_ATTEMPTS), Overloaded,
   * HeldAfterRestore, StoreUnavailable; with the token of a link also NotFound, Forbidden for a reference that is not the
   * link's, and RequestRejected (LINK_EXPIRED, LINK_HELD)
   */
  async submit(principal: Principal, request: TapRequest): Promise<Transaction> {
    let link = await linkOfToken(this.#deps.links, principal);
    if (link) await checkReferenceOfToken(this.#deps.store, link, request.merchantReference);
    for (let checks = 0; checks < MAX_CHECKS; checks++) {
      const submitter = link ? { ...principal, xTid: principal.xTid ?? link.xTid } : principal;
      const draft = draftTap(this.#deps, submitter, request, link);
      let plan: Plan;
      let outcome: InsertOutcome;
      try {
        plan = await this.#plan(submitter, draft, request);
        outcome = await this.#attempts.commit(plan, () => this.#insert(plan, draft));
      } catch (error) {
        const before = storesNothingNew(error) ? await this.#findRepeated(submitter, draft, request) : undefined;
        if (!before) throw error;
        return this.#outcomes.await(before);
      }
      if (outcome === 'inserted') return plan.proceed();
      plan.abandon(true);
      if (outcome !== 'named') return this.#respondToRepeat(submitter, draft, request, outcome === 'copied');
      link = await this.#deps.links.findNamed(principal.acquirerId, principal.merchantId, request.merchantReference);
    }
    throw new StoreUnavailable(false);
  }

  /**
   * The same merchant has used this reference before, or the link is unavailable, or the tap is a copy. The result is the
   * stored response, a new attempt, or a refusal.
   *
   * @param isCopied whether another reference has the chip data or the PIN block, or this one has just used them
   */
  async #respondToRepeat(
    principal: Principal,
    draft: Draft,
    request: TapRequest,
    isCopied: boolean,
  ): Promise<Transaction> {
    const { acquirerId, merchantId, merchantReference } = draft.transaction;
    const before = await this.#deps.store.findByReference(acquirerId, merchantId, merchantReference);
    if (!before && isCopied) return this.#refuseCopy(principal, draft, request);
    // Without a link, the month of the transaction with the reference was archived.
    if (!before) throw draft.link ? refusedLink(draft.link) : new DuplicateReference();
    if (before.originalId !== null) throw new DuplicateReference(); // the reference of a refund or a void
    if (this.#isRepeated(principal, draft, { before, request })) return this.#outcomes.await(before);
    if (!reachedNoSwitch(before)) throw usedReference(principal, draft.transaction, before);
    if (this.#deps.clock.nowMs() - before.createdAtMs > REUSABLE_MS) throw new DuplicateReference();
    if (before.attempt >= MAX_ATTEMPTS) throw new RequestRejected('TOO_MANY_ATTEMPTS');
    const plan = await this.#plan(principal, nextAttempt(draft, before), request);
    if (await this.#attempts.commit(plan, () => this.#retry(plan))) return plan.proceed();
    plan.abandon(true);
    const current = isCopied ? await this.#deps.store.find(before) : undefined;
    if (current?.attempt === before.attempt) return this.#refuseCopy(principal, draft, request, before);
    throw new DuplicateReference(); // another attempt of this reference was faster
  }

  #insert(plan: Plan, { merchant }: Draft): Promise<InsertOutcome> {
    const { observer, store } = this.#deps;
    const attempt = { ...plan.attempt, timeZone: merchant.timeZone };
    return observer.commit('insert', attempt, () => store.insert(attempt));
  }

  #retry({ attempt }: Plan): Promise<boolean> {
    const { observer, store } = this.#deps;
    return observer.commit('retry', attempt, () => store.retry(attempt));
  }

  /** A copy gets the response of a blob that was sealed for another merchant, which reveals nothing about the original. */
  async #refuseCopy(
    principal: Principal,
    draft: Draft,
    request: TapRequest,
    before?: Transaction,
  ): Promise<Transaction> {
    reportCopy(this.#deps, principal, request);
    const refusal = new TapRefused('/paymentCardData', 'CARD_DATA_UNREADABLE', 'card');
    const plan = this.#refused(principal, before ? nextAttempt(draft, before) : draft, refusal);
    await this.#attempts.commit<unknown>(plan, () => (before ? this.#retry(plan) : this.#insert(plan, draft)));
    return plan.proceed();
  }

  /**
   * The transaction of the same tap, if it was submitted before. Its response needs neither the HSM nor the switch, and no
   * write, so it is returned although they take nothing new. If the row cannot be read, the first error stands.
   */
  async #findRepeated(principal: Principal, draft: Draft, request: TapRequest): Promise<Transaction | undefined> {
    const { acquirerId, merchantId, merchantReference } = draft.transaction;
    const before = await this.#deps.store
      .findByReference(acquirerId, merchantId, merchantReference)
      .catch(() => undefined);
    return before && this.#isRepeated(principal, draft, { before, request }) ? before : undefined;
  }

  #isRepeated(
    principal: Principal,
    draft: Draft,
    { before, request }: { readonly before: Transaction; readonly request: TapRequest },
  ): boolean {
    if (!isOpenTo(principal, before) || !isSameSubmitter(draft.transaction, before) || !isRespondedTo(before))
      return false;
    return before.fingerprint !== null && this.#deps.cardData.isFingerprintOf(before.fingerprint, request);
  }

  async #plan(principal: Principal, draft: Draft, request: TapRequest): Promise<Plan> {
    let opened: OpenedTap | undefined;
    let fault: NoConfiguration | undefined;
    let tap: ReadTap;
    try {
      opened = await openTap(this.#deps, principal, request);
      ({ opened, fault } = applyProfile(this.#deps.directory, principal, opened));
      tap = readTap(opened);
      if (isTapTooOld(tap.chip.hex(TRANSACTION_DATE), this.#deps.clock.nowMs()))
        throw new TapRefused('/generalCardData', 'DATE_TOO_OLD', 'request');
      checkLinkedAmount(draft.link, tap);
      if (tap.pin && !saysOnlinePin(tap.chip)) throw new TapRefused('/paymentCardData', 'PIN_UNEXPECTED', 'card');
    } catch (error) {
      const known = opened ? withAmount(draft, readableAmount(opened)) : draft;
      if (error instanceof NoConfiguration) return this.#misconfigured(principal, known, error);
      return this.#refused(principal, known, error);
    }
    const read: Draft = {
      ...draft,
      transaction: { ...draft.transaction, ...tap.facts, panHash: this.#deps.vault.hashPan(tap.card.pan) },
    };
    if (fault) return this.#misconfigured(principal, read, fault);
    const unsupported = findUnsupported(tap, draft.transaction.type);
    if (unsupported) return this.#refused(principal, withAmount(draft, tap.facts), unsupported);
    if (tap.decision === 'declinedOffline') return this.#declinedOffline(read);
    await holdIfLost(this.#deps, () => possiblyLost(read, tap));
    const plan = tap.pin
      ? await this.#planWithPin(read, tap, opened)
      : await this.#attempts.plan(NEW, read, tap, opened);
    if (plan instanceof NoConfiguration) return this.#misconfigured(principal, read, plan);
    if (plan instanceof TapRefused) return this.#refused(principal, withAmount(draft, tap.facts), plan);
    return {
      ...plan,
      attempt: { ...plan.attempt, uses: [...usesOfTap(this.#deps.vault, tap), ...(plan.attempt.uses ?? [])] },
    };
  }

  /** The reader took the PIN before it was requested, so the first message carries it. */
  #planWithPin(draft: Draft, tap: ReadTap, opened: OpenedTap) {
    const step = submitPinStep(NO_PIN);
    const origin = { ...NEW, auditEntries: pinEntries(NO_PIN, step, this.#deps.clock.nowMs()) };
    return this.#attempts.plan(origin, { ...draft, transaction: { ...draft.transaction, ...step } }, tap, opened);
  }

  /** 0 BadRequestReceived: one row records the request; nothing else happens. */
  #refused(principal: Principal, draft: Draft, error: unknown): Plan {
    if (!(error instanceof TapRefused)) throw error;
    return this.#ending(principal, draft, [Status.BadRequestReceived], error);
  }

  #misconfigured(principal: Principal, draft: Draft, error: NoConfiguration): Plan {
    return this.#ending(principal, draft, [Status.RequestReceived, Status.ErrorFindingConfig], error);
  }

  /** @throws `error` at once for the token of a link: customers hold it, and their faulty requests leave no row */
  #ending(principal: Principal, { transaction }: Draft, path: StatusId[], error: Error): Plan {
    if (principal.consumerId !== undefined) throw error;
    const attempt = restingAttempt(transaction, path, this.#deps.clock.nowMs());
    return { attempt, proceed: () => Promise.reject(error), abandon: () => {} };
  }

  /** The card declined (AAC): it is never sent online. */
  #declinedOffline({ transaction }: Draft): Plan {
    const result = { disposition: Disposition.DeclinedOffline, errorCode: ERROR_CODES.declinedOffline };
    return this.#attempts.respondedHere(NEW, { ...transaction, ...result }, [Status.RequestReceived]);
  }

  /**
   * Records that the device has the outcome: 8 or 9 -> 10. If the response is not yet recorded as flushed, the
   * transaction passes through 8, because the acknowledgement proves that the device has it.
   *
   * @returns the transaction as stored; unchanged if it was acknowledged before
   * @throws NotFound for a transaction of another merchant, Forbidden for one of another user or device,
   * RequestRejected (NO_OUTCOME_YET), StoreUnavailable
   */
  async acknowledge(
    principal: Principal,
    { id, deviceInstallationId }: { readonly id: string; readonly deviceInstallationId: string },
  ): Promise<Transaction> {
    admit(this.#deps, principal, deviceInstallationId);
    for (let tries = 0; tries < MAX_ACKNOWLEDGEMENTS; tries++) {
      const transaction = await this.#deps.store.find({ acquirerId: principal.acquirerId, id });
      if (transaction?.merchantId !== principal.merchantId || !isOpenTo(principal, transaction)) throw new NotFound();
      const { userClaim, deviceInstallationId: device } = transaction;
      if (userClaim !== principal.userClaim || device !== deviceInstallationId) throw new Forbidden('FORBIDDEN');
      if (transaction.status === Status.AcknowledgedByPhone) return transaction;
      const record = this.#acknowledgementOf(transaction);
      if (await this.#deps.refunds.acknowledge(record)) return { ...transaction, status: record.status };
    }
    throw new StoreUnavailable(false); // the row changes faster than it can be read
  }

  #acknowledgementOf(transaction: Transaction): PhoneResponseRecord {
    const { acquirerId, id, attempt, status: fromStatus, disposition } = transaction;
    if (disposition === null) throw new RequestRejected('NO_OUTCOME_YET');
    const { RespondedToPhone, AcknowledgedByPhone: status } = Status;
    const path: StatusId[] = canMove(fromStatus, status) ? [status] : [RespondedToPhone, status];
    return {
      acquirerId,
      id,
      attempt,
      fromStatus,
      status,
      auditEntries: moves(fromStatus, path, this.#deps.clock.nowMs()),
    };
  }
}

/** The tap as a request that may repeat one whose record a restored database lacks. */
function possiblyLost({ transaction, merchant, link }: Draft, { chip }: ReadTap) {
  const { acquirerId, merchantId, merchantReference: reference, amountMinor, currency } = transaction;
  const request = {
    kind: 'tap',
    shown: { date: chip.hex(TRANSACTION_DATE), time: chip.hex(TRANSACTION_TIME) },
    timeZone: merchant.timeZone,
    linkCreatedAtMs: link?.createdAtMs,
    firstAttemptAtMs: transaction.attempt > 1 ? transaction.createdAtMs : undefined,
  } as const;
  return { held: { acquirerId, merchantId, reference, kind: 'tap', amountMinor, currency }, request } as const;
}

/** The record of a refused tap has the amount that was read, and no card data. */
function withAmount(draft: Draft, { amountMinor, currency }: Pick<Transaction, 'amountMinor' | 'currency'>): Draft {
  return { ...draft, transaction: { ...draft.transaction, amountMinor, currency } };
}

/**
 * Whether a tap was refused although a row can be read: the HSM, the switch or the queue of writes takes nothing more, the
 * tap is held after a restore, or the database responded that it cannot write. After a lost connection, a look-up would
 * only make the phone wait again.
 */
function storesNothingNew(error: unknown): boolean {
  return (
    error instanceof Overloaded ||
    error instanceof HeldAfterRestore ||
    (error instanceof StoreUnavailable && !error.mayBeStored && isOfServer(error.cause))
  );
}

type Submitter = Pick<Transaction, 'deviceInstallationId' | 'userClaim'>;

function isSameSubmitter(one: Submitter, other: Submitter): boolean {
  return one.deviceInstallationId === other.deviceInstallationId && one.userClaim === other.userClaim;
}

/** A refusal is not a stored response: the same blobs may be accepted after its cause is resolved. */
function isRespondedTo({ status }: Transaction): boolean {
  return status !== Status.BadRequestReceived && status !== Status.ErrorFindingConfig;
}

/**
 * Why a reference cannot be used if its transaction may have reached a switch: it belongs to another device or user,
 * or to another tap. A link may be paid by any device, so the device and user of its tap are no reason.
 */
function usedReference(principal: Principal, submitter: Submitter, before: Transaction): Error {
  if (before.consumerId !== null && isOpenTo(principal, before) && holdsLink(before)) return linkHeld();
  // For the app of one link, this also covers the tap of another link.
  if (before.consumerId !== null || !isOpenTo(principal, before)) return new DuplicateReference();
  return isSameSubmitter(submitter, before) ? new DuplicateReference() : new Forbidden('FORBIDDEN');
}

/**
 * Whether nothing reached a switch. Then the reference belongs to no device or user, because one phone's faulty blob
 * must not keep another phone from the order. A transaction with a PIN was declined by a switch before.
 */
function reachedNoSwitch({ status, disposition, pinFingerprint, ...doubt }: Transaction): boolean {
  if (pinFingerprint !== null || isInDoubt(doubt)) return false;
  if (status === Status.BadRequestReceived || status === Status.ErrorFindingConfig) return true;
  const rests = status === Status.RespondedToPhone || status === Status.FailedToRespondToPhone;
  return rests && (disposition === Disposition.UnableToGoOnline || disposition === Disposition.DeclinedOffline);
}
