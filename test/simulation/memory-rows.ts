import type { AuditEntry, JobRequest, LateFacts } from '../../src/payments/model/decision.ts';
import type { Transaction } from '../../src/payments/model/transaction.ts';
import type { SentReversal } from '../../src/payments/ports/store-ports.ts';

/** A row with what the database adds to it. */
export interface Row {
  transaction: Transaction;
  respondByMs: number;
  deadlineAtMs: number | null;
  /** Until then a completion of it may be in transit. */
  completingUntilMs?: number | null;
  readonly trail: { attempt: number; auditEntries: AuditEntry[] }[];
  /** Of every attempt, newest last. */
  readonly late: { readonly attempt: number; readonly facts: LateFacts }[];
  /** Attempts of reversals, oldest first. */
  readonly reversals: SentRow[];
  /** Attempts that were superseded by one with a PIN: they keep their own values, the rest is that of the row. */
  readonly superseded: Transaction[];
  /** It was stored, or began again, while the amount that it depends on needed review. */
  usesReview?: boolean;
}

export type SentRow = SentReversal & {
  readonly attempt: number;
  readonly deadlineAtMs: number;
  readonly respondedAtMs?: number;
};

/** An attempt that is overdue at some time, as a job with the id of its transaction. */
export interface OverdueRequest {
  readonly queue: 'overdue';
  readonly data: { readonly acquirerId: number; readonly id: string; readonly attempt: number };
}

export interface Job {
  readonly id: string;
  readonly request: JobRequest | OverdueRequest;
  startAtMs: number;
  /** Taken, and not given to another process until then. */
  heldUntilMs: number;
}
