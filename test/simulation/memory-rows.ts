import type { JobRequest } from '../../src/transactions/jobs.ts';
import type { AuditEntry, LateFacts, SentReversal } from '../../src/transactions/ports.ts';
import type { Transaction } from '../../src/transactions/transaction.ts';

/** A row with what the database adds to it. */
export interface Row {
  transaction: Transaction;
  answerByMs: number;
  deadlineAtMs: number | null;
  /** Until then a completion of it may be on its way. */
  completingUntilMs?: number | null;
  readonly trail: { attempt: number; moves: AuditEntry[] }[];
  /** Of every attempt, newest last. */
  readonly late: { readonly attempt: number; readonly facts: LateFacts }[];
  /** Attempts of reversals, oldest first. */
  readonly reversals: SentRow[];
  /** Attempts that one with a PIN has replaced, as they are: what is theirs is kept, the rest is the row's. */
  readonly superseded: Transaction[];
}

export type SentRow = SentReversal & {
  readonly attempt: number;
  readonly deadlineAtMs: number;
  readonly answeredAtMs?: number;
};

export interface Job {
  readonly id: string;
  readonly request: JobRequest;
  startAtMs: number;
  /** Taken, and not given to anyone else until then. */
  heldUntilMs: number;
}
