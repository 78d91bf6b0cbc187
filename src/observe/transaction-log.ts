import { LogBudget } from '../basics/limits/log-budget.ts';
import type { RefusedCardData } from '../card/open-card-data.ts';
import { Disposition, dispositionName } from '../payments/model/disposition.ts';
import { Status } from '../payments/model/status.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type {
  GuardedDecision,
  NewAttempt,
  RefundStore,
  ReversalStep,
  TransactionStore,
} from '../payments/ports/store-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { UnmatchedResponse } from '../payments/reversals/late-response.ts';
import type { Log } from './log.ts';
import { overrideMethods } from './override-methods.ts';

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
export function logTransactions(deps: TransactionDependencies, log: Log): TransactionDependencies {
  const transactionLog = new TransactionLog(log, deps.clock.monotonicMs);
  return { ...deps, store: logging(deps.store, transactionLog), refunds: tellingRefunds(deps.refunds, transactionLog) };
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

  get isDetailed(): boolean {
    return this.#log.isLevelEnabled('debug');
  }

  debug(transaction: Transaction, what: string, fields: LogFields = {}): void {
    if (this.isDetailed) this.#log.debug({ ...namesOf(transaction), ...fields }, what);
  }

  info(transaction: Transaction, what: string, fields: LogFields = {}): void {
    const budget = this.#budgets.get(what) ?? new LogBudget(LINES_PER_SECOND);
    this.#budgets.set(what, budget);
    budget.spend(this.#monotonicMs(), (suppressed) =>
      this.#log.info({ ...namesOf(transaction), ...fields, ...(suppressed > 0 && { suppressed }) }, what),
    );
  }
}

function namesOf({ acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn }: Transaction): LogFields {
  return { acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn };
}

/** A commit that contains both acceptance and submission. */
function logAttempt({ transaction }: Pick<NewAttempt, 'transaction'>, transactionLog: TransactionLog): void {
  const isSubmitted = transaction.status === Status.SubmittedToPaymentProcessor;
  transactionLog.debug(transaction, isSubmitted ? 'submitted to the switch' : 'accepted', {
    status: transaction.status,
  });
}

function logging(store: TransactionStore, transactionLog: TransactionLog): TransactionStore {
  // Every tap begins here, so this work is skipped unless level debug is enabled.
  return loggingOutcomes(transactionLog.isDetailed ? loggingAttempts(store, transactionLog) : store, transactionLog);
}

function loggingAttempts(store: TransactionStore, transactionLog: TransactionLog): TransactionStore {
  const logged = async <Outcome>(write: Promise<Outcome>, attempt: Pick<NewAttempt, 'transaction'>) => {
    const outcome = await write;
    if (outcome === true || outcome === 'inserted') logAttempt(attempt, transactionLog);
    return outcome;
  };
  return overrideMethods(store, {
    insert: (attempt) => logged(store.insert(attempt), attempt),
    retry: (attempt) => logged(store.retry(attempt), attempt),
    submitPin: (attempt) => logged(store.submitPin(attempt), attempt),
    submit: (submission) => logged(store.submit(submission), submission),
  });
}

function loggingOutcomes(store: TransactionStore, transactionLog: TransactionLog): TransactionStore {
  return overrideMethods(store, {
    recordDecision: async (guarded) => {
      const isCommitted = await store.recordDecision(guarded);
      if (isCommitted) logDecision(guarded, transactionLog);
      return isCommitted;
    },
    stepReversal: async (step) => {
      const isCommitted = await store.stepReversal(step);
      if (isCommitted) logReversal(step, transactionLog);
      return isCommitted;
    },
    recordLate: async (record) => {
      const outcome = await store.recordLate(record);
      const { kind, responseCode } = record.late;
      if (outcome !== 'moved')
        transactionLog.info(record.transaction, 'late response received', { kind, responseCode, outcome });
      return outcome;
    },
  });
}

function logDecision(
  { transaction, decision: { result }, isOverdue }: GuardedDecision,
  transactionLog: TransactionLog,
) {
  const { disposition, responseCode } = result;
  if (disposition === Disposition.Indeterminate) {
    transactionLog.info(transaction, 'outcome is uncertain, a reversal is required', { isOverdue });
  } else if (disposition !== null) {
    transactionLog.debug(transaction, 'decided', { disposition: dispositionName(disposition), responseCode });
  }
}

function logReversal({ transaction, auditEntries }: ReversalStep, transactionLog: TransactionLog): void {
  for (const { attempt, ...step } of auditEntries) {
    const what = 'reversal' in step ? 'reversal advanced' : 'response did not change the reversal';
    transactionLog.info(transaction, what, { ...step, reversalAttempt: attempt });
  }
}

function tellingRefunds(refunds: RefundStore, transactionLog: TransactionLog): RefundStore {
  return overrideMethods(refunds, {
    reserve: async (refund) => {
      const outcome = await refunds.reserve(refund);
      if (outcome === 'inserted') logAttempt(refund, transactionLog);
      return outcome;
    },
    startVoid: async (wanted) => {
      const isStarted = await refunds.startVoid(wanted);
      const { transaction } = wanted.attempt;
      if (isStarted) transactionLog.info(transaction, 'void requested', { originalId: transaction.originalId });
      return isStarted;
    },
  });
}
