import { localDateTime } from '../processor-kit/local-time.ts';
import { Disposition } from './disposition.ts';
import type { JobRequest } from './jobs.ts';
import type { Switch } from './ports.ts';
import { SEND_WITHIN_MS } from './time-limits.ts';
import { ReversalState, type Transaction, type TransactionKey } from './transaction.ts';
import type { World } from './world.ts';

/**
 * At a switch that posts an approval only when it is completed: the advice that does it. Its job is committed with the
 * outcome, so no crash loses it, and it is repeated until the switch has taken it or the time of a reversal is over.
 */

/** What a job asks for: one attempt, the first or a repeat. */
export interface CompletionAttempt extends TransactionKey {
  readonly attempt: number;
  readonly completionAttempt: number;
}

export type CompletionJobResult = 'done' | { readonly againAfterSeconds: number; readonly payload?: CompletionAttempt };

/** No line is free, or a void is being decided: look again. */
const LATER = { againAfterSeconds: 5 } as const;

/** The job that is committed with an approval. */
export function completionJob({ acquirerId, id, attempt }: Transaction): JobRequest {
  return { queue: 'complete', data: { acquirerId, id, attempt, completionAttempt: 1 } };
}

export async function sendCompletion(world: World, asked: CompletionAttempt): Promise<CompletionJobResult> {
  const transaction = await world.store.find(asked);
  if (transaction?.attempt !== asked.attempt || transaction.disposition !== Disposition.Approved) return 'done';
  if (world.path.kind !== 'direct') throw new Error('Completions are sent by workers');
  const route = world.directory.routes(asked.acquirerId).find(({ id }) => id === transaction.routeId);
  const target = route && world.path.switches.find(asked.acquirerId, route.processorId);
  if (isTooOld(transaction, target, world.clock.nowMs())) {
    world.alarms.needsReview(transaction);
    return 'done';
  }
  // A void that is asked for may be refused: then the sale stands after all.
  if (!target || transaction.reversalState !== ReversalState.none) return LATER;
  return attemptAt(world, target, transaction, asked);
}

function isTooOld({ sentAtMs }: Transaction, target: Switch | undefined, nowMs: number): boolean {
  return target !== undefined && nowMs - (sentAtMs ?? nowMs) > target.profile.reversal.giveUpAfterSeconds * 1_000;
}

async function attemptAt(
  world: World,
  target: Switch,
  transaction: Transaction,
  asked: CompletionAttempt,
): Promise<CompletionJobResult> {
  const { completionAttempt } = asked;
  const slot = await target.takeSlot();
  const stan = slot && (await target.nextStan(transaction.tid!));
  if (!slot || stan === undefined) {
    slot?.release();
    return LATER;
  }
  const sentAtMs = world.clock.nowMs();
  const merchant = world.directory.merchant(transaction.acquirerId, transaction.merchantId);
  const completion = {
    original: world.vault.open(transaction.id, transaction.sealedCard!).original,
    amountMinor: transaction.approvedMinor!,
    authorizationCode: transaction.authorizationCode ?? undefined,
    attempt: completionAttempt,
    stan,
    sentAtMs,
    localDateTime: localDateTime(sentAtMs, merchant?.timeZone ?? 'UTC'),
  };
  const startMs = world.clock.monotonicMs();
  const timing = { deadlineMs: startMs + target.profile.deadlineMs, sendByMs: startMs + SEND_WITHIN_MS };
  const answer = await slot.complete(completion, timing, transaction);
  if (answer.kind === 'answered' && answer.value) return 'done';
  if (answer.kind === 'failed' && !answer.written) return LATER;
  const { delaysSeconds } = target.profile.reversal;
  const againAfterSeconds = delaysSeconds[Math.min(completionAttempt, delaysSeconds.length) - 1]!;
  return { againAfterSeconds, payload: { ...asked, completionAttempt: completionAttempt + 1 } };
}
