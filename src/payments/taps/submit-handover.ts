import { NoConfiguration, Overloaded, PinUnusable, TapRefused } from '../../basics/errors.ts';
import { decideOutcome, type SwitchEvent } from '../decisions/decide-outcome.ts';
import { withWebhook } from '../decisions/webhook-job.ts';
import { hasAnswer } from '../model/pin.ts';
import { Status } from '../model/status.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { OpenedTap } from '../ports/switch-ports.ts';
import type { OutcomeDependencies } from '../reversals/overdue.ts';
import { authorize, submitReady } from './authorize.ts';
import { type Again, delegateTo, lookElsewhere, reachedElsewhere } from './delegate.ts';
import type { Draft } from './draft.ts';
import { type AttemptDependencies, pinUnusable } from './plan-attempt.ts';
import { readTap } from './read-tap.ts';
import { processorsFor, takeRoute } from './take-route.ts';

/** Opens what an `api` process sealed; undefined if no key of this worker fits. */
export type OpenHandover = (
  key: TransactionKey & { readonly attempt: number },
  sealed: Uint8Array,
) => OpenedTap | undefined;

/**
 * The tap was sealed for other workers, for example because it was accepted before this one started. Another worker
 * can take it after this time.
 */
const LEAVE_TO_OTHERS = { againAfterSeconds: 0.25 };

/**
 * The worker's part of a tap that an `api` process accepted: choose a route, submit, authorize.
 *
 * @returns `done` once the transaction has an outcome from any process, or when to try again
 */
export async function submitHandover(
  deps: AttemptDependencies,
  open: OpenHandover,
  asked: TransactionKey & { readonly attempt: number },
): Promise<'done' | Again> {
  const transaction = await findUnsubmitted(deps, asked);
  if (!transaction) return 'done';
  const waiting = await deps.store.findHandover(asked);
  const opened = waiting && open(asked, waiting.handover);
  if (waiting && !opened && waiting.secondsLeft > deps.longestDeadlineSeconds(asked.acquirerId)) return LEAVE_TO_OTHERS;
  if (opened) return submitOpened(deps, transaction, opened, waiting.secondsLeft);
  await giveUp(deps, transaction);
  return 'done';
}

/** The attempt that a worker was asked to submit; undefined once it was submitted or has an outcome. */
export async function findUnsubmitted(
  deps: Pick<OutcomeDependencies, 'store'>,
  asked: TransactionKey & { readonly attempt: number },
): Promise<Transaction | undefined> {
  const transaction = await deps.store.find(asked);
  if (transaction?.attempt !== asked.attempt || hasAnswer(transaction)) return undefined;
  return transaction.status === Status.ReadyToSubmitToPaymentProcessor ? transaction : undefined;
}

async function submitOpened(
  deps: AttemptDependencies,
  transaction: Transaction,
  opened: OpenedTap,
  secondsLeft: number,
): Promise<'done' | Again> {
  const { acquirerId } = transaction;
  const merchant = deps.directory.merchant(acquirerId, transaction.merchantId);
  if (!merchant || deps.path.kind !== 'direct') return giveUp(deps, transaction);
  const draft: Draft = { merchant, transaction };
  const tap = readTap(opened);
  const candidates = { acquirerId, processorIds: () => processorsFor(deps, draft, tap) };
  const mayLeave = secondsLeft > deps.longestDeadlineSeconds(acquirerId);
  const elsewhere = mayLeave ? reachedElsewhere(deps, candidates) : undefined;
  if (elsewhere !== undefined) return delegateTo(acquirerId, elsewhere);
  const ready = await takeRoute(deps, deps.path.switches, draft, tap).catch(unlessOverloaded);
  if (ready instanceof PinUnusable) return decide(deps, transaction, pinUnusable(deps));
  if (ready === undefined && mayLeave) {
    const found = await lookElsewhere(deps, candidates);
    if (found !== undefined) return delegateTo(acquirerId, found);
  }
  if (!ready || ready instanceof NoConfiguration || ready instanceof TapRefused) return giveUp(deps, transaction);
  if (secondsLeft < (ready.submission.deadlineSeconds ?? 0)) {
    ready.withdraw(true);
    return giveUp(deps, transaction);
  }
  const submitted = await submitReady(deps, transaction, ready);
  if (!submitted && (await deps.store.areUsed(transaction, ready.uses ?? [])))
    return decide(deps, transaction, pinUnusable(deps));
  if (submitted) await authorize(deps, submitted, ready);
  return 'done';
}

/** The tap is stored, so it is too late to refuse it. A full switch is treated like an unavailable one. */
export function unlessOverloaded(error: unknown): undefined {
  if (!(error instanceof Overloaded)) throw error;
}

/** Nothing was or will be written: the phone is notified at once. */
export function giveUp(deps: OutcomeDependencies, transaction: Transaction): Promise<'done'> {
  return decide(deps, transaction, { kind: 'unsent' });
}

async function decide(deps: OutcomeDependencies, transaction: Transaction, event: SwitchEvent): Promise<'done'> {
  const nowMs = deps.clock.nowMs();
  const decision = withWebhook(deps, transaction, decideOutcome(transaction, event, nowMs), nowMs);
  const guarded = { transaction, decision, isOverdue: true, nowMs };
  await deps.observer.commit('decision', guarded, () => deps.store.recordDecision(guarded));
  deps.wakeups.announce(transaction);
  return 'done';
}
