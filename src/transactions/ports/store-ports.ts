import type { AuditEntry, LateFacts } from '../model/audit-entry.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { PinEntry, PinStep } from '../model/pin.ts';
import type { Settlement } from '../model/settlement.ts';
import type { ShownTransaction } from '../model/shown-transaction.ts';
import type { Move, StatusId } from '../model/status.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { LateStep, ReversalStep, SentReversal } from './reversal-ports.ts';

/** A new transaction, or the next attempt of one of which nothing reached a switch. */
export interface NewAttempt {
  readonly transaction: Transaction;
  readonly moves: readonly AuditEntry[];
  readonly enqueue: readonly JobRequest[];
  /** Until then somebody must have an answer: processor deadline + 5 s. The database adds it to its clock. */
  readonly answerBySeconds: number;
  /** How long a PIN is awaited, where the attempt ends at once in the wish for one. The database adds it, too. */
  readonly pinSeconds: number | null;
  /** The tap sealed for the workers; null where it goes to the switch from here. */
  readonly handover: Uint8Array | null;
}

/** A tap that was accepted goes to a switch, or to the next one: route, STAN, deadline and `overdue` job. */
export interface NewSubmission {
  readonly transaction: Transaction;
  /** 3, or 4 when it is proven that the switch before it never got a byte. */
  readonly fromStatus: StatusId;
  readonly moves: readonly Move[];
  readonly enqueue: readonly JobRequest[];
  /** The `overdue` job that the new one replaces. */
  readonly remove: readonly string[];
}

/** A settlement with what it must still find in the row: the status it was decided from, on the right side of the deadline. */
export interface GuardedSettlement {
  readonly transaction: Transaction;
  readonly settlement: Settlement;
  /** False: the deadline and its grace have not passed. True: they have. */
  readonly isOverdue: boolean;
  readonly nowMs: number;
}

/** The phone has its answer, or was gone. */
export interface PhoneResponseRecord extends TransactionKey {
  readonly attempt: number;
  readonly fromStatus: StatusId;
  readonly status: StatusId;
  readonly moves: readonly Move[];
  /** The job that guarded the transaction until it could rest. */
  readonly overdueJob: string | null;
}

/** What a reversal must know of its original, and of its own attempts, besides the row. */
export interface OriginalFacts {
  /** Seconds since the original's deadline, by the database's clock; negative before it. */
  readonly sinceDeadlineSeconds: number;
  /** Whether the switch has answered the original, however late or strangely: then nothing of it is on its way any more. */
  readonly wasAnswered: boolean;
  /** Whether an approval came late, and its DE38. */
  readonly wasApprovedLate: boolean;
  readonly lateAuthorizationCode: string | null;
  /** For how long a completion of it may still be on its way, by the database's clock; 0 when none is. */
  readonly completingSeconds: number;
  /** Every attempt of its reversals that was or may have been written, oldest first. */
  readonly attempts: readonly SentReversal[];
  /** Until the deadline of an attempt without an answer, by the database's clock; 0 when none is under way. */
  readonly underWaySeconds: number;
  /**
   * Seconds since the last answer that acknowledged an attempt, or could not locate the original, by the database's clock;
   * null before one. Answers to a confirmation, and those that count no more, are left out.
   */
  readonly sinceAcknowledgementSeconds: number | null;
}

/** Names the request that a response answers, as the switch knows it. */
export interface ResponseIdentity {
  readonly acquirerId: number;
  readonly processorId: number;
  /** DE11 and DE41. */
  readonly stan: string;
  readonly tid: string;
  /** DE37 or DE7: one of them must agree besides. */
  readonly rrn: string | undefined;
  readonly transmissionDateTime: string | undefined;
}

/** A late response to be recorded; guarded like a step. */
export interface LateRecord {
  readonly transaction: Transaction;
  readonly late: LateFacts;
  /** What it causes; undefined when everything goes on as it would without. */
  readonly rearm: LateStep | undefined;
  readonly nowMs: number;
}

/** A request of a transaction: of its present attempt, or of an earlier one. */
export interface RequestKey extends TransactionKey {
  readonly attempt: number;
}

