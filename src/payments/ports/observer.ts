import type {
  GuardedDecision,
  LateRecord,
  LateRecordOutcome,
  NewAttempt,
  NewSubmission,
  PinExpiry,
  ReversalStep,
  TransactionStore,
} from './store-ports.ts';
import type { AttemptName, SwitchResponse } from './switch-ports.ts';

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
