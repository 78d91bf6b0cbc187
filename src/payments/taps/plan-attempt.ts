import {
  isUnstored,
  type NoConfiguration,
  PinUnusable,
  SealError,
  StoreUnavailable,
  type TapRefused,
} from '../../basics/errors.ts';
import { decideOutcome, type SwitchEvent } from '../decisions/decide-outcome.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { isAwaitingPin, type PinEntry } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { ANSWER_SLACK_SECONDS, LOCAL_ANSWER_SECONDS, OVERDUE_AFTER_SECONDS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import type { NewAttempt } from '../ports/store-ports.ts';
import type { Handover, OpenedTap } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { OutcomeDependencies } from '../reversals/overdue.ts';
import { type AuthorizeDependencies, authorize, awaitOutcome } from './authorize.ts';
import { type Candidates, groupOf, lookElsewhere, reachedElsewhere } from './delegate.ts';
import type { Draft } from './draft.ts';
import type { ReadySubmission } from './prepare-submission.ts';
import type { ReadTap } from './read-tap.ts';
import { processorsFor, type RouteDependencies, takeRoute } from './take-route.ts';

export type AttemptDependencies = AuthorizeDependencies & RouteDependencies & Pick<TransactionDependencies, 'path'>;

/** What to commit for an attempt, and how to continue after the commit. */
export interface Plan {
  readonly attempt: NewAttempt;
  /** After the commit: returns the transaction with its result, or throws the refusal that was recorded. */
  readonly proceed: () => Promise<Transaction>;
  /**
   * Releases the resources of a plan that will not proceed.
   *
   * @param isUnstored whether it is certain that nothing of it is stored
   */
  readonly abandon: (isUnstored: boolean) => void;
}

/** The state from which an attempt begins. */
export interface Origin {
  /** Null if the row is created, or starts again. */
  readonly status: StatusId | null;
  /** The audit entries of the PIN that the attempt carries. */
  readonly auditEntries: readonly PinEntry[];
}

/** A row is created, or starts again. */
export const NEW: Origin = { status: null, auditEntries: [] };

const READY = [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor] as const;

/**
 * Plans an attempt whose card data were read: this process submits it, a worker submits it, or it ends because
 * nothing can be sent.
 *
 * @returns NoConfiguration or TapRefused if nothing may be sent for a reason that the submitter must know
 */
export async function planAttempt(
  deps: AttemptDependencies,
  origin: Origin,
  draft: Draft,
  tap: ReadTap,
  opened: OpenedTap,
): Promise<Plan | NoConfiguration | TapRefused> {
  const candidates: Candidates = {
    acquirerId: draft.transaction.acquirerId,
    processorIds: () => processorsFor(deps, draft, tap),
  };
  const { path } = deps;
  if (path.kind === 'handover') {
    return handOver(deps, path.handover, origin, draft, { opened, processorId: candidates.processorIds()[0] });
  }
  const handover = path.others?.handover;
  const elsewhere = handover && reachedElsewhere(deps, candidates);
  if (elsewhere !== undefined) return handOver(deps, handover!, origin, draft, { opened, processorId: elsewhere });
  const ready = await takeRoute(deps, path.switches, draft, tap);
  if (ready === undefined) {
    const found = handover && (await lookElsewhere(deps, candidates));
    if (found === undefined) return planUnsent(deps, origin, draft);
    return handOver(deps, handover!, origin, draft, { opened, processorId: found });
  }
  if (ready instanceof PinUnusable) return decidedHere(deps, origin, draft, pinUnusable(deps));
  return 'slot' in ready ? submitted(deps, origin, draft, ready) : ready;
}

/** An attempt that cannot be sent now. */
export function planUnsent(deps: OutcomeDependencies, origin: Origin, draft: Draft): Plan {
  return decidedHere(deps, origin, draft, { kind: 'unsent' });
}

/** If the HSM could not open a PIN block, the PIN may be entered again. */
export function pinUnusable(deps: Pick<TransactionDependencies, 'newId' | 'pinSeconds'>): SwitchEvent {
  return { kind: 'pinUnusable', pinWait: { job: deps.newId(), seconds: deps.pinSeconds } };
}

/** Runs the commit that precedes everything else. If it fails, the resources of the plan are released. */
export async function commitPlan<T>(
  deps: Pick<TransactionDependencies, 'store'>,
  plan: Plan,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    plan.abandon(isUnstored(error));
    if (!(error instanceof StoreUnavailable && error.mayBeStored)) throw error;
    // COMMIT was sent and its fate is unknown. If the row was stored, its `overdue` job decides: nothing was written
    // to a switch.
    const { transaction } = plan.attempt;
    const stored = await deps.store.find(transaction).catch(() => null);
    const isAbsent = stored !== null && stored?.attempt !== transaction.attempt;
    throw isAbsent ? new StoreUnavailable(false, { cause: error }) : error;
  }
}

/** What is handed over, and the processor that should receive it. */
interface HandedOver {
  readonly opened: OpenedTap;
  readonly processorId: number | undefined;
}

