import { NotFound, RequestRejected } from '../../basics/errors.ts';
import { decideResolution, type ReviewCase, refuseUnlessResolvable } from '../decisions/resolve-review.ts';
import { type Transaction, TransactionType } from '../model/transaction.ts';
import type { Finding, OpenProposal, Proposal, ProviderGrant, Reviewer, ReviewStore } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/** What reviews need besides the ports of transactions. */
export interface ReviewRules {
  readonly reviews: ReviewStore;
  /** Whether a second person must confirm. */
  readonly needsTwo: boolean;
  /** Whether the settings still give people of the provider this role. */
  readonly isGranted: (grant: ProviderGrant) => boolean;
  /** Whether the switch posts authorizations only after their completions. */
  readonly wantsCompletion: (transaction: Transaction) => boolean;
}

/** What a person states about a transaction, and the time of its last change that the person saw. */
export interface StatedFinding extends Finding {
  readonly seenAt: string;
}

/** Resolves transactions that need review. */
export class Reviews {
  readonly #deps: TransactionDependencies;
  readonly #rules: ReviewRules;

  constructor(deps: TransactionDependencies, rules: ReviewRules) {
    this.#deps = deps;
    this.#rules = rules;
  }

  /**
   * Resolves a transaction that needs review, or proposes the resolution if a second person must confirm it.
   *
   * @throws NotFound; RequestRejected (NOT_IN_REVIEW, NO_OUTCOME_YET, REVERSAL_IN_PROGRESS, PROPOSAL_PENDING,
   * RESOLUTION_...)
   */
  async resolve(stated: StatedFinding, by: Reviewer): Promise<void> {
    const review = await this.#readCase(stated);
    refuseUnlessResolvable(review);
    const { transaction } = review;
    if (new Date(transaction.updatedAtMs).toISOString() !== stated.seenAt) throw outdated();
    const { acquirerId, id, books, reason } = stated;
    const resolutionId = this.#deps.newId();
    const proposal: Proposal = { acquirerId, id, books, reason, resolutionId, seen: stateOf(transaction), by };
    const step = decideResolution(this.#deps, review, books, this.#deps.clock.nowMs());
    if (this.#rules.needsTwo) {
      if (!(await this.#rules.reviews.propose(proposal))) throw new RequestRejected('PROPOSAL_PENDING');
      return;
    }
    if (!(await this.#rules.reviews.resolve(proposal, step, undefined))) throw outdated();
    this.#deps.wakeups.announce(transaction);
  }

  /**
   * Confirms or rejects what another person proposed. The proposer may reject the own proposal, which withdraws it.
   *
   * @throws NotFound for a proposal that does not exist; RequestRejected (OWN_PROPOSAL, OTHER_DIRECTORY, PROPOSER_GONE, RESOLUTION_OUTDATED,
   * and those of `resolve`)
   */
  async decide(
    { acquirerId, resolutionId }: Pick<Proposal, 'acquirerId' | 'resolutionId'>,
    verdict: 'confirm' | 'reject',
    by: Reviewer,
  ): Promise<void> {
    const proposal = await this.#rules.reviews.findProposal(acquirerId, resolutionId);
    if (!proposal) throw new NotFound();
    if (verdict === 'reject') {
      if (!(await this.#rules.reviews.reject(proposal, by))) throw outdated();
      return;
    }
    refuseUnlessOther(proposal.by, by);
    if (!mayStillAct(this.#rules, proposal)) throw new RequestRejected('PROPOSER_GONE');
    const review = await this.#readCase(proposal);
    const step = decideResolution(this.#deps, review, proposal.books, this.#deps.clock.nowMs());
    if (stateOf(review.transaction) !== proposal.seen) throw outdated();
    if (!(await this.#rules.reviews.resolve(proposal, step, by))) throw outdated();
    this.#deps.wakeups.announce(review.transaction);
  }

  async #readCase(key: Finding): Promise<ReviewCase> {
    const transaction = await this.#deps.store.find(key);
    if (!transaction) throw new NotFound();
    const { type } = transaction;
    const isSale = type !== TransactionType.Refund && type !== TransactionType.Void;
    const [voidRow, facts] = await Promise.all([
      isSale ? this.#deps.refunds.findVoid(transaction) : undefined,
      this.#rules.reviews.findReviewFacts(transaction),
    ]);
    // Refunds and mandates have no completion.
    const isAuthorization = type === TransactionType.Tap || type === TransactionType.SecureCardReader;
    const needsCompletion = isAuthorization && this.#rules.wantsCompletion(transaction);
    return { transaction, voidRow, facts: { ...facts, needsCompletion } };
  }
}

/** One person may have a user in each of two directories, so only users of the same one are surely two persons. */
function refuseUnlessOther(proposer: Reviewer, by: Reviewer): void {
  if (proposer.userId === by.userId) throw new RequestRejected('OWN_PROPOSAL');
  if (proposer.grant?.issuer !== by.grant?.issuer) throw new RequestRejected('OTHER_DIRECTORY');
}

function mayStillAct({ isGranted }: ReviewRules, { by: { grant }, isUserStillAble }: OpenProposal): boolean {
  return grant === null ? isUserStillAble : isGranted(grant);
}

/** The state that a resolution follows: a proposal is outdated after any change, such as a response that contradicts. */
function stateOf(transaction: Transaction): string {
  const { attempt, disposition, reversalState, reversalAttempt, voidState, refundedMinor, updatedAtMs } = transaction;
  return [attempt, disposition, reversalState, reversalAttempt, voidState ?? '', refundedMinor, updatedAtMs].join(' ');
}

function outdated(): RequestRejected {
  return new RequestRejected('RESOLUTION_OUTDATED');
}
