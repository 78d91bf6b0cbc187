import { DuplicateReference, NoConfiguration, Overloaded, RequestRejected } from '../../basics/errors.ts';
import { readRequestedAmount } from '../decisions/admit.ts';
import { holdIfLost } from '../decisions/after-restore.ts';
import { currencyOf } from '../model/money.ts';
import { switchOf } from '../model/switch-revision.ts';
import { type Transaction, type TransactionKey, TransactionType } from '../model/transaction.ts';
import type { PreparedRequest, Switch, Switches } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import { type Attempts, NEW, type Plan } from '../taps/attempts.ts';
import { type Again, candidatesAfter, delegateTo, findCandidate, lookElsewhere } from '../taps/delegate.ts';
import { draftReturn } from '../taps/draft.ts';
import { unlessOverloaded } from '../taps/handovers.ts';
import {
  merchantTime,
  prepareSubmission,
  type ReadySubmission,
  type RequestStamp,
  type SubmissionContent,
} from '../taps/prepare-submission.ts';
import type { Submissions } from '../taps/submissions.ts';
import { refuseUnlessFree } from './voids.ts';

/**
 * A refund returns money of a sale. It is a transaction of its own that takes the path of a purchase to the switch
 * that approved the sale. The commit that stores the refund reserves its amount on the sale before a byte is
 * written. The reservation remains while the outcome is uncertain or in review (model/review.ts). It is released in the
 * commit that decides that no money is returned: Declined, UnableToGoOnline, Voided (store/transactions/commit-refunds.ts).
 */
export interface RefundRequest {
  /** Decimal text in major units of the sale's currency. */
  readonly amount: string;
  /** The refund's own merchantReference. */
  readonly refundReference: string;
  /** Correlation id of the HTTP request, a UUID. */
  readonly correlationId?: string;
}

/** The use cases of refunds. */
export class Refunds {
  readonly #deps: TransactionDependencies;
  readonly #attempts: Attempts;
  readonly #outcomes: Outcomes;
  readonly #submissions: Submissions;

