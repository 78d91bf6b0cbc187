import type { AuditEntry, LateFacts } from '../model/audit-entry.ts';
import type { Decision } from '../model/decision.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { PinEntry, PinStep } from '../model/pin.ts';
import type { ShownTransaction } from '../model/shown-transaction.ts';
import type { Move, StatusId } from '../model/status.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { LateStep, ReversalStep, SentReversal } from './reversal-ports.ts';

/** A value that one reference of a merchant may use, in the whole installation: a copy of it is refused. */
export interface SingleUse {
  /** 128 bits in hexadecimal. Values that come at about the same time should have equal beginnings. */
  readonly hash: string;
  /** The hash under a key that was replaced: it is only looked up. */
  readonly isOnlySought?: boolean;
}

/** A new transaction, or the next attempt of one that never reached a switch. */
export interface NewAttempt {
  readonly transaction: Transaction;
  readonly auditEntries: readonly AuditEntry[];
  readonly enqueue: readonly JobRequest[];
  /** When the phone must have a response: processor deadline + 5 s. The database adds it to its clock. */
  readonly answerBySeconds: number;
  /**
   * How long to await a PIN, if the attempt immediately ends in a request for one. The database adds it to its clock
   * as well.
   */
  readonly pinSeconds: number | null;
  /** The tap sealed for the workers; null if this process submits it. */
  readonly handover: Uint8Array | null;
  /** What the attempt may send to a switch, and no other reference. */
  readonly uses?: readonly SingleUse[] | undefined;
  /** The merchant's time zone, if the transaction is new: it decides later when a sale is settled. */
  readonly timeZone?: string | undefined;
}

/** The submission of an accepted tap to its first or next switch: route, STAN, deadline and `overdue` job. */
export interface NewSubmission {
  readonly transaction: Transaction;
  /** 3, or 4 if it is proven that the previous switch never received a byte. */
  readonly fromStatus: StatusId;
  readonly auditEntries: readonly Move[];
  readonly enqueue: readonly JobRequest[];
  /** The `overdue` job that the new one replaces. */
  readonly remove: readonly string[];
  /** The PIN block of the message, if it has one. */
  readonly uses?: readonly SingleUse[] | undefined;
}

/**
 * A decision with the state that the row must still have: the status that it was decided from, on the right side of
 * the deadline.
 */
export interface GuardedDecision {
  readonly transaction: Transaction;
  readonly decision: Decision;
  /** False: the deadline and its grace have not passed. True: they have. */
  readonly isOverdue: boolean;
  readonly nowMs: number;
}

/** The phone has its HTTP response, or has disconnected. */
export interface PhoneResponseRecord extends TransactionKey {
  readonly attempt: number;
  readonly fromStatus: StatusId;
  readonly status: StatusId;
  readonly auditEntries: readonly Move[];
  /** The job that guarded the transaction until it could rest. */
  readonly overdueJob: string | null;
}

/** What a reversal must know about its original and its own attempts in addition to the row. */
export interface OriginalFacts {
  /** Seconds since the deadline of the original by the clock of the database; negative before it. */
  readonly sinceDeadlineSeconds: number;
  /**
   * Whether the switch has answered the original, in any form and however late: then no part of it is still in
   * transit.
   */
  readonly wasAnswered: boolean;
  /** Whether what identifies the switch has changed since the request. Undefined means no. */
  readonly wasSwitchChanged?: boolean | undefined;
  /** Whether an approval arrived late, and its DE38. */
  readonly wasApprovedLate: boolean;
  readonly lateAuthorizationCode: string | null;
  /** How long a completion may still be in transit, by the clock of the database; 0 if none is. */
  readonly completingSeconds: number;
  /** Every attempt of its reversals that was or may have been written, oldest first. */
  readonly attempts: readonly SentReversal[];
  /**
   * Seconds until the deadline of an attempt without a response, by the clock of the database; 0 if none is pending.
   */
  readonly underWaySeconds: number;
  /**
   * Seconds since the last response that acknowledged an attempt or could not locate the original, by the clock of
   * the database; null before one. Responses to a confirmation, and those that no longer count, are left out.
   */
  readonly sinceAcknowledgementSeconds: number | null;
}

/** Identifies the request that a response answers, as the switch knows it. */
export interface ResponseIdentity {
  readonly acquirerId: number;
  readonly processorId: number;
  /** DE11 and DE41. */
  readonly stan: string;
  readonly tid: string;
  /** DE37 or DE7: one of them must match as well. */
  readonly rrn: string | undefined;
  readonly transmissionDateTime: string | undefined;
}

/** A late response to record; guarded like a step. */
export interface LateRecord {
  readonly transaction: Transaction;
  readonly late: LateFacts;
  /** The effect of the response; undefined if it changes nothing. */
  readonly rearm: LateStep | undefined;
  /** Whether a person must look again, because the response contradicts a resolution. */
  readonly isContradiction?: boolean | undefined;
  readonly nowMs: number;
}

