import type { ReversalAnswer } from '../../kits/processor-kit/processor.ts';
import type { ReversalAnswerEntry, ReversalEntry } from '../model/audit-entry.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { PinEntry } from '../model/pin.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';

/** An attempt of a reversal that was or may have been written. */
export interface SentReversal {
  /** DE7, in whole seconds: identifies the attempt among those of its request. */
  readonly sentAtMs: number;
  /** From 1 for each void and each uncertain request. */
  readonly number: number;
  readonly stan: string;
  /** Whether the attempt may have reached the switch before its original. */
  readonly couldOvertake: boolean;
  /** Whether the attempt asks to confirm an acknowledgement that left a doubt. */
  readonly confirms: boolean;
  /** False after a later approval of the original: then its acknowledgement proves nothing. */
  readonly counts: boolean;
  /** The job of the next attempt. */
  readonly nextJob: string;
  readonly answer: ReversalAnswer | null;
}

/** What a step records about an attempt. `unsent`: no byte was sent, so the attempt did not take place. */
export type ReversalRecord =
  | (Omit<SentReversal, 'counts' | 'answer'> & {
      readonly kind: 'sent';
      readonly processorId: number;
      /** How long to wait for the response; the database adds it to its clock. */
      readonly deadlineSeconds: number;
    })
  | { readonly kind: 'answered'; readonly sentAtMs: number; readonly answer: ReversalAnswer }
  | { readonly kind: 'unsent'; readonly sentAtMs: number };

/** A step of a reversal, guarded by the state and the attempt that it follows. */
export interface ReversalStep {
  readonly transaction: Transaction;
  readonly to: Pick<Transaction, 'reversalState' | 'reversalAttempt' | 'disposition' | 'needsReview' | 'voidState'>;
  readonly record?: ReversalRecord | undefined;
  /**
   * Number of attempts when the step was decided. Any other number in the database means that the decision is
   * outdated.
   */
  readonly attempts?: number | undefined;
  /** The new state of the void's own row. */
  readonly voidRow?: VoidRow | undefined;
  /** For the audit trail. */
  readonly auditEntries: readonly (ReversalEntry | ReversalAnswerEntry)[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
  /** The `reverse` jobs that the step makes unnecessary. */
  readonly remove: readonly string[];
}

export interface VoidRow {
  readonly id: string;
  readonly disposition: DispositionId | null;
  readonly needsReview: boolean;
}

/**
 * The effect of a late response: a reversal is required, for the first time or again, and no earlier attempt counts.
 */
export interface LateStep {
  readonly to: Pick<Transaction, 'disposition' | 'needsReview' | 'pinState' | 'pinJob'>;
  readonly auditEntries: readonly (ReversalEntry | Pick<PinEntry, 'pin'>)[];
  readonly enqueue: readonly JobRequest[];
  readonly remove: readonly { readonly queue: 'expire-pin'; readonly id: string }[];
}

/** The payload of a job: one attempt, the first or a repeat. */
export interface ReversalAttempt extends TransactionKey {
  readonly attempt: number;
  readonly reversalAttempt: number;
}
