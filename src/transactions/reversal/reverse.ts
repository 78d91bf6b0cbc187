import { SealError } from '../../errors.ts';
import { localDateTime } from '../../processor-kit/local-time.ts';
import type { Reversal } from '../../processor-kit/processor.ts';
import { REVERSAL_SCHEDULE } from '../../processor-kit/profile.ts';
import { refusedVoidStep } from '../afterwards/void.ts';
import type { OriginalFacts, ReversalStep, Switch, SwitchSlot } from '../ports.ts';
import { Status } from '../status.ts';
import { SEND_WITHIN_MS } from '../time-limits.ts';
import { ReversalState, type Transaction, type TransactionKey, VoidState } from '../transaction.ts';
import { webhookJobs } from '../webhook-job.ts';
import type { World } from '../world.ts';
import { MOST_PATIENCE_SECONDS, patience } from './patience.ts';
import { type Attempt, answeredStep, exhaustedStep, isDue, sentStep, unsentStep } from './reversal-steps.ts';
import { reviewUnsendable } from './review-unsendable.ts';

/**
 * One attempt of a reversal (see reversal-steps.ts for what it goes through), on a line where it cannot overtake its
 * original.
 *
 * On the connection that carried the original it follows it: at the original's deadline, what was unsent of it went down
 * with its connection. On another connection nothing orders the two, so there it waits until the original's deadline is
 * past by the guard of the switch's profile (`overtakingGuardSeconds`, which tells why it is enough), unless the switch has
 * answered the original: then nothing of it is on its way any more.
 *
 * A worker that was killed makes no exception: its kernel still delivers what lay in the socket's buffer. Its orphans are
 * decided at the deadline and two seconds, and their reversals are on the wire when the guard is over: with the guard of
 * five seconds, within ten of the deadline. The acknowledgement that comes on another connection leaves a doubt, and is asked
 * for once more a minute later (reversal-steps.ts).
 */

/** What a job asks for: one attempt, the first or a repeat. */
export interface ReversalAttempt extends TransactionKey {
  readonly attempt: number;
  readonly reversalAttempt: number;
}

export type ReversalJobResult = 'done' | { readonly againAfterSeconds: number };

/** A completion is answered in a second as a rule. */
const COMPLETION_POLL_SECONDS = 1;
/** Somebody else has taken a step meanwhile: look at what is left to do. */
const MOVED: ReversalJobResult = { againAfterSeconds: 1 };

/** @param jobId the job that asked for the attempt, when it waits to be found: the attempt's commit removes it */
export async function sendReversal(world: World, asked: ReversalAttempt, jobId?: string): Promise<ReversalJobResult> {
  const transaction = await world.store.find(asked);
  if (transaction?.attempt !== asked.attempt || !isDue(transaction, asked.reversalAttempt)) return 'done';
  if (world.path.kind !== 'direct') throw new Error('Reversals are sent by workers');
  const route = world.directory.routes(asked.acquirerId).find(({ id }) => id === transaction.routeId);
  const target = route && world.path.switches.find(asked.acquirerId, route.processorId);
  try {
    return await attemptReversal(world, transaction, target, { number: asked.reversalAttempt, jobId });
  } catch (error) {
    return reviewUnsendable(world, transaction, target, error);
  }
}

/** The attempt to make, and the job that asked for it when the attempt's commit removes it. */
interface NumberedAttempt {
  readonly number: number;
  readonly jobId: string | undefined;
}

async function attemptReversal(
  world: World,
  transaction: Transaction,
  target: Switch | undefined,
  { number, jobId }: NumberedAttempt,
): Promise<ReversalJobResult> {
  if (!target) return waitForLine(world, transaction, target, NOT_NOW);
  const original = await world.store.findOriginalFacts(transaction);
  // It must not overtake a completion either, which would post what was taken back.
  if (original.completingSeconds > 0)
    return { againAfterSeconds: Math.min(original.completingSeconds, COMPLETION_POLL_SECONDS) };
  const line = await takeLine(world, target, transaction, original);
  if (!line.slot) return waitForLine(world, transaction, target, line);
  return sendOn(world, { transaction, target, original, jobId, ...line }, number);
}

interface FreeLine {
  readonly slot: SwitchSlot;
  readonly couldOvertake: boolean;
}

/** None is free now; where a time is given, none will be before. */
interface LaterLine {
  readonly slot?: undefined;
  readonly againAfterSeconds?: number;
}

const NOT_NOW: LaterLine = {};

async function takeLine(
  world: World,
  target: Switch,
  transaction: Transaction,
  original: OriginalFacts,
): Promise<FreeLine | LaterLine> {
  const carrier = world.originals.find(transaction.id);
  const behind = carrier === undefined ? undefined : await target.takeSlot(carrier);
  if (behind) return { slot: behind, couldOvertake: false };
  if (carrier !== undefined && target.hasConnection(carrier)) return NOT_NOW; // it signs on again, or is full
  const { overtakingGuardSeconds } = target.profile.reversal;
  const waitSeconds = original.wasAnswered ? 0 : overtakingGuardSeconds - original.sinceDeadlineSeconds;
  if (waitSeconds > 0) return { againAfterSeconds: waitSeconds };
  const slot = await target.takeSlot();
  return slot ? { slot, couldOvertake: !original.wasAnswered } : NOT_NOW;
}