/** A request of a transaction: of its present attempt, or of an earlier one. */
export interface RequestKey extends TransactionKey {
  readonly attempt: number;
}

/** One attempt of a reversal, identified with DE7. */
export interface ReversalKey extends RequestKey {
  readonly sentAtMs: number;
}

/**
 * `known`: the same response was recorded before. `moved`: the reversal has taken a step meanwhile, and nothing was
 * recorded.
 */
export type LateRecordOutcome = 'recorded' | 'known' | 'moved';

export interface TransactionStore {
  /**
   * `exists`: the merchant has used this reference before. `taken`: another tap holds the link, or the link has
   * expired. `named`: the reference belongs to a link that the tap does not name. `copied`: another reference has a value
   * of `uses`. In these cases nothing is stored.
   */
  insert(attempt: NewAttempt): Promise<'inserted' | 'exists' | 'taken' | 'named' | 'copied'>;
  retry(attempt: NewAttempt): Promise<boolean>;
  /** False if no PIN is awaited any longer, or the row is in another status. */
  submitPin(attempt: PinAttempt): Promise<boolean>;
  /** False if the PIN arrived, or may still arrive. */
  expirePin(expiry: PinExpiry): Promise<boolean>;
  submit(submission: NewSubmission): Promise<boolean>;
  recordDecision(decision: GuardedDecision): Promise<boolean>;
  /**
   * Records that the phone received its response or disconnected. No caller waits for this, and a job repairs a lost
   * record.
   */
  recordAnswer(answer: PhoneResponseRecord): void;
  /** The same for that job, which must stay alive until it is recorded. */
  recordOverdueAnswer(answer: PhoneResponseRecord): Promise<unknown>;
  stepReversal(step: ReversalStep): Promise<boolean>;
  recordLate(record: LateRecord): Promise<LateRecordOutcome>;
  /** Whether any of the values belongs to another attempt with a PIN, or another reference, than this one. */
  areUsed(attempt: Transaction, uses: readonly SingleUse[]): Promise<boolean>;
  find(key: TransactionKey): Promise<Transaction | undefined>;
  findByReference(acquirerId: number, merchantId: string, merchantReference: string): Promise<Transaction | undefined>;
  /**
   * The tap as an `api` process sealed it, and the seconds until the phone must have a response; undefined once it
   * was submitted.
   */
  findHandover(key: TransactionKey): Promise<{ handover: Uint8Array; secondsLeft: number } | undefined>;
  /**
   * A transaction as seen by one of its requests. For an earlier attempt, which an attempt with a PIN has replaced,
   * route, numbers, card and reversal are those of that attempt, and its disposition is Declined.
   */
  findRequest(key: RequestKey): Promise<Transaction | undefined>;
  findOriginalFacts(request: Transaction): Promise<OriginalFacts>;
  /**
   * The request that each response answers although no caller waits for it, in order: one that is or was uncertain,
   * was declined, or asked for a PIN. Undefined for a response that answers none.
   */
  findAnswered(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
  /**
   * The approved request that each response answers, in order; undefined for a response that answers none. The search reads
   * what the acquirer has submitted in minutes, so it is only for responses that answer nothing else.
   */
  findApproved(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
  /** The attempt of a reversal that each response answers, in order; undefined for a response that answers none. */
  findReversals(responses: readonly ResponseIdentity[]): Promise<(ReversalKey | undefined)[]>;
}

/** The rows that a credential may read. */
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

/** A transaction, and the time from which rows about it were stored. */
export type StoredTransaction = Pick<Transaction, 'acquirerId' | 'id' | 'createdAtMs'>;

/** Reads transactions on behalf of their owners. */
export interface TransactionReader {
  list(tenant: Tenant, filter: TransactionFilter): Promise<ShownTransaction[]>;
  findOwned(tenant: Tenant, id: string): Promise<Transaction | undefined>;
  events(transaction: StoredTransaction): Promise<{ attempt: number; auditEntries: AuditEntry[] }[]>;
}

/**
 * The attempt that carries a PIN, and the state that the row must still have: awaiting the PIN, in this status,
 * before the expiry.
 */
export interface PinAttempt extends NewAttempt {
  readonly fromStatus: StatusId;
  /** The jobs that guarded the row until now. */
  readonly remove: readonly { readonly queue: 'expire-pin' | 'overdue'; readonly id: string }[];
}

/** The end of the wait for a PIN; applies only after its time is over. */
export interface PinExpiry {
  readonly transaction: Transaction;
  readonly disposition: DispositionId;
  readonly pin: PinStep;
  readonly auditEntries: readonly PinEntry[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
}
