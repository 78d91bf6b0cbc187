import { Forbidden, invalidValue, NoConfiguration, NotFound, PinNotAwaited, TapRefused } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { admit } from '../decisions/admit.ts';
import { holdIfLost, wasUnderWay } from '../decisions/after-restore.ts';
import { expirePinStep, pinEntries } from '../decisions/pin-step.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import { isInDoubt } from '../model/review.ts';
import { moves, Status } from '../model/status.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { Principal } from '../ports/directory-ports.ts';
import type { PinAttempt } from '../ports/store-ports.ts';
import type { PinRequest } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import { applyProfile, type ProfileApplied } from '../taps/apply-profile.ts';
import type { Attempts, Plan } from '../taps/attempts.ts';
import { type Draft, pinAttempt } from '../taps/draft.ts';
import { findUnsupported } from '../taps/find-unsupported.ts';
import { checkReferenceOfToken, isOpenTo, linkOfToken } from '../taps/link-of-tap.ts';
import { indexChipTags, openTap, type ReadTap, readTap, reportCopy } from '../taps/read-tap.ts';
import { useOfPin, withPin } from './read-pin.ts';

/** ISO 9564-1:2017 9.3.3. */
const FORMAT_1_BYTES = 8;

/**
 * The chip's data objects that differ between any two taps: its cryptogram, its counter, the terminal's
 * unpredictable number.
 */
const SAME_TAP_TAGS = [0x9f26, 0x9f36, 0x9f37];

/** The use cases of PINs that issuers request. */
export class Pins {
  readonly #deps: TransactionDependencies;
  readonly #attempts: Attempts;
  readonly #outcomes: Outcomes;