  constructor(deps: TransactionDependencies, attempts: Attempts, outcomes: Outcomes, submissions: Submissions) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#outcomes = outcomes;
    this.#submissions = submissions;
  }

  /**
   * Processes one refund from its request to its outcome.
   *
   * @param sale the sale, already checked to belong to the caller
   * @returns the refund as committed, with its disposition
   * @throws RequestRejected (INVALID_VALUES, REFUND_EXCEEDS_BALANCE, SALE_NOT_APPROVED, SALE_IN_REVIEW,
   * SALE_PROCESSOR_REMOVED, SALE_SWITCH_CHANGED, CARD_DATA_DELETED, REFUNDS_UNSUPPORTED), DuplicateReference, NoConfiguration, Overloaded,
   * HeldAfterRestore, StoreUnavailable
   */
  async refund(sale: Transaction, request: RefundRequest): Promise<Transaction> {
    const amountMinor = readAmount(request.amount, sale);
    const repeated = await this.#findRepeated(sale, request.refundReference, amountMinor);
    if (repeated) return this.#outcomes.await(repeated);
    await this.#refuseUnlessLeft(sale, amountMinor);
    const { acquirerId, merchantId, currency, createdAtMs: saleCreatedAtMs } = sale;
    await holdIfLost(this.#deps, () => ({
      held: { acquirerId, merchantId, reference: request.refundReference, kind: 'refund', amountMinor, currency },
      request: { kind: 'return', saleCreatedAtMs },
    }));
    const plan = await this.#plan(sale, request, amountMinor);
    const stored = await this.#attempts.commit(plan, () => this.#store(plan));
    if (stored === 'inserted') return plan.proceed();
    plan.abandon(true);
    if (stored === 'refused') {
      await this.#refuseUnlessLeft((await this.#deps.store.find(sale)) ?? sale, amountMinor);
      throw tooMuch(); // the insert found the balance reserved, and the reservation has been released since
    }
    const faster = await this.#findRepeated(sale, request.refundReference, amountMinor);
    if (!faster) throw new DuplicateReference(); // of a transaction whose month was archived
    return this.#outcomes.await(faster);
  }

  /** The worker's part of a refund that an `api` process accepted. The card data comes from the row of the sale. */
  async submit(asked: TransactionKey & { readonly attempt: number }): Promise<'done' | Again> {
    const transaction = await this.#outcomes.findUnsubmitted(asked);
    if (!transaction || transaction.originalId === null) return 'done';
    const sale = await this.#deps.store.find({ acquirerId: asked.acquirerId, id: transaction.originalId });
    if (!sale || this.#deps.path.kind !== 'direct') return this.#outcomes.giveUp(transaction);
    const ready = await this.#takeSaleSwitch(this.#deps.path.switches, sale, transaction).catch(unlessImpossible);
    const elsewhere = ready
      ? undefined
      : await lookElsewhere(this.#deps.path, candidatesAfter(this.#deps.directory, sale));
    if (elsewhere !== undefined) return delegateTo(asked.acquirerId, elsewhere);
    if (!ready) return this.#outcomes.giveUp(transaction);
    const submitted = await this.#submissions.submit(transaction, ready);
    if (submitted) await this.#submissions.authorize(submitted, ready);
    return 'done';
  }

  /**
   * Takes a slot at the switch that approved the sale. No other switch knows the sale.
   *
   * @returns undefined if the switch cannot be reached now
   * @throws NoConfiguration if the switch is no longer configured, Overloaded if no slot becomes free in time,
   * RequestRejected if the switch takes no refunds or the card data was deleted
   */
  async #takeSaleSwitch(
    switches: Switches,
    sale: Transaction,
    draft: Transaction,
  ): Promise<ReadySubmission | undefined> {
    const target = findCandidate(switches, candidatesAfter(this.#deps.directory, sale));
    if (!target || switchOf(sale, target) === 'other') throw new NoConfiguration('NO_ROUTE');
    if (switchOf(sale, target) === 'outdated') return undefined;
    const origin = { id: draft.id, routeId: sale.routeId, tid: sale.tid!, mid: sale.mid };
    const prepared = await prepareSubmission(this.#deps, target, origin, () => this.#contentOf(target, sale, draft));
    if (prepared === 'full') throw new Overloaded('switch');
    return prepared === 'down' ? undefined : { ...prepared, pinWait: null, next: () => Promise.resolve(undefined) };
  }

  #contentOf(target: Switch, sale: Transaction, draft: Transaction): SubmissionContent {
    if (sale.sealedCard === null) throw new RequestRejected('CARD_DATA_DELETED');
    const { original, ...card } = this.#deps.vault.open(sale.id, sale.sealedCard);
    return { card, build: (stamp) => this.#prepare(target, draft, { ...stamp, original }) };
  }

  #prepare(
    target: Switch,
    draft: Transaction,
    stamp: RequestStamp & { readonly original: Readonly<Record<string, string>> },
  ): PreparedRequest {
    const { code, numeric } = currencyOf(draft.currency!);
    const request = target.prepareRefund({
      ...stamp,
      localDateTime: merchantTime(this.#deps.directory, draft, stamp.sentAtMs),
      amount: { amountMinor: draft.amountMinor!, currency: code, currencyNumeric: numeric },
    });
    if (!request) throw new RequestRejected('REFUNDS_UNSUPPORTED');
    return request;
  }

  /**
   * Finds the same refund if it was stored before. @throws DuplicateReference if the reference belongs to any other
   * transaction
   */
  async #findRepeated(
    { acquirerId, merchantId, id }: Transaction,
    reference: string,
    amountMinor: number,
  ): Promise<Transaction | undefined> {
    const before = await this.#deps.store.findByReference(acquirerId, merchantId, reference);
    if (!before) return undefined;
    const isSame =
      before.type === TransactionType.Refund && before.originalId === id && before.amountMinor === amountMinor;
    if (!isSame) throw new DuplicateReference();
    return before;
  }

  async #refuseUnlessLeft(sale: Transaction, amountMinor: number): Promise<void> {
    await refuseUnlessFree(this.#deps.refunds, sale);
    if (amountMinor > leftToRefund(sale)) throw tooMuch();
  }

  async #plan(sale: Transaction, request: RefundRequest, amountMinor: number) {
    const { refundReference: merchantReference, correlationId = null } = request;
    const own = { id: this.#deps.newId(), merchantReference, correlationId, type: TransactionType.Refund, amountMinor };
    const transaction = draftReturn(sale, own, this.#deps.clock.nowMs());
    return this.#attempts.planRequest<never>({
      origin: NEW,
      transaction,
      candidates: candidatesAfter(this.#deps.directory, sale),
      take: (switches) => this.#takeSaleSwitch(switches, sale, transaction),
      queue: 'refund',
    });
  }

  /** Stores the refund. If nothing was sent, it has an outcome already, and nothing is reserved. */
  async #store({ attempt }: Plan): Promise<'inserted' | 'exists' | 'refused'> {
    const { observer, refunds, store } = this.#deps;
    if (attempt.transaction.disposition === null)
      return observer.commit('reserve', attempt, () => refunds.reserve(attempt));
    const outcome = await observer.commit('insert', attempt, () => store.insert(attempt));
    return outcome === 'inserted' ? 'inserted' : 'exists';
  }
}

/**
 * The refund is stored, so it is too late to refuse it. A refund that cannot be sent is treated as if no switch were
 * available.
 */
function unlessImpossible(error: unknown): undefined {
  if (error instanceof NoConfiguration || error instanceof RequestRejected) return undefined;
  return unlessOverloaded(error);
}

function readAmount(text: string, { currency }: Transaction): number {
  // A transaction without a currency was never accepted as a sale, so it is refused regardless of the amount.
  if (currency === null) throw new RequestRejected('SALE_NOT_APPROVED');
  return readRequestedAmount('amount', text, currencyOf(currency));
}

/** Minor units of an approved sale that no refund has returned or reserved. */
export function leftToRefund(sale: Pick<Transaction, 'approvedMinor' | 'amountMinor' | 'refundedMinor'>): number {
  return (sale.approvedMinor ?? sale.amountMinor ?? 0) - sale.refundedMinor;
}

function tooMuch(): RequestRejected {
  return new RequestRejected('REFUND_EXCEEDS_BALANCE');
}
