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
import { LOCAL_RESPONSE_SECONDS, OVERDUE_AFTER_SECONDS, RESPONSE_SLACK_SECONDS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import type { NewAttempt } from '../ports/store-ports.ts';
import type { Handover, OpenedTap, Switches } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import { type Candidates, groupOf, lookElsewhere, reachedElsewhere } from './delegate.ts';
import type { Draft } from './draft.ts';
import { isReady, type ReadySubmission } from './prepare-submission.ts';
import type { ReadTap } from './read-tap.ts';
import type { Routes } from './routes.ts';
import type { Submissions } from './submissions.ts';

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

const READY: readonly StatusId[] = [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor];
const SUBMITTED: readonly StatusId[] = [...READY, Status.SubmittedToPaymentProcessor];

/** An attempt that may be sent to a switch: by this process, or by a worker. */
export interface PlannedRequest<Refusal> {
  readonly origin: Origin;
  readonly transaction: Transaction;
  readonly candidates: Candidates;
  /** Takes a slot at one of the candidates and builds the message; undefined if none can be reached now. */
  readonly take: (switches: Switches) => Promise<ReadySubmission | Refusal | undefined>;
  /** The queue of the job with which a worker continues. */
  readonly queue: 'authorize' | 'refund';
  /** Seals what the worker needs and no row has. */
  readonly seal?: (handover: Handover) => Promise<Uint8Array>;
}

/** Plans and commits the attempts of taps, PINs and refunds. */
export class Attempts {
  readonly #deps: TransactionDependencies;
  readonly #outcomes: Outcomes;
  readonly #submissions: Submissions;
  readonly #routes: Routes;

  constructor(deps: TransactionDependencies, routes: Routes, outcomes: Outcomes, submissions: Submissions) {
    this.#deps = deps;
    this.#outcomes = outcomes;
    this.#submissions = submissions;
    this.#routes = routes;
  }

  /**
   * Plans an attempt whose content is known: this process submits it, a worker submits it, or it ends because nothing can
   * be sent.
   *
   * @returns the refusal of `take`, if it refuses
   * @throws the errors of `take` and `seal`
   */
  async planRequest<Refusal extends object>(request: PlannedRequest<Refusal>): Promise<Plan | Refusal> {
    const { path } = this.#deps;
    const { origin, transaction, candidates, take } = request;
    if (path.kind === 'handover') return this.#handOver(path.handover, request, candidates.processorIds()[0]);
    const handover = path.others?.handover;
    const known = handover && reachedElsewhere(path, candidates);
    if (known !== undefined) return this.#handOver(handover!, request, known);
    const ready = await take(path.switches);
    if (ready) return isReady(ready) ? this.#submitted(origin, transaction, ready) : ready;
    const found = handover && (await lookElsewhere(path, candidates));
    return found === undefined ? this.planUnsent(origin, transaction) : this.#handOver(handover!, request, found);
  }

  /**
   * Plans an attempt of a tap whose card data were read.
   *
   * @returns NoConfiguration or TapRefused if nothing may be sent for a reason that the submitter must know
   */
  async plan(
    origin: Origin,
    draft: Draft,
    tap: ReadTap,
    opened: OpenedTap,
  ): Promise<Plan | NoConfiguration | TapRefused> {
    const { transaction } = draft;
    const plan = await this.planRequest({
      origin,
      transaction,
      candidates: { acquirerId: transaction.acquirerId, processorIds: () => this.#routes.processorsFor(draft, tap) },
      take: (switches) => this.#routes.take(switches, draft, tap),
      queue: 'authorize',
      seal: (handover) => handover.seal(transaction, opened.bytes),
    });
    return plan instanceof PinUnusable ? this.#decidedHere(origin, transaction, this.pinUnusable()) : plan;
  }

  /** An attempt that cannot be sent now. */
  planUnsent(origin: Origin, transaction: Transaction): Plan {
    return this.#decidedHere(origin, transaction, { kind: 'unsent' });
  }

  /** If the HSM could not open a PIN block, the PIN may be entered again. */
  pinUnusable(): SwitchEvent {
    return { kind: 'pinUnusable', pinWait: { job: this.#deps.newId(), seconds: this.#deps.pinSeconds } };
  }

  /** Runs the commit that precedes everything else. If it fails, the resources of the plan are released. */
  async commit<T>(plan: Plan, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      plan.abandon(isUnstored(error));
      if (!(error instanceof StoreUnavailable && error.mayBeStored)) throw error;
      // COMMIT was sent and its fate is unknown. If the row was stored, it is decided when it is overdue: nothing was
      // written to a switch.
      const { transaction } = plan.attempt;
      const stored = await this.#deps.store.find(transaction).catch(() => null);
      const isAbsent = stored !== null && stored?.attempt !== transaction.attempt;
      throw isAbsent ? new StoreUnavailable(false, { cause: error }) : error;
    }
  }

  /**
   * A worker continues from the row and the sealed tap, if possible one that is signed on to the processor. If no worker
   * can open it, nothing can be sent, and the phone is notified at once.
   */
  async #handOver(
    handover: Handover,
    { origin, transaction: read, queue, seal }: PlannedRequest<object>,
    processorId: number | undefined,
  ): Promise<Plan> {
    let sealed: Uint8Array | null;
    try {
      sealed = seal ? await seal(handover) : null;
    } catch (error) {
      if (error instanceof SealError && error.code === 'NO_WORKER') return this.planUnsent(origin, read);
      throw error;
    }
    const status = Status.ReadyToSubmitToPaymentProcessor;
    const transaction: Transaction = { ...read, status };
    const { acquirerId, id, attempt: number } = transaction;
    const planned = this.#newAttempt(origin, transaction, READY, this.#deps.longestDeadlineSeconds(acquirerId));
    const job = { queue, data: { acquirerId, id, attempt: number }, ...groupOf(acquirerId, processorId) };
    const proceed = () => {
      if (sealed) this.#deps.wakeups.announceWork();
      return this.#outcomes.await(transaction);
    };
    const attempt: NewAttempt = { ...planned, handover: sealed, enqueue: [job] };
    return { attempt, proceed, abandon: () => {} };
  }

  /** This process sends: the attempt is created, routed and submitted in one commit. */
  #submitted(origin: Origin, read: Transaction, ready: ReadySubmission): Plan {
    const { submission, uses, withdraw } = ready;
    const status = Status.SubmittedToPaymentProcessor;
    const transaction: Transaction = { ...read, ...submission, status };
    const attempt = this.#newAttempt(origin, transaction, SUBMITTED, submission.deadlineSeconds ?? 0);
    return {
      attempt: { ...attempt, uses },
      proceed: () => this.#submissions.authorize(transaction, ready),
      abandon: withdraw,
    };
  }

  /** Nothing is sent: the resulting outcome is committed with the attempt itself. */
  #decidedHere(origin: Origin, read: Transaction, event: SwitchEvent): Plan {
    const ready: Transaction = { ...read, status: Status.ReadyToSubmitToPaymentProcessor };
    const { result, pin, pinSeconds, enqueue, auditEntries } = decideOutcome(ready, event, this.#deps.clock.nowMs());
    const { attempt, ...plan } = this.respondedHere(origin, { ...ready, ...result, ...pin }, READY);
    const whole: NewAttempt = {
      ...attempt,
      pinSeconds,
      auditEntries: [...attempt.auditEntries, ...auditEntries],
      enqueue: [...attempt.enqueue, ...enqueue],
    };
    if (!isAwaitingPin(pin)) return { ...plan, attempt: whole };
    return { ...plan, attempt: whole, proceed: () => this.#outcomes.await(attempt.transaction) };
  }

  /** An attempt whose result is known before anything is sent. */
  respondedHere(origin: Origin, decided: Transaction, path: readonly StatusId[]): Plan {
    const transaction: Transaction = { ...decided, status: path.at(-1)! };
    const planned = this.#newAttempt(origin, transaction, path, LOCAL_RESPONSE_SECONDS);
    const enqueue = webhookJobs(this.#deps, transaction, transaction, this.#deps.clock.nowMs());
    return { attempt: { ...planned, enqueue }, proceed: () => Promise.resolve(transaction), abandon: () => {} };
  }

  #newAttempt(
    origin: Origin,
    transaction: Transaction,
    path: readonly StatusId[],
    deadlineSeconds: number,
  ): NewAttempt {
    const slackSeconds = transaction.deadlineSeconds === null ? RESPONSE_SLACK_SECONDS : 0;
    return {
      transaction,
      auditEntries: [...moves(origin.status, path, this.#deps.clock.nowMs()), ...origin.auditEntries],
      enqueue: [],
      overdueSeconds: deadlineSeconds + slackSeconds + OVERDUE_AFTER_SECONDS,
      respondBySeconds: deadlineSeconds + RESPONSE_SLACK_SECONDS,
      pinSeconds: null,
      handover: null,
    };
  }
}

/** A row that rests in the last status of its path as soon as it is stored: no job follows it. */
export function restingAttempt(read: Transaction, path: readonly StatusId[], nowMs: number): NewAttempt {
  return {
    transaction: { ...read, status: path.at(-1)! },
    auditEntries: moves(null, path, nowMs),
    enqueue: [],
    overdueSeconds: null,
    respondBySeconds: 0,
    pinSeconds: null,
    handover: null,
  };
}