/**
 * A worker continues from the sealed tap, if possible one that is signed on to the processor. If no worker can open it,
 * nothing can be sent, and the phone is notified at once.
 */
async function handOver(
  deps: OutcomeDependencies,
  handover: Handover,
  origin: Origin,
  draft: Draft,
  { opened, processorId }: HandedOver,
): Promise<Plan> {
  try {
    const sealed = await handover.seal(draft.transaction, opened.bytes);
    return handedOver(deps, origin, draft, { sealed, processorId });
  } catch (error) {
    if (error instanceof SealError && error.code === 'NO_WORKER') return planUnsent(deps, origin, draft);
    throw error;
  }
}

function handedOver(
  deps: OutcomeDependencies,
  origin: Origin,
  { transaction: read }: Draft,
  { sealed: handover, processorId }: { readonly sealed: Uint8Array; readonly processorId: number | undefined },
): Plan {
  const transaction: Transaction = {
    ...read,
    overdueJob: deps.newId(),
    status: Status.ReadyToSubmitToPaymentProcessor,
  };
  const planned = newAttempt(deps, origin, transaction, READY, deps.longestDeadlineSeconds(read.acquirerId));
  const { acquirerId, id, attempt: number } = transaction;
  const data = { acquirerId, id, attempt: number };
  const authorizeJob = { queue: 'authorize', data, ...groupOf(acquirerId, processorId) } as const;
  const attempt: NewAttempt = { ...planned, handover, enqueue: [...planned.enqueue, authorizeJob] };
  const proceed = () => {
    deps.wakeups.announceWork();
    return awaitOutcome(deps, transaction);
  };
  return { attempt, proceed, abandon: () => {} };
}

/** Role `all`: the attempt is created, routed and submitted in one commit, then sent to the switch. */
function submitted(
  deps: AuthorizeDependencies,
  origin: Origin,
  { transaction: read }: Draft,
  ready: ReadySubmission,
): Plan {
  const overdueJob = deps.newId();
  const transaction: Transaction = {
    ...read,
    ...ready.submission,
    overdueJob,
    status: Status.SubmittedToPaymentProcessor,
  };
  const path = [...READY, Status.SubmittedToPaymentProcessor];
  const attempt = newAttempt(deps, origin, transaction, path, ready.submission.deadlineSeconds ?? 0);
  const { uses } = ready;
  return {
    attempt: { ...attempt, uses },
    proceed: () => authorize(deps, transaction, ready),
    abandon: ready.withdraw,
  };
}

/** Nothing is sent: the resulting outcome is committed with the attempt itself. */
function decidedHere(
  deps: OutcomeDependencies,
  origin: Origin,
  { transaction: read }: Draft,
  event: SwitchEvent,
): Plan {
  const ready: Transaction = { ...read, status: Status.ReadyToSubmitToPaymentProcessor };
  const { result, pin, pinSeconds, enqueue, auditEntries } = decideOutcome(ready, event, deps.clock.nowMs());
  const { attempt, ...plan } = answeredHere(deps, origin, { ...ready, ...result, ...pin }, READY);
  const whole: NewAttempt = {
    ...attempt,
    pinSeconds,
    auditEntries: [...attempt.auditEntries, ...auditEntries],
    enqueue: [...attempt.enqueue, ...enqueue],
  };
  if (!isAwaitingPin(pin)) return { ...plan, attempt: whole };
  return { ...plan, attempt: whole, proceed: () => awaitOutcome(deps, attempt.transaction) };
}

/** An attempt whose result is known before anything is sent. */
export function answeredHere(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'newId'>,
  origin: Origin,
  decided: Transaction,
  path: readonly StatusId[],
): Plan {
  const overdueJob = deps.newId();
  const transaction: Transaction = { ...decided, overdueJob, status: path.at(-1)! };
  const planned = newAttempt(deps, origin, transaction, path, LOCAL_ANSWER_SECONDS);
  const enqueue = [...planned.enqueue, ...webhookJobs(deps, transaction, transaction, deps.clock.nowMs())];
  return { attempt: { ...planned, enqueue }, proceed: () => Promise.resolve(transaction), abandon: () => {} };
}

export function newAttempt(
  deps: Pick<TransactionDependencies, 'clock'>,
  origin: Origin,
  transaction: Transaction,
  path: readonly StatusId[],
  deadlineSeconds: number,
): NewAttempt {
  const { acquirerId, id, attempt, overdueJob } = transaction;
  const startAfterSeconds =
    deadlineSeconds + (transaction.deadlineSeconds === null ? ANSWER_SLACK_SECONDS : 0) + OVERDUE_AFTER_SECONDS;
  return {
    transaction,
    auditEntries: [...moves(origin.status, path, deps.clock.nowMs()), ...origin.auditEntries],
    enqueue: [{ queue: 'overdue', id: overdueJob!, data: { acquirerId, id, attempt }, startAfterSeconds }],
    answerBySeconds: deadlineSeconds + ANSWER_SLACK_SECONDS,
    pinSeconds: null,
    handover: null,
  };
}
