import type { ReversalResponse } from '../../kits/processor-kit/processor.ts';
import type {
  AuditEntry,
  Decision,
  JobRequest,
  LateFacts,
  ReversalEntry,
  ReversalResponseEntry,
  StorableJob,
  SwitchBooks,
} from '../model/decision.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { Link, LinkKey, LinkStateId, NewLink } from '../model/link.ts';
import type { PinEntry, PinStep } from '../model/pin.ts';
import type { Move, StatusId } from '../model/status.ts';
import type { ShownTransaction, Transaction, TransactionKey } from '../model/transaction.ts';

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
  readonly respondBySeconds: number;
  /** When a worker decides the attempt, if it is still open; null if the transaction may rest at once. */
  readonly overdueSeconds: number | null;
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

/** The submission of an accepted tap to its first or next switch: route, STAN and deadline. */
export interface NewSubmission {
  readonly transaction: Transaction;
  /** 3, or 4 if it is proven that the previous switch never received a byte. */
  readonly fromStatus: StatusId;
  readonly auditEntries: readonly Move[];
  /** When another worker decides the attempt, if it is still open: counted from this commit. */
  readonly overdueSeconds: number;
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
}

/** What a reversal must know about its original and its own attempts in addition to the row. */
export interface OriginalFacts {
  /** Seconds since the deadline of the original by the clock of the database; negative before it. */
  readonly sinceDeadlineSeconds: number;
  /**
   * Whether the switch has responded to the original, in any form and however late: then no part of it is still in
   * transit.
   */
  readonly hasResponse: boolean;
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

/** Identifies the request that a response belongs to, as the switch knows it. */
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
  recordResponse(response: PhoneResponseRecord): void;
  /**
   * As `recordResponse`, for the job that repairs a lost record. It resolves when the record is committed; the job ends after
   * that.
   */
  recordOverdueResponse(response: PhoneResponseRecord): Promise<unknown>;
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
   * The request that each response belongs to although no caller waits for it, in order: one that is or was uncertain,
   * was declined, or asked for a PIN. Undefined for a response that belongs to none.
   */
  findRequestsOfResponses(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
  /**
   * The approved request that each response belongs to, in order; undefined for a response that belongs to none. The
   * search reads what the acquirer has submitted in minutes, so it is only for responses that belong to nothing else.
   */
  findApproved(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
  /** The attempt of a reversal that each response belongs to, in order; undefined for a response that belongs to none. */
  findReversals(responses: readonly ResponseIdentity[]): Promise<(ReversalKey | undefined)[]>;
}

/** A request that is held after a restore (decisions/after-restore.ts). */
export interface HeldRequest {
  readonly acquirerId: number;
  readonly merchantId: string;
  /** The reference of the merchant; for a void, the id of its sale. */
  readonly reference: string;
  readonly kind: 'tap' | 'pin' | 'link' | 'refund' | 'void';
  readonly amountMinor: number | null;
  readonly currency: string | null;
}

/** The requests that are held after a restore. Read and written only while an operator compares the books. */
export interface RestoreHolds {
  /** Undefined if the reference was neither held nor released. */
  find(held: HeldRequest): Promise<'held' | 'released' | undefined>;
  hold(held: HeldRequest): Promise<void>;
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
  /** The job that would have ended the wait. */
  readonly remove: readonly { readonly queue: 'expire-pin'; readonly id: string }[];
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

/** An attempt of a reversal that was or may have been written. */
export interface SentReversal {
  /** DE7, in whole seconds: identifies the attempt among those of its request. */
  readonly sentAtMs: number;
  /** Number of the attempt, from 1 for each void and each uncertain request. */
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
  readonly response: ReversalResponse | null;
}

/** What a step records about an attempt. `unsent`: no byte was sent, so the attempt did not take place. */
export type ReversalRecord =
  | (Omit<SentReversal, 'counts' | 'response'> & {
      readonly kind: 'sent';
      readonly processorId: number;
      /** How long to wait for the response; the database adds it to its clock. */
      readonly deadlineSeconds: number;
    })
  | { readonly kind: 'responded'; readonly sentAtMs: number; readonly response: ReversalResponse }
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
  readonly auditEntries: readonly (ReversalEntry | ReversalResponseEntry)[];
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

/** The database operations of completions. A void and a completion of one sale must not overtake each other. */
export interface CompletionStore {
  /**
   * Acquires the right to send a completion for this many seconds; a void requested meanwhile waits as long. False
   * if the sale is being voided or reversed, or another process holds the right.
   */
  begin(sale: Transaction, seconds: number): Promise<boolean>;
  /** Releases the right: no part of the completion is in transit any longer. */
  end(sale: Transaction): Promise<void>;
  /** No switch accepted the completion within the time limit: a person must resolve it. */
  giveUp(sale: Transaction, nowMs: number): Promise<void>;
}

/** A void to be started: its own row, and the job of the first attempt. */
export interface NewVoid {
  readonly original: Transaction;
  readonly attempt: NewAttempt;
  readonly reverseJob: StorableJob;
  readonly nowMs: number;
}

/** What is in the way of a refund or void, besides the state of the sale itself. */
export type ReturnObstacle = 'inReview' | 'noProcessor' | 'otherSwitch';

/** The database operations of refunds, voids and acknowledgements that taps do not need. */
export interface RefundStore {
  /**
   * Stores a refund and reserves its amount, or does neither. `exists`: the merchant has used the reference before.
   * `refused`: the amount exceeds the refundable balance of the sale, or the sale is blocked or no longer approved.
   */
  reserve(refund: NewAttempt): Promise<'inserted' | 'exists' | 'refused'>;
  /**
   * Whether the switch has closed the business day of a sale. For a switch that announces no business day, the
   * time zone that the sale was stored with decides.
   */
  isSettled(sale: Transaction): Promise<boolean>;
  /**
   * Why nothing of a sale can be returned now. `inReview`: the sale, a refund or a void of it is in review
   * (model/review.ts). `noProcessor`: the processor that approved the sale was removed.
   * `otherSwitch`: it now leads to another switch (model/switch-revision.ts).
   */
  findObstacle(sale: Transaction): Promise<ReturnObstacle | undefined>;
  /** False if the sale is not approved or is blocked, or another void or refund was faster. */
  startVoid(wanted: NewVoid): Promise<boolean>;
  /** The row of the last void of a sale. */
  findVoid(sale: Transaction): Promise<Transaction | undefined>;
  /** False if the transaction has changed since it was read. */
  acknowledge(record: PhoneResponseRecord): Promise<boolean>;
}

/** What a resolution must know in addition to the row, by the clock of the database. */
export interface StoredReviewFacts {
  /** Whether an attempt of a reversal, or a completion, may be in transit. */
  readonly isUnderWay: boolean;
  /** Whether the reversal of an attempt that asked for a PIN is running, or needs review. */
  readonly isEarlierReversalRunning: boolean;
  readonly isEarlierReversalInReview: boolean;
  /** Whether any void of the sale needs review: the last one, or one that was refused before it. */
  readonly isVoidInReview: boolean;
  /** Whether the switch approved a part of the amount although the request did not allow that. */
  readonly wasApprovedInPart: boolean;
  /** The last sequence number of an event about an earlier resolution; null if there was none. */
  readonly lastSequence: number | null;
}

export interface ReviewFacts extends StoredReviewFacts {
  /** Whether the switch posts the transaction only after its completion. */
  readonly needsCompletion: boolean;
}

/** The commit of a resolution, guarded by the state that it follows. */
export interface ResolutionStep {
  readonly transaction: Transaction;
  readonly to: Pick<
    Transaction,
    'disposition' | 'approvedMinor' | 'responseCode' | 'authorizationCode' | 'errorCode' | 'reversalState' | 'voidState'
  >;
  readonly voidRow: { readonly id: string; readonly disposition: DispositionId } | undefined;
  readonly entry: Extract<AuditEntry, { resolution: SwitchBooks }>;
  readonly enqueue: readonly JobRequest[];
  readonly eventSequence: number | null;
}

/** The person who resolves, as admin events name authors of changes. */
export interface Reviewer {
  readonly name: string;
  readonly userId: string;
  /** What an identity provider has granted the person; null for a user with a password. */
  readonly grant: ProviderGrant | null;
}

/** A role at a sign-in with an identity provider: for one acquirer, or with 0 for the installation. */
export interface ProviderGrant {
  readonly issuer: string;
  readonly role: string;
  readonly acquirerId: number;
}

/** What a person states, or has proposed. */
export interface Finding extends TransactionKey {
  readonly books: SwitchBooks;
  readonly reason: string;
}

export interface Proposal extends Finding {
  /** Id of the resolution. */
  readonly resolutionId: string;
  /** The state of the transaction that the person saw. */
  readonly seen: string;
  readonly by: Reviewer;
}

/** A proposal that waits for a second person. */
export interface OpenProposal extends Proposal {
  /** Of a proposer with a password: false if the user was deleted, blocked or made a viewer since. */
  readonly isUserStillAble: boolean;
}

export interface ReviewStore {
  findReviewFacts(transaction: Transaction): Promise<StoredReviewFacts>;
  findProposal(acquirerId: number, resolutionId: string): Promise<OpenProposal | undefined>;
  /** False if another proposal for the transaction waits. */
  propose(proposal: Proposal): Promise<boolean>;
  /** False if the proposal no longer waits. */
  reject(proposal: Proposal, by: Reviewer): Promise<boolean>;
  /**
   * Commits a resolution with its record, all or nothing.
   *
   * @param confirmedBy the second person; undefined if one is enough, and the proposal is not stored yet
   * @returns false if the transaction or the proposal has changed since it was read
   */
  resolve(proposal: Proposal, step: ResolutionStep, confirmedBy: Reviewer | undefined): Promise<boolean>;
}

/** Finds the link that a tap belongs to. */
export interface LinkFinder {
  find(key: LinkKey): Promise<Link | undefined>;
  /**
   * The link with a merchant's reference: its paymentReference, or the link's own id. A link past its time that no
   * tap holds is expired by this call and not found.
   */
  findNamed(acquirerId: number, merchantId: string, reference: string): Promise<Link | undefined>;
}

/** The database operations of links that taps do not need. */
export interface LinkStore extends LinkFinder {
  /**
   * Stores a link with the job that will expire it. `exists`: the merchant's paymentReference belongs to a link that
   * is live or settled, or to a tap whose money was or may have been taken.
   */
  create(link: NewLink): Promise<'created' | 'exists'>;
  /** The live link with the merchant's paymentReference, if the request with this hash created it. */
  findCreated(link: NewLink, requestHash: Uint8Array): Promise<Link | undefined>;
  /** Moves the link forward, never backward. */
  moveTo(key: LinkKey, state: LinkStateId): Promise<void>;
  /** `notYet` if the clock of the database has not reached the time of expiry. */
  expire(key: LinkKey): Promise<'done' | 'notYet'>;
  /** A link of a tenant, with the last tap on it. */
  findOwned(tenant: Tenant, id: string): Promise<{ link: Link; tap: Transaction | undefined } | undefined>;
  /** The last tap with a merchantReference, or on the link with this paymentReference. */
  findTap(tenant: Tenant, merchantReference: string): Promise<Transaction | undefined>;
  /** The tap on a link, if there is one. */
  findTapOf(link: Link): Promise<Transaction | undefined>;
  /** Whether no transaction uses a merchantReference yet. */
  isUnused(link: Link, merchantReference: string): Promise<boolean>;
  /** The only merchant of a tenant; undefined if there are several, or none. */
  onlyMerchant(tenant: Tenant): Promise<string | undefined>;
}

/** The identity of a payment app: the link whose token it holds. */
export interface IntentClaims extends LinkKey {
  readonly merchantId: string;
}

/** Tokens that give any holder access to one link until it expires. */
export interface IntentTokens {
  issue(link: Pick<NewLink, 'acquirerId' | 'id' | 'merchantId' | 'expiresAtMs'>): Promise<string>;
}

/** The identity of an app that creates intents: always for one merchant. */
export interface IntentSession {
  readonly acquirerId: number;
  readonly merchantId: string;
}