  constructor(deps: TransactionDependencies, attempts: Attempts, outcomes: Outcomes) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#outcomes = outcomes;
  }

  /**
   * Processes the PIN that was requested for a tap, up to the outcome of the attempt that carries it (interface 4.5).
   * The attempt is a new message of the same tap on the route that the tap took.
   *
   * @returns the transaction as committed with its result: an outcome, or that the PIN was wrong and another is
   * required
   * @throws NotFound, Forbidden, RequestRejected, TapRefused, PinNotAwaited, Overloaded, HeldAfterRestore,
   * StoreUnavailable
   */
  async submit(principal: Principal, transactionId: string, request: PinRequest): Promise<Transaction> {
    const { merchant } = admit(this.#deps, principal, request.deviceInstallationId);
    const before = await this.#find(principal, transactionId, request);
    if (this.#isRepeated(before, request)) return this.#outcomes.await(before);
    await this.#checkToken(before, request.pinToken);
    await holdIfLost(this.#deps, () => {
      const { acquirerId, merchantId, merchantReference: reference, amountMinor, currency, updatedAtMs } = before;
      const held = { acquirerId, merchantId, reference, kind: 'pin', amountMinor, currency } as const;
      return { held, request: { kind: 'pin', updatedAtMs } };
    });
    const submitter = { ...principal, xTid: principal.xTid ?? before.xTid };
    const { tap, ...applied } = await this.#readTap(submitter, before, request);
    const nowMs = this.#deps.clock.nowMs();
    const submitted = {
      pinFingerprint: this.#deps.cardData.fingerprint(request),
      correlationId: request.correlationId ?? null,
    };
    const draft = pinAttempt(merchant, before, submitted, nowMs);
    await this.#refuseRepeated(submitter, draft, tap, request);
    const plan = await this.#plan(draft, before, tap, applied);
    if (await this.#attempts.commit(plan, () => this.#commit(plan, before))) return plan.proceed();
    plan.abandon(true);
    await this.#refuseRepeated(submitter, draft, tap, request);
    return this.#respondToLoser(before, request);
  }

  /**
   * Refuses a PIN block of an earlier attempt: it was entered for that one only. A worker would refuse it, too, in its commit,
   * but as a block that the HSM cannot open. Here, where the request arrived, the submitter gets the true reason.
   *
   * @throws RequestRejected or TapRefused if the block was submitted before; the wait for a PIN continues
   */
  async #refuseRepeated(
    submitter: Principal,
    { transaction }: Draft,
    { pin }: ReadTap,
    request: PinRequest,
  ): Promise<void> {
    if (!pin || !(await this.#deps.store.areUsed(transaction, [useOfPin(this.#deps.readerPins.keyId, pin)]))) return;
    reportCopy(this.#deps, submitter, request);
    const { ksn } = request;
    if (ksn !== undefined) throw invalidValue('ksn', 'must not be that of an earlier PIN block');
    throw new TapRefused('/paymentCardData', 'PIN_REPEATED', 'card');
  }

  /** The expiry was faster, or another PIN, or the same PIN request that was sent twice at once. */
  async #respondToLoser(before: Transaction, request: PinRequest): Promise<Transaction> {
    const current = await this.#deps.store.find(before);
    if (current && this.#isRepeated(current, request)) return this.#outcomes.await(current);
    throw new PinNotAwaited();
  }

  /** A transaction of another merchant is not found; one of another device or user of the same merchant is forbidden. */
  async #find(
    principal: Principal,
    id: string,
    { deviceInstallationId, merchantReference }: PinRequest,
  ): Promise<Transaction> {
    const { acquirerId, merchantId, userClaim } = principal;
    const before = await this.#deps.store.find({ acquirerId, id });
    if (before?.merchantId !== merchantId || !isOpenTo(principal, before)) throw new NotFound();
    if (before.deviceInstallationId !== deviceInstallationId || before.userClaim !== userClaim)
      throw new Forbidden('FORBIDDEN');
    if (before.merchantReference === merchantReference) return before;
    const link = await linkOfToken(this.#deps.links, principal);
    if (link) await checkReferenceOfToken(this.#deps.store, link, merchantReference);
    throw invalidValue('merchantReference', 'must be the reference of the transaction');
  }

  /** Whether this repeats the PIN request, because its response was lost or is still pending. */
  #isRepeated({ pinFingerprint }: Transaction, request: PinRequest): boolean {
    return pinFingerprint !== null && this.#deps.cardData.isFingerprintOf(pinFingerprint, request);
  }

  async #checkToken(before: Transaction, pinToken: string): Promise<void> {
    // An earlier attempt may have taken the money, and is being reversed.
    if (!isAwaitingPin(before) || isInDoubt(before)) throw new PinNotAwaited();
    const verdict = await this.#deps.pinTokens.check(pinToken, before);
    if (verdict === 'spent') throw new PinNotAwaited();
    if (verdict === 'foreign') throw invalidValue('pinToken', 'must belong to this transaction and device');
  }

  /**
   * Reads the tap again, now with its PIN. What protects a block outside the sealed blob: the token of the attempt, the PAN
   * in the block, and that its KSN is used once (src/card/README.md).
   */
  async #readTap(
    submitter: Principal,
    before: Transaction,
    request: PinRequest,
  ): Promise<ProfileApplied & { tap: ReadTap }> {
    const { opened, fault } = applyProfile(
      this.#deps.directory,
      submitter,
      await openTap(this.#deps, submitter, request),
    );
    const tap = readTap(opened);
    if (!this.#isSameTap(before, tap)) throw new TapRefused('/paymentCardData', 'OTHER_TAP', 'card');
    const unsupported = findUnsupported(tap, before.type);
    if (unsupported) throw unsupported;
    if (tap.pin) return { opened, fault, tap };
    if (request.pinBlock === undefined || request.ksn === undefined) throw invalidValue('pinBlock', 'is missing');
    const pin = { block: fromHex(request.pinBlock), ksn: fromHex(request.ksn) };
    // Nothing would bind the block to the card. A block of 16 bytes is in format 4, which contains the PAN.
    if (this.#deps.readerPins.format === 1 && pin.block.length === FORMAT_1_BYTES)
      throw invalidValue('pinBlock', 'must be in paymentCardData, because blocks in format 1 do not contain the PAN');
    return { opened: withPin(opened, pin), fault, tap: { ...tap, pin } };
  }

  /** A PIN for another card or a larger amount would let a client try one block on many cards. */
  #isSameTap(before: Transaction, { card, chip, currency, amountMinor, decision }: ReadTap): boolean {
    const known = indexChipTags(before.chipTags);
    return (
      decision === 'goOnline' &&
      amountMinor === before.amountMinor &&
      currency.code === before.currency &&
      before.panHash !== null &&
      this.#deps.vault.isHashOf(before.panHash, card.pan) &&
      SAME_TAP_TAGS.every((tag) => chip.hex(tag) === known.hex(tag))
    );
  }

  async #plan(draft: Draft, before: Transaction, tap: ReadTap, { opened, fault }: ProfileApplied): Promise<Plan> {
    const auditEntries = pinEntries(before, draft.transaction, this.#deps.clock.nowMs());
    const origin = { status: Status.RespondedToPhone, auditEntries };
    if (fault) return this.#attempts.planUnsent(origin, draft.transaction);
    const plan = await this.#attempts.plan(origin, draft, tap, opened);
    if (plan instanceof TapRefused) throw plan;
    // The route that the tap took no longer exists.
    return plan instanceof NoConfiguration ? this.#attempts.planUnsent(origin, draft.transaction) : plan;
  }

  /**
   * A submitted PIN proves that the phone has the previous response. If that is not recorded yet, this commit records
   * it. The record may also be committed between the read of the row and this commit. The commit then reads again, at
   * most twice (9, then 8).
   */
  async #commit(plan: Plan, before: Transaction): Promise<boolean> {
    const attempt = this.#guarded(plan, before);
    if (await this.#deps.observer.commit('submitPin', attempt, () => this.#deps.store.submitPin(attempt))) return true;
    const current = await this.#deps.store.find(before);
    const hasMovedOn = !current || current.attempt !== before.attempt || !isAwaitingPin(current);
    return hasMovedOn || current.status === before.status ? false : this.#commit(plan, current);
  }

  #guarded({ attempt }: Plan, { status, pinJob }: Transaction): PinAttempt {
    const isRecorded = status === Status.RespondedToPhone;
    const responded = isRecorded ? [] : moves(status, [Status.RespondedToPhone], this.#deps.clock.nowMs());
    const remove = pinJob === null ? [] : [{ queue: 'expire-pin', id: pinJob } as const];
    return { ...attempt, fromStatus: status, auditEntries: [...responded, ...attempt.auditEntries], remove };
  }

  /**
   * No PIN arrived: the decline that asked for it becomes the outcome, with its code and errorCode.
   *
   * @returns `done` also if a PIN was faster
   */
  async expire(
    asked: TransactionKey & { readonly attempt: number },
  ): Promise<'done' | { readonly againAfterSeconds: number }> {
    const transaction = await this.#deps.store.find(asked);
    if (!transaction || transaction.attempt !== asked.attempt || !isAwaitingPin(transaction)) return 'done';
    const nowMs = this.#deps.clock.nowMs();
    // The PIN may have been submitted, and approved.
    if (wasUnderWay(this.#deps, transaction, nowMs)) return { againAfterSeconds: HELD_SECONDS };
    const pin = expirePinStep(transaction);
    const disposition = Disposition.Declined;
    const expiry = {
      transaction,
      disposition,
      pin,
      auditEntries: pinEntries(transaction, pin, nowMs),
      nowMs,
      enqueue: webhookJobs(this.#deps, transaction, { disposition, approvedMinor: null }, nowMs),
    };
    const isExpired = await this.#deps.observer.commit('expirePin', expiry, () => this.#deps.store.expirePin(expiry));
    this.#deps.wakeups.announce(transaction);
    return isExpired ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
  }
}

/**
 * If the clock of the database has not reached the time yet, by milliseconds, the job runs again after this many
 * seconds.
 */
const NOT_YET_SECONDS = 1;

/** While a restored database may lack the PIN of a transaction, its job looks again after this many seconds. */
const HELD_SECONDS = 60;
