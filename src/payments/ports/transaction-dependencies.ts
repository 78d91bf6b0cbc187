import type { JobRequest } from '../model/decision.ts';
import type { OriginalConnections } from '../model/switch-revision.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { Directory } from './directory-ports.ts';
import type {
  CompletionStore,
  GuardedDecision,
  LateRecord,
  LateRecordOutcome,
  LinkStore,
  NewAttempt,
  NewSubmission,
  PinExpiry,
  RefundStore,
  RestoreHolds,
  ReversalAttempt,
  ReversalStep,
  TransactionStore,
} from './store-ports.ts';
import type {
  AttemptName,
  CardDataOpener,
  CardVault,
  Handover,
  OtherProcesses,
  PinTokens,
  ReaderPinKey,
  Switches,
  SwitchResponse,
} from './switch-ports.ts';

/** The dependencies of all use cases, created once in main.ts. */
export interface TransactionDependencies {
  readonly clock: Clock;
  /** A UUID v4. */
  readonly newId: () => string;
  readonly directory: Directory;
  readonly cardData: CardDataOpener;
  readonly vault: CardVault;
  /** The longest deadline of the acquirer's processors: for a tap whose route is not known. */
  readonly longestDeadlineSeconds: (acquirerId: number) => number;
  readonly store: TransactionStore;
  readonly refunds: RefundStore;
  readonly completions: CompletionStore;
  readonly links: LinkStore;
  readonly restoreHolds: RestoreHolds;
  readonly observer: TransactionObserver;
  readonly wakeups: Wakeups;
  readonly originals: OriginalConnections;
  readonly pinTokens: PinTokens;
  readonly readerPins: ReaderPinKey;
  /** How long a PIN is awaited. */
  readonly pinSeconds: number;
  readonly alarms: Alarms;
  /** Sends a reversal from this process without waiting for its job, if capacity is free. */
  readonly reverseAhead: (asked: ReversalAttempt, jobId: string | undefined) => void;
  /** Absent in a process that runs no jobs. */
  readonly promptWebhooks?: PromptWebhooks | undefined;
  readonly path: TransactionPath;
}

/**
 * How a tap continues: this process submits it, or seals it for the workers. `others` is absent in a process that is
 * alone.
 */
export type TransactionPath =
  | { readonly kind: 'direct'; readonly switches: Switches; readonly others?: OtherProcesses | undefined }
  | { readonly kind: 'handover'; readonly handover: Handover };

/** The commits of use cases by name, each with what it writes. */
export interface Commits {
  /** A transaction is stored, submitted in the same commit or not. */
  readonly insert: NewAttempt;
  /** The next attempt of a transaction that never reached a switch. */
  readonly retry: NewAttempt;
  readonly submitPin: NewAttempt;
  /** An accepted transaction is submitted to its first or next switch. */
  readonly submit: NewSubmission;
  readonly decision: GuardedDecision;
  readonly expirePin: PinExpiry;
  readonly stepReversal: ReversalStep;
  readonly recordLate: LateRecord;
  /** A refund is stored, and its amount reserved. */
  readonly reserve: NewAttempt;
  /** The row of the void. */
  readonly startVoid: NewAttempt;
}

export type CommitResult = boolean | Awaited<ReturnType<TransactionStore['insert']>> | 'refused' | LateRecordOutcome;

/** Called before or after a commit, for those commits that concern the listener. */
export type CommitListener = {
  readonly [Name in keyof Commits]?: (written: Commits[Name], result?: CommitResult) => void;
};

/** A request that a use case sends to a switch. */
export type SwitchMessage = 'authorization' | 'reversal' | 'completion';

/**
 * Observes what the use cases of a process do: each commit, each round trip to a switch, and each wait for another
 * process. Each method runs the work at once, and returns its result.
 */
export interface TransactionObserver {
  commit<Name extends keyof Commits, Result extends CommitResult>(
    name: Name,
    written: Commits[Name],
    write: () => Promise<Result>,
  ): Promise<Result>;
  /** @param processorType the type of the switch */
  roundTrip<Value>(
    message: SwitchMessage,
    processorType: string,
    about: AttemptName,
    send: () => Promise<SwitchResponse<Value>>,
  ): Promise<SwitchResponse<Value>>;
  wait<Result>(wait: () => Promise<Result>): Promise<Result>;
}

/**
 * The services that the domain requires from its process. Adapters implement these; the domain does not know pg,
 * sockets or fastify.
 */

export interface Clock {
  /** Milliseconds since 1970 by the clock of the database: for records, and for tokens that other processes verify. */
  nowMs(): number;
  /** Milliseconds on a monotonic clock: for deadlines. */
  monotonicMs(): number;
}

/**
 * Why a person must resolve a transaction with the acquirer. `UNACKNOWLEDGED`: the time for its reversal or
 * completion is over. `UNSENDABLE`: its reversal cannot be built. `APPROVED_AFTER_DECLINE`: the switch may have
 * booked a transaction that was reported as Declined. `CONTRADICTORY`: the switch responses to its reversal
 * contradict each other.
 */
export type ReviewReason = 'UNACKNOWLEDGED' | 'UNSENDABLE' | 'APPROVED_AFTER_DECLINE' | 'CONTRADICTORY';

/** Alerts a person. */
export interface Alarms {
  /** @param fault the error code or name if the reversal cannot be built */
  needsReview(key: TransactionKey, reason: ReviewReason, fault?: string): void;
}

/** Notifies waiting requests that a transaction changed, in this process or in another one. */
export interface Wakeups {
  /** Resolves when the transaction may have changed, or at the latest after `timeoutMs`. */
  moved(key: TransactionKey, timeoutMs: number): Promise<void>;
  announce(key: TransactionKey): void;
  /** Announces to workers that taps were handed over. */
  announceWork(): void;
}

/** Webhooks that the process that committed their outcome delivers itself, without a wait for their jobs. */
export interface PromptWebhooks {
  /** How long after the commit the job of an event starts unless a result was recorded. */
  readonly leaseSeconds: number;
  /**
   * Delivers the events of a commit.
   *
   * @param transaction as committed
   * @param jobs of the commit
   */
  deliver(transaction: Transaction, jobs: readonly JobRequest[]): void;
}
