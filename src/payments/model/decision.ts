import type { AuditEntry } from './audit-entry.ts';
import type { JobRequest } from './jobs.ts';
import type { PinStep } from './pin.ts';
import type { StatusId } from './status.ts';
import type { Result } from './transaction.ts';

/** A decision: the result to commit, the transitions that lead to it, and the jobs to commit with them. */
export interface Decision {
  readonly status: StatusId;
  readonly auditEntries: readonly AuditEntry[];
  readonly result: Result;
  readonly pin: PinStep;
  /** How long the phone has to submit a PIN, from the commit on; null if no PIN is awaited. */
  readonly pinSeconds: number | null;
  readonly enqueue: readonly JobRequest[];
}
