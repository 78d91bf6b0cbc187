import type { AuditEntry, SwitchBooks } from '../model/audit-entry.ts';
import type { DispositionId } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';

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