/** One attempt of a reversal, by its DE7. */
export interface ReversalKey extends RequestKey {
  readonly sentAtMs: number;
}

/** `known`: the same answer was recorded before. `moved`: the reversal has taken a step meanwhile, nothing was recorded. */
export type LateRecordOutcome = 'recorded' | 'known' | 'moved';

export interface TransactionStore {
  /**
   * `exists`: the merchant has used this reference before; `taken`: another tap holds the link, or its time is over; `named`:
   * the reference is that of a link, and the tap does not know it. Nothing was stored then.
   */
  insert(attempt: NewAttempt): Promise<'inserted' | 'exists' | 'taken' | 'named'>;
  retry(attempt: NewAttempt): Promise<boolean>;
  /** False when no PIN is awaited any more, or the row is in another status than it was. */
  submitPin(attempt: PinAttempt): Promise<boolean>;
  /** False when the PIN came, or may still come. */
  expirePin(expiry: PinExpiry): Promise<boolean>;
  submit(submission: NewSubmission): Promise<boolean>;
  settle(settlement: GuardedSettlement): Promise<boolean>;
  /** The phone got its answer, or was gone. Nobody waits for the record, and one that is lost is made up for by a job. */
  recordAnswer(answer: PhoneResponseRecord): void;
  /** The same for that job, which must live until it is recorded. */
  recordOverdueAnswer(answer: PhoneResponseRecord): Promise<unknown>;
  stepReversal(step: ReversalStep): Promise<boolean>;
  recordLate(record: LateRecord): Promise<LateRecordOutcome>;
  find(key: TransactionKey): Promise<Transaction | undefined>;
  findByReference(acquirerId: number, merchantId: string, merchantReference: string): Promise<Transaction | undefined>;
  /** The tap as an `api` process sealed it, and the seconds until somebody must have an answer; undefined once it was submitted. */
  findHandover(key: TransactionKey): Promise<{ handover: Uint8Array; secondsLeft: number } | undefined>;
  /**
   * A transaction as it is for one of its requests. For an earlier attempt, which an attempt with a PIN has replaced, route,
   * numbers, card and reversal are those of that attempt, and its disposition is Declined.
   */
  findRequest(key: RequestKey): Promise<Transaction | undefined>;
  findOriginalFacts(request: Transaction): Promise<OriginalFacts>;
  /**
   * The request that each response answers although nobody waits for it, in order: one that is or was uncertain, was declined,
   * or asked for a PIN. Undefined for a response that answers none.
   */
  findAnswered(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
  /** The attempt of a reversal that each response answers, in order; undefined for a response that answers none. */
  findReversals(responses: readonly ResponseIdentity[]): Promise<(ReversalKey | undefined)[]>;
}

/** Which rows a credential may see. */
export interface Tenant {
  readonly acquirerId: number;
  readonly integratorId?: number | undefined;
  readonly merchantId?: string | undefined;
}

export interface TransactionFilter {
  readonly user?: string | undefined;
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly minAmount?: number | undefined;
  readonly maxAmount?: number | undefined;
  readonly merchantReference?: string | undefined;
  readonly disposition?: DispositionId | undefined;
  readonly needsReview?: boolean | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Reads for those a transaction belongs to. */
export interface TransactionReader {
  list(tenant: Tenant, filter: TransactionFilter): Promise<ShownTransaction[]>;
  findOwned(tenant: Tenant, id: string): Promise<Transaction | undefined>;
  events(key: TransactionKey): Promise<{ attempt: number; moves: AuditEntry[] }[]>;
}

/** The attempt that brings a PIN, and what it must still find in the row: the PIN awaited, in this status, and in time. */
export interface PinAttempt extends NewAttempt {
  readonly fromStatus: StatusId;
  /** The jobs that guarded the row until now. */
  readonly remove: readonly { readonly queue: 'expire-pin' | 'overdue'; readonly id: string }[];
}

/** The end of the wait for a PIN; holds only when its time is over. */
export interface PinExpiry {
  readonly transaction: Transaction;
  readonly disposition: DispositionId;
  readonly pin: PinStep;
  readonly auditEntries: readonly PinEntry[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
}
