import type { ReversalAnswer } from '../../processor-kit/processor.ts';
import type { ReversalAnswerEntry, ReversalEntry } from '../model/audit-entry.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { PinEntry } from '../model/pin.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';

/** An attempt of a reversal that was written, or may have been. */
export interface SentReversal {
  /** DE7, in whole seconds: names the attempt among those of its request. */
  readonly sentAtMs: number;
  /** From 1 for each void and each uncertain request. */
  readonly number: number;
  readonly stan: string;
  /** Whether it may have reached the switch before its original. */
  readonly couldOvertake: boolean;
  /** Whether it asks for an acknowledgement that left a doubt once more. */
  readonly confirms: boolean;
  /** False once an approval of the original came after it: its acknowledgement proves nothing then. */
  readonly counts: boolean;
  /** The job of the attempt after it. */
  readonly nextJob: string;
  readonly answer: ReversalAnswer | null;
}

/** What a step records of an attempt. `unsent`: no byte left, so there was no such attempt. */
export type ReversalRecord =
  | (Omit<SentReversal, 'counts' | 'answer'> & {
      readonly kind: 'sent';
      readonly processorId: number;
      /** Until then its answer is waited for; the database adds it to its clock. */
      readonly deadlineSeconds: number;
    })
  | { readonly kind: 'answered'; readonly sentAtMs: number; readonly answer: ReversalAnswer }
  | { readonly kind: 'unsent'; readonly sentAtMs: number };

/** A step of a reversal: guarded by the state and the attempt that it follows. */
export interface ReversalStep {
  readonly transaction: Transaction;
  readonly to: Pick<Transaction, 'reversalState' | 'reversalAttempt' | 'disposition' | 'needsReview' | 'voidState'>;
  readonly record?: ReversalRecord | undefined;
  /** How many attempts there were when it was decided: another number means that it was decided from what is past. */
  readonly attempts?: number | undefined;
  /** What becomes of the row that tells of the void. */
  readonly voidRow?: VoidRow | undefined;
  /** For the audit trail. */
  readonly auditEntries: readonly (ReversalEntry | ReversalAnswerEntry)[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
  /** The `reverse` jobs that it makes needless. */
  readonly remove: readonly string[];
}

export interface VoidRow {
  readonly id: string;
  readonly disposition: DispositionId | null;
  readonly needsReview: boolean;
}

/** What a late response causes: a reversal is owed, for the first time or again, and no attempt before it counts. */
export interface LateStep {
  readonly to: Pick<Transaction, 'disposition' | 'needsReview' | 'pinState' | 'pinJob'>;
  readonly auditEntries: readonly (ReversalEntry | Pick<PinEntry, 'pin'>)[];
  readonly enqueue: readonly JobRequest[];
  readonly remove: readonly { readonly queue: 'expire-pin'; readonly id: string }[];
}

/** What a job asks for: one attempt, the first or a repeat. */
export interface ReversalAttempt extends TransactionKey {
  readonly attempt: number;
  readonly reversalAttempt: number;
}
