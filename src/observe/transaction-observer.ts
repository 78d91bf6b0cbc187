import type { TapLoad } from '../basics/limits/concurrency-limit.ts';
import { LogBudget } from '../basics/limits/log-budget.ts';
import type { RefusedCardData } from '../card/open-card-data.ts';
import { Disposition, dispositionName } from '../payments/model/disposition.ts';
import { Status } from '../payments/model/status.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type { GuardedDecision, NewAttempt, ReversalStep } from '../payments/ports/store-ports.ts';
import type { AttemptName, SwitchResponse } from '../payments/ports/switch-ports.ts';
import type {
  CommitListener,
  CommitResult,
  Commits,
  SwitchMessage,
  TransactionObserver,
} from '../payments/ports/transaction-dependencies.ts';
import type { UnmatchedResponse } from '../payments/reversals/late-responses.ts';
import type { Failpoints } from './failpoints.ts';
import type { Log } from './log.ts';
import type { Tracing } from './tracing/tracing.ts';

/** The results of commits that have stored what they write. `known`: it was stored before. */
const STORED: ReadonlySet<CommitResult> = new Set<CommitResult>([true, 'inserted', 'recorded', 'known']);

/** The parts of a process that observe its use cases. */
interface Watchers {
  /** Notified of what was stored, in this order. */
  readonly listeners: readonly CommitListener[];
  /** Called with what a listener throws. */
  readonly onError: (error: unknown) => void;
  readonly tracing: Tracing | undefined;
  readonly failpoints: Failpoints | undefined;
  /** Does not count a tap while it waits for a switch or another process. Undefined for jobs, which are no taps. */
  readonly load: TapLoad | undefined;
}

/** The observer of the use cases of one process: log, metrics, traces, load and failpoints. */
export class ProcessObserver implements TransactionObserver {
  readonly #listeners: readonly CommitListener[];
  readonly #onError: (error: unknown) => void;
  readonly #tracing: Tracing | undefined;
  readonly #failpoints: Failpoints | undefined;
  readonly #load: TapLoad | undefined;

  constructor({ listeners, onError, tracing, failpoints, load }: Watchers) {
    this.#listeners = failpoints ? [...listeners, failpoints.afterCommit] : listeners;
    this.#onError = onError;
    this.#tracing = tracing;
    this.#failpoints = failpoints;
    this.#load = load;
  }