/** No line could take it. The attempt does not count; that it has been too long does. */
async function waitForLine(
  world: World,
  transaction: Transaction,
  target: Switch | undefined,
  { againAfterSeconds }: LaterLine,
): Promise<ReversalJobResult> {
  const nowMs = world.clock.nowMs();
  const exhausted = exhaustedStep(transaction, target?.profile.reversal ?? REVERSAL_SCHEDULE, nowMs);
  if (exhausted) {
    if (!(await world.store.stepReversal(exhausted))) return MOVED;
    world.alarms.needsReview(transaction);
  }
  return { againAfterSeconds: againAfterSeconds ?? patience(transaction, nowMs) };
}

interface Sending extends FreeLine {
  readonly transaction: Transaction;
  readonly target: Switch;
  readonly original: OriginalFacts;
  readonly jobId: string | undefined;
}

async function sendOn(world: World, sending: Sending, number: number): Promise<ReversalJobResult> {
  const { transaction, target, slot, jobId } = sending;
  const attempt: Attempt = { number, nextJob: world.newId(), nowMs: world.clock.nowMs() };
  const step = { ...sentStep(transaction, attempt, target.profile.reversal), remove: jobId ? [jobId] : [] };
  let reversal: Reversal | undefined;
  try {
    reversal = await buildReversal(world, sending, attempt);
    if (!reversal || !(await world.store.stepReversal(step))) {
      slot.release();
      if (reversal) return MOVED;
      // No STAN is left before the cut-over.
      return waitForLine(world, transaction, target, { againAfterSeconds: MOST_PATIENCE_SECONDS });
    }
  } catch (error) {
    slot.release();
    throw error;
  }
  const startMs = world.clock.monotonicMs();
  const timing = { deadlineMs: startMs + target.profile.deadlineMs, sendByMs: startMs + SEND_WITHIN_MS };
  const answer = await slot.reverse(reversal, timing, transaction);
  await settleAttempt(world, sending, { ...transaction, ...step.to }, attempt, answer);
  return 'done';
}

async function settleAttempt(
  world: World,
  { transaction, target, couldOvertake }: Sending,
  sent: Transaction,
  attempt: Attempt,
  answer: Awaited<ReturnType<SwitchSlot['reverse']>>,
): Promise<void> {
  const now: Attempt = { ...attempt, nowMs: world.clock.nowMs() };
  let step: ReversalStep | undefined;
  let refusal: ReversalStep | undefined;
  if (answer.kind === 'answered') {
    refusal = refusedVoidStep(transaction, sent, now, answer.value);
    step = refusal ?? answeredStep(transaction, sent, now, answer.value, couldOvertake);
  }
  if (answer.kind === 'failed' && !answer.written) {
    step = unsentStep(transaction, sent, now, patience(transaction, now.nowMs), target.profile.reversal);
  }
  if (!step) {
    if (sent.reversalState === ReversalState.needsReview) world.alarms.needsReview(sent);
    return;
  }
  // One that was Voided before, and reversed again after a late approval, was told before.
  const isNews = step.to.disposition !== sent.disposition;
  const webhooks = isNews ? webhookJobs(world, sent, { ...sent, ...step.to }, now.nowMs) : [];
  const told = { ...step, enqueue: [...step.enqueue, ...webhooks] };
  const endsVoid = transaction.voidState === VoidState.asked && (refusal !== undefined || isNews);
  if (endsVoid) await world.refunds.endVoid({ step: told, isVoided: !refusal, needsReview: refusal !== undefined });
  else await world.store.stepReversal(told);
  if (isNews) world.wakeups.announce(sent);
  if (step.told.some(({ reversal }) => reversal === 'needsReview')) world.alarms.needsReview(transaction);
}

/** Undefined when a STAN of its own is wanted and the business day has none left. */
async function buildReversal(
  world: World,
  { transaction, target, original: facts }: Sending,
  { number, nowMs }: Attempt,
): Promise<Reversal | undefined> {
  if (transaction.sealedCard === null) throw new SealError('NOT_KEPT');
  const { keepsStan } = target.profile.reversal;
  const stan = keepsStan ? transaction.stan! : await target.nextStan(transaction.tid!, 'followUp');
  if (stan === undefined) return undefined;
  const { original } = world.vault.open(transaction.id, transaction.sealedCard);
  const merchant = world.directory.merchant(transaction.acquirerId, transaction.merchantId);
  return {
    original,
    reason: reasonOf(transaction, facts),
    attempt: number,
    stan,
    sentAtMs: nowMs,
    localDateTime: localDateTime(nowMs, merchant?.timeZone ?? 'UTC'),
    authorizationCode: facts.lateAuthorizationCode ?? transaction.authorizationCode ?? undefined,
  };
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
