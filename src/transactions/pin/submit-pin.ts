import { fromHex } from '../../bytes/hex.ts';
import { Forbidden, invalidValue, NoConfiguration, NotFound, PinNotAwaited, TapRefused } from '../../errors.ts';
import type { PinAttempt, PinRequest } from '../ports/pin-ports.ts';
import type { Principal } from '../ports.ts';
import { moves, Status } from '../status.ts';
import { admit } from '../tap/admit.ts';
import { applyProfile, type ProfileApplied } from '../tap/apply-profile.ts';
import { awaitOutcome } from '../tap/await-outcome.ts';
import { indexChipTags } from '../tap/chip-tags.ts';
import { type Draft, pinAttempt } from '../tap/draft.ts';
import { findUnsupported } from '../tap/find-unsupported.ts';
import { checkReferenceOfToken, isOpenTo, linkOfToken } from '../tap/link-of-tap.ts';
import { commitPlan, type Plan, planAttempt, planUnsent } from '../tap/plan-attempt.ts';
import { openTap, type ReadTap, readTap } from '../tap/read-tap.ts';
import type { Transaction } from '../transaction.ts';
import type { World } from '../world.ts';
import { isAwaitingPin, pinEntries } from './pin-step.ts';
import { withPin } from './read-pin.ts';

/** The chip's data objects that no second tap repeats: its cryptogram, its counter, the terminal's random number. */
const SAME_TAP_TAGS = [0x9f26, 0x9f36, 0x9f37];

/**
 * Takes the PIN that a tap was asked for to the outcome of the attempt that carries it (interface 4.5): a new message of
 * the same tap, on the way that the tap took.
 *
 * @returns the transaction as committed, its answer known: an outcome, or that the PIN was wrong and another is wanted
 * @throws NotFound, Forbidden, RequestRejected, TapRefused, PinNotAwaited, Overloaded, StoreUnavailable
 */
export async function submitPin(
  world: World,
  principal: Principal,
  transactionId: string,
  request: PinRequest,
): Promise<Transaction> {
  const { merchant } = admit(world, principal, request.deviceInstallationId);
  const before = await findForPin(world, principal, transactionId, request);
  if (isRepeated(world, before, request)) return awaitOutcome(world, before);
  await checkToken(world, before, request.pinToken);
  const { tap, ...applied } = readPinTap(world, principal, before, request);
  const nowMs = world.clock.nowMs();
  const told = { pinFingerprint: world.cardData.fingerprint(request), correlationId: request.correlationId ?? null };
  const draft = pinAttempt(merchant, before, told, nowMs);
  const plan = await planPin(world, draft, before, tap, applied);
  if (await commitPlan(world, plan, () => commitPin(world, plan, before))) return plan.proceed();
  plan.abandon();
  return answerLoser(world, before, request);
}

/** The end of the wait was faster, or another PIN; or this very one, which was sent twice at once. */
async function answerLoser(world: World, before: Transaction, request: PinRequest): Promise<Transaction> {
  const current = await world.store.find(before);
  if (current && isRepeated(world, current, request)) return awaitOutcome(world, current);
  throw new PinNotAwaited();
}

/** Somebody else's transaction is not found; one of another device or user of the same merchant is forbidden. */
async function findForPin(
  world: World,
  principal: Principal,
  id: string,
  { deviceInstallationId, merchantReference }: PinRequest,
): Promise<Transaction> {
  const { acquirerId, merchantId, userClaim } = principal;
  const before = await world.store.find({ acquirerId, id });
  if (before?.merchantId !== merchantId || !isOpenTo(principal, before)) throw new NotFound();
  if (before.deviceInstallationId !== deviceInstallationId || before.userClaim !== userClaim)
    throw new Forbidden('FORBIDDEN');
  if (before.merchantReference === merchantReference) return before;
  const link = await linkOfToken(world, principal);
  if (link) await checkReferenceOfToken(world, link, merchantReference);
  throw invalidValue('merchantReference', 'is not that of the transaction');
}