  async commit<Name extends keyof Commits, Result extends CommitResult>(
    name: Name,
    written: Commits[Name],
    write: () => Promise<Result>,
  ): Promise<Result> {
    this.#failpoints?.beforeCommit[name]?.(written);
    const result = await (this.#tracing?.commit(name, written.transaction, write) ?? write());
    if (STORED.has(result)) this.#notify(name, written, result);
    return result;
  }

  /** What is stored stays so, whether it could be logged and counted or not. */
  #notify<Name extends keyof Commits>(name: Name, written: Commits[Name], result: CommitResult): void {
    for (const listener of this.#listeners) {
      try {
        listener[name]?.(written, result);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  async roundTrip<Value>(
    message: SwitchMessage,
    processorType: string,
    about: AttemptName,
    send: () => Promise<SwitchResponse<Value>>,
  ): Promise<SwitchResponse<Value>> {
    const responding = this.#tracing?.roundTrip(message, processorType, about, send) ?? send();
    this.#failpoints?.passAfterWrite(message);
    const response = await this.wait(() => responding);
    if (response.kind === 'responded') this.#failpoints?.passAfterResponse(message);
    return response;
  }

  wait<Result>(wait: () => Promise<Result>): Promise<Result> {
    return this.#load?.pause(wait) ?? wait();
  }
}

/** Limit per kind of line, because an outage produces thousands of equal lines per second. */
const LINES_PER_SECOND = 20;

/**
 * Logs the progress of a tap. Each line contains the transaction, the correlation id of its HTTP request, and STAN,
 * RRN and terminal of its message to the switch. Each of them joins the records of HTTP, jobs and the switch's own
 * log.
 *
 * Level debug: every submission and outcome. Level info: uncertain events, that is no response, reversals and late
 * responses.
 */
export function logTransactions(log: Log, monotonicMs: () => number): CommitListener {
  const transactionLog = new TransactionLog(log, monotonicMs);
  const logAttempt = ({ transaction }: Pick<NewAttempt, 'transaction'>) => transactionLog.attempt(transaction);
  return {
    insert: logAttempt,
    retry: logAttempt,
    submitPin: logAttempt,
    submit: logAttempt,
    reserve: logAttempt,
    decision: (guarded) => transactionLog.decision(guarded),
    stepReversal: (step) => transactionLog.reversal(step),
    recordLate: ({ transaction, late: { kind, responseCode } }, outcome) =>
      transactionLog.info(transaction, 'late response received', { kind, responseCode, outcome }),
    startVoid: ({ transaction }) =>
      transactionLog.info(transaction, 'void requested', { originalId: transaction.originalId }),
  };
}

/** Logs responses without a request in flight, by the identifiers that the switch uses for requests. */
export function createUnmatchedLog(log: Log): (unmatched: UnmatchedResponse) => void {
  const budget = new LogBudget(LINES_PER_SECOND);
  return ({ acquirerId, processorId, stan, rrn, tid }) =>
    budget.spend(performance.now(), (suppressed) =>
      log.warn({ acquirerId, processorId, stan, rrn, tid, suppressed }, 'response without a request in flight'),
    );
}

/** Logs which request had card data that were refused, and nothing of them. The response states no reason. */
export function createRefusedCardDataLog(log: Pick<Log, 'info'>): (refused: RefusedCardData) => void {
  const budget = new LogBudget(LINES_PER_SECOND);
  return (refused) =>
    budget.spend(performance.now(), (suppressed) =>
      log.info({ ...refused, ...(suppressed > 0 && { suppressed }) }, 'card data refused'),
    );
}

type LogFields = Readonly<Record<string, unknown>>;

class TransactionLog {
  readonly #log: Log;
  readonly #monotonicMs: () => number;
  readonly #budgets = new Map<string, LogBudget>();

  constructor(log: Log, monotonicMs: () => number) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /** A commit may contain both acceptance and submission. */
  attempt(transaction: Transaction): void {
    if (!this.#log.isLevelEnabled('debug')) return; // every tap begins here
    const { status } = transaction;
    const isSubmitted = status === Status.SubmittedToPaymentProcessor;
    this.#debug(transaction, isSubmitted ? 'submitted to the switch' : 'accepted', { status });
  }

  decision({ transaction, decision: { result }, isOverdue }: GuardedDecision): void {
    const { disposition, responseCode } = result;
    if (disposition === Disposition.Indeterminate) {
      this.info(transaction, 'outcome is uncertain, a reversal is required', { isOverdue });
    } else if (disposition !== null) {
      this.#debug(transaction, 'decided', { disposition: dispositionName(disposition), responseCode });
    }
  }

  reversal({ transaction, auditEntries }: ReversalStep): void {
    for (const { attempt, ...step } of auditEntries) {
      const what = 'reversal' in step ? 'reversal advanced' : 'response did not change the reversal';
      this.info(transaction, what, { ...step, reversalAttempt: attempt });
    }
  }

  info(transaction: Transaction, what: string, fields: LogFields): void {
    const budget = this.#budgets.get(what) ?? new LogBudget(LINES_PER_SECOND);
    this.#budgets.set(what, budget);
    budget.spend(this.#monotonicMs(), (suppressed) =>
      this.#log.info({ ...namesOf(transaction), ...fields, ...(suppressed > 0 && { suppressed }) }, what),
    );
  }

  #debug(transaction: Transaction, what: string, fields: LogFields): void {
    if (this.#log.isLevelEnabled('debug')) this.#log.debug({ ...namesOf(transaction), ...fields }, what);
  }
}

function namesOf({ acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn }: Transaction): LogFields {
  return { acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn };
}
