import { localDateTime } from '../processor-kit/local-time.ts';
import type { Reversal } from '../processor-kit/processor.ts';
import type { ReversalProfile } from '../processor-kit/profile.ts';
import { Disposition } from './disposition.ts';
import type { ReversalStep, Switch, SwitchSlot } from './ports.ts';
import { Status } from './status.ts';
import { REVERSAL_ELSEWHERE_AFTER_SECONDS, SEND_WITHIN_MS } from './time-limits.ts';
import { ReversalState, type Transaction, type TransactionKey } from './transaction.ts';
import { webhookJobs } from './webhook-job.ts';
import type { World } from './world.ts';

/**
 * A reversal is **owed** from the moment an outcome became uncertain. Each attempt is committed as **sent**, together
 * with the job of the next one, before its bytes leave; the switch's acknowledgement makes it **acknowledged** and the
 * transaction Voided, and removes that job. When the profile's time runs out, a person must look: **needsReview**.
 *
 * It must not overtake its original: it follows it on the same connection, or waits until nothing of the original can
 * still be on its way (states, "Reversal").
 */

/** No line is ready: look again after so long. The attempt does not count. */
const NO_LINE_RETRY_SECONDS = 5;

/** What a job asks for: one attempt, the first or a repeat. */
export interface ReversalAttempt extends TransactionKey {
  readonly attempt: number;
  readonly reversalAttempt: number;
}

export type ReversalJobResult = 'done' | { readonly againAfterSeconds: number };

export async function sendReversal(world: World, asked: ReversalAttempt): Promise<ReversalJobResult> {
  const transaction = await world.store.find(asked);
  if (!transaction || !isDue(transaction, asked)) return 'done';
  if (world.path.kind !== 'direct') throw new Error('Reversals are sent by workers');
  const route = world.directory.routes(asked.acquirerId).find(({ id }) => id === transaction.routeId);
  const target = route && world.path.switches.find(asked.acquirerId, route.processorId);
  if (!target) return { againAfterSeconds: NO_LINE_RETRY_SECONDS };
  const line = await takeLine(world, target, transaction);
  if ('againAfterSeconds' in line) return line;
  return attemptReversal(world, { transaction, target, slot: line.slot, number: asked.reversalAttempt });
}

function isDue(transaction: Transaction, asked: ReversalAttempt): boolean {
  const isOpen = transaction.reversalState === ReversalState.owed || transaction.reversalState === ReversalState.sent;
  return isOpen && transaction.attempt === asked.attempt && transaction.reversalAttempt === asked.reversalAttempt - 1;
}

async function takeLine(
  world: World,
  target: Switch,
  transaction: Transaction,
): Promise<{ slot: SwitchSlot } | { againAfterSeconds: number }> {
  const original = world.originals.find(transaction.id);
  const sameLine = original === undefined ? undefined : await target.takeSlot(original);
  if (sameLine) return { slot: sameLine };
  const mayOvertakeMs =
    (transaction.sentAtMs ?? 0) +
    ((transaction.deadlineSeconds ?? 0) + REVERSAL_ELSEWHERE_AFTER_SECONDS) * 1000 -
    world.clock.nowMs();
  if (mayOvertakeMs > 0) return { againAfterSeconds: Math.ceil(mayOvertakeMs / 1000) };
  const slot = await target.takeSlot();
  return slot ? { slot } : { againAfterSeconds: NO_LINE_RETRY_SECONDS };
}

interface Attempt {
  readonly transaction: Transaction;
  readonly target: Switch;
  readonly slot: SwitchSlot;
  readonly number: number;
}

async function attemptReversal(world: World, attempt: Attempt): Promise<ReversalJobResult> {
  const { transaction, target, slot } = attempt;
  const nextJob = world.newId();
  let reversal: Reversal;
  try {
    reversal = await buildReversal(world, attempt);
    if (!(await world.store.stepReversal(sentStep(world, attempt, nextJob)))) {
      slot.release();
      return 'done'; // another worker was faster
    }
  } catch (error) {
    slot.release();
    throw error;
  }
  const startMs = world.clock.monotonicMs();
  const timing = { deadlineMs: startMs + target.profile.deadlineMs, sendByMs: startMs + SEND_WITHIN_MS };
  const answer = await slot.reverse(reversal, timing);
  if (answer.kind === 'answered' && answer.value !== 'refused') {
    await world.store.stepReversal(acknowledgedStep(world, transaction, attempt.number, nextJob));
    world.wakeups.announce(transaction);
  }
  return 'done';
}

async function buildReversal(world: World, { transaction, target, number }: Attempt): Promise<Reversal> {
  const { original } = world.vault.open(transaction.id, transaction.sealedCard!);
  const merchant = world.directory.merchant(transaction.acquirerId, transaction.merchantId);
  const sentAtMs = world.clock.nowMs();
  return {
    original,
    reason:
      transaction.responseCode === null && transaction.status !== Status.BadResponseFromPaymentProcessor
        ? 'timeout'
        : 'unusable-response',
    attempt: number,
    stan: target.profile.reversal.keepsStan ? transaction.stan! : await target.nextStan(transaction.tid!),
    sentAtMs,
    localDateTime: localDateTime(sentAtMs, merchant?.timeZone ?? 'UTC'),
    authorizationCode: transaction.authorizationCode ?? undefined,
  };
}

/** Committed before the bytes: this attempt, and when the next one is due. */
function sentStep(world: World, { transaction, target, number }: Attempt, nextJob: string): ReversalStep {
  const { acquirerId, id, attempt } = transaction;
  const delaySeconds = delayBefore(number + 1, target.profile.reversal);
  const elapsedSeconds = (world.clock.nowMs() - (transaction.sentAtMs ?? 0)) / 1000;
  const isLast = elapsedSeconds + delaySeconds > target.profile.reversal.giveUpAfterSeconds;
  return {
    transaction,
    to: {
      reversalState: isLast ? ReversalState.needsReview : ReversalState.sent,
      reversalAttempt: number,
      disposition: transaction.disposition,
      needsReview: transaction.needsReview || isLast,
    },
    told: { reversal: 'sent', attempt: number },
    nowMs: world.clock.nowMs(),
    enqueue: isLast
      ? []
      : [
          {
            queue: 'reverse',
            id: nextJob,
            data: { acquirerId, id, attempt, reversalAttempt: number + 1 },
            startAfterSeconds: delaySeconds,
          },
        ],
    remove: [],
  };
}

function acknowledgedStep(world: World, transaction: Transaction, number: number, nextJob: string): ReversalStep {
  const nowMs = world.clock.nowMs();
  const voided = { disposition: Disposition.Voided, approvedMinor: transaction.approvedMinor };
  // One that was Voided before, and reversed again after a late approval, was told before.
  const isNews = transaction.disposition !== Disposition.Voided;
  return {
    transaction: { ...transaction, reversalAttempt: number },
    to: {
      reversalState: ReversalState.acknowledged,
      reversalAttempt: number,
      disposition: Disposition.Voided,
      needsReview: transaction.needsReview,
    },
    told: { reversal: 'acknowledged', attempt: number },
    nowMs,
    enqueue: isNews ? webhookJobs(world, transaction, voided, nowMs) : [],
    remove: [nextJob],
  };
}

/** Seconds before attempt `number`; the profile's last delay repeats. */
function delayBefore(number: number, { delaysSeconds }: ReversalProfile): number {
  return delaysSeconds[Math.min(number - 2, delaysSeconds.length - 1)] ?? 3600;
}