/** The same PIN request once more, because its answer was lost or is still to come. */
function isRepeated(world: World, { pinFingerprint }: Transaction, request: PinRequest): boolean {
  return pinFingerprint !== null && world.cardData.isFingerprintOf(pinFingerprint, request);
}

async function checkToken(world: World, before: Transaction, pinToken: string): Promise<void> {
  if (!isAwaitingPin(before)) throw new PinNotAwaited();
  const verdict = await world.pinTokens.check(pinToken, before);
  if (verdict === 'spent') throw new PinNotAwaited();
  if (verdict === 'foreign') throw invalidValue('pinToken', 'is not the one of this transaction and device');
}

/** The tap once more, now with its PIN. */
function readPinTap(
  world: World,
  principal: Principal,
  before: Transaction,
  request: PinRequest,
): ProfileApplied & { tap: ReadTap } {
  const submitter = { ...principal, xTid: principal.xTid ?? before.xTid };
  const { opened, fault } = applyProfile(world.directory, submitter, openTap(world.cardData, request));
  const tap = readTap(opened);
  if (!isSameTap(world, before, tap)) throw new TapRefused('/paymentCardData', 'OTHER_TAP', 'card');
  const unsupported = findUnsupported(tap, before.type);
  if (unsupported) throw unsupported;
  if (tap.pin) return { opened, fault, tap };
  if (request.pinBlock === undefined || request.ksn === undefined) throw invalidValue('pinBlock', 'is missing');
  const pin = { block: fromHex(request.pinBlock), ksn: fromHex(request.ksn) };
  return { opened: withPin(opened, pin), fault, tap: { ...tap, pin } };
}

/** A PIN for another card, or for more money, would let one block be tried on many. */
function isSameTap(
  world: World,
  before: Transaction,
  { card, chip, currency, amountMinor, decision }: ReadTap,
): boolean {
  const known = indexChipTags(before.chipTags);
  return (
    decision === 'goOnline' &&
    amountMinor === before.amountMinor &&
    currency.code === before.currency &&
    before.panHash !== null &&
    world.vault.isHashOf(before.panHash, card.pan) &&
    SAME_TAP_TAGS.every((tag) => chip.hex(tag) === known.hex(tag))
  );
}

async function planPin(
  world: World,
  draft: Draft,
  before: Transaction,
  tap: ReadTap,
  { opened, fault }: ProfileApplied,
): Promise<Plan> {
  const told = pinEntries(before, draft.transaction, world.clock.nowMs());
  const origin = { status: Status.RespondedToPhone, told };
  if (fault) return planUnsent(world, origin, draft);
  const plan = await planAttempt(world, origin, draft, tap, opened);
  if (plan instanceof TapRefused) throw plan;
  // The way that the tap took is there no more.
  return plan instanceof NoConfiguration ? planUnsent(world, origin, draft) : plan;
}

/**
 * A PIN proves that the phone has its answer: where that is not recorded yet, it is now. The record may also land between
 * our look at the row and this commit, which then looks again; it can do so twice (9, then 8).
 */
async function commitPin(world: World, plan: Plan, before: Transaction): Promise<boolean> {
  if (await world.store.submitPin(guarded(world, plan, before))) return true;
  const current = await world.store.find(before);
  const hasMovedOn = !current || current.attempt !== before.attempt || !isAwaitingPin(current);
  return hasMovedOn || current.status === before.status ? false : commitPin(world, plan, current);
}

function guarded(world: World, { attempt }: Plan, { status, pinJob, overdueJob }: Transaction): PinAttempt {
  const isRecorded = status === Status.RespondedToPhone;
  const answered = isRecorded ? [] : moves(status, [Status.RespondedToPhone], world.clock.nowMs());
  const remove = [
    ...(pinJob === null ? [] : [{ queue: 'expire-pin', id: pinJob } as const]),
    ...(overdueJob === null || isRecorded ? [] : [{ queue: 'overdue', id: overdueJob } as const]),
  ];
  return { ...attempt, fromStatus: status, moves: [...answered, ...attempt.moves], remove };
}
