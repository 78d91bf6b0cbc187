import { LogBudget } from '../connection/log-budget.ts';
import { Disposition, dispositionName } from '../transactions/disposition.ts';
import type { RefundStore } from '../transactions/ports/refund-ports.ts';
import type { GuardedSettlement, NewAttempt, ReversalStep, TransactionStore } from '../transactions/ports.ts';
import type { StrayResponse } from '../transactions/reversal/late-response.ts';
import { Status } from '../transactions/status.ts';
import type { Transaction } from '../transactions/transaction.ts';
import type { World } from '../transactions/world.ts';
import type { Log } from './log.ts';
import { overriding } from './overriding.ts';

/** Per kind of line: an outage makes thousands of them a second, and each says the same. */
const LINES_PER_SECOND = 20;

/**
 * A tap's way in log lines: each names the transaction, the correlation id of its HTTP request, and STAN, RRN and terminal of
 * its message to the switch, so that what HTTP, jobs and the switch's own log tell can be joined by any of them.
 *
 * On debug every submission and outcome; on info what is uncertain: no response, reversals, late responses.
 */
export function logJourneys(world: World, log: Log): World {
  const journeys = new JourneyLog(log, world.clock.monotonicMs);
  return { ...world, store: telling(world.store, journeys), refunds: tellingRefunds(world.refunds, journeys) };
}

/** Tells of responses that answer nothing we know, by the names that the switch has for their requests. */
export function createStrayLog(log: Log): (stray: StrayResponse) => void {
  const budget = new LogBudget(LINES_PER_SECOND);
  return ({ acquirerId, processorId, stan, rrn, tid }) =>
    budget.spend(performance.now(), (suppressed) =>
      log.warn({ acquirerId, processorId, stan, rrn, tid, suppressed }, 'a response answers no request of ours'),
    );
}

type Told = Readonly<Record<string, unknown>>;

class JourneyLog {
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

  debug(transaction: Transaction, what: string, told: Told = {}): void {
    if (this.isDetailed) this.#log.debug({ ...namesOf(transaction), ...told }, what);
  }

  info(transaction: Transaction, what: string, told: Told = {}): void {
    const budget = this.#budgets.get(what) ?? new LogBudget(LINES_PER_SECOND);
    this.#budgets.set(what, budget);
    budget.spend(this.#monotonicMs(), (suppressed) =>
      this.#log.info({ ...namesOf(transaction), ...told, ...(suppressed > 0 && { suppressed }) }, what),
    );
  }
}

function namesOf({ acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn }: Transaction): Told {
  return { acquirerId, id, attempt, correlationId, routeId, tid, stan, rrn };
}

/** A commit with both: accepted, and already on its way. */
function tellAttempt({ transaction }: Pick<NewAttempt, 'transaction'>, journeys: JourneyLog): void {
  const isSubmitted = transaction.status === Status.SubmittedToPaymentProcessor;
  journeys.debug(transaction, isSubmitted ? 'submitted to the switch' : 'accepted', { status: transaction.status });
}

function telling(store: TransactionStore, journeys: JourneyLog): TransactionStore {
  // The beginning of every tap: not even looked at unless somebody asked for it.
  return tellingOutcomes(journeys.isDetailed ? tellingAttempts(store, journeys) : store, journeys);
}

function tellingAttempts(store: TransactionStore, journeys: JourneyLog): TransactionStore {
  const told = async <Outcome>(write: Promise<Outcome>, attempt: Pick<NewAttempt, 'transaction'>) => {
    const outcome = await write;
    if (outcome === true || outcome === 'inserted') tellAttempt(attempt, journeys);
    return outcome;
  };
  return overriding(store, {
    insert: (attempt) => told(store.insert(attempt), attempt),
    retry: (attempt) => told(store.retry(attempt), attempt),
    submitPin: (attempt) => told(store.submitPin(attempt), attempt),
    submit: (submission) => told(store.submit(submission), submission),
  });
}

function tellingOutcomes(store: TransactionStore, journeys: JourneyLog): TransactionStore {
  return overriding(store, {
    settle: async (guarded) => {
      const isCommitted = await store.settle(guarded);
      if (isCommitted) tellSettlement(guarded, journeys);
      return isCommitted;
    },
    stepReversal: async (step) => {
      const isCommitted = await store.stepReversal(step);
      if (isCommitted) tellReversal(step, journeys);
      return isCommitted;
    },
    recordLate: async (record) => {
      const outcome = await store.recordLate(record);
      const { kind, responseCode } = record.late;
      if (outcome !== 'moved')
        journeys.info(record.transaction, 'a response came late', { kind, responseCode, outcome });
      return outcome;
    },
  });
}

function tellSettlement({ transaction, settlement: { result }, isOverdue }: GuardedSettlement, journeys: JourneyLog) {
  const { disposition, responseCode } = result;
  if (disposition === Disposition.Indeterminate) {
    journeys.info(transaction, 'the outcome is uncertain: a reversal is owed', { isOverdue });
  } else if (disposition !== null) {
    journeys.debug(transaction, 'decided', { disposition: dispositionName(disposition), responseCode });
  }
}

function tellReversal({ transaction, told }: ReversalStep, journeys: JourneyLog): void {
  for (const { attempt, ...step } of told) {
    const what = 'reversal' in step ? 'a reversal went on' : 'an answer left a reversal as it was';
    journeys.info(transaction, what, { ...step, reversalAttempt: attempt });
  }
}

function tellingRefunds(refunds: RefundStore, journeys: JourneyLog): RefundStore {
  return overriding(refunds, {
    reserve: async (refund) => {
      const outcome = await refunds.reserve(refund);
      if (outcome === 'inserted') tellAttempt(refund, journeys);
      return outcome;
    },
    startVoid: async (wanted) => {
      const isStarted = await refunds.startVoid(wanted);
      const { transaction } = wanted.attempt;
      if (isStarted) journeys.info(transaction, 'a void was asked for', { originalId: transaction.originalId });
      return isStarted;
    },
  });
}
