import {
  DuplicateReference,
  isUnstored,
  NoConfiguration,
  Overloaded,
  RequestRejected,
  StoreUnavailable,
} from '../../basics/errors.ts';
import { localDateTime } from '../../kits/processor-kit/field-values.ts';
import { readRequestedAmount } from '../decisions/admit.ts';
import { ERROR_CODES } from '../decisions/decide-outcome.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { currencyOf } from '../model/money.ts';
import { Status, type StatusId } from '../model/status.ts';
import { switchOf } from '../model/switch-revision.ts';
import { LOCAL_ANSWER_SECONDS } from '../model/time-limits.ts';
import { NO_RESULT, type Transaction, type TransactionKey, TransactionType } from '../model/transaction.ts';
import type { NewAttempt } from '../ports/store-ports.ts';
import type { PreparedRequest, Switch, Switches } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { OutcomeDependencies } from '../reversals/overdue.ts';
import { type AuthorizeDependencies, authorize, awaitOutcome, submitReady } from '../taps/authorize.ts';
import { type Again, delegateTo, groupOf, lookElsewhere, reachedElsewhere } from '../taps/delegate.ts';
import { NO_SUBMISSION, WITHOUT_PIN } from '../taps/draft.ts';
import { NEW, newAttempt } from '../taps/plan-attempt.ts';
import {
  prepareSubmission,
  type ReadySubmission,
  type RequestStamp,
  type SubmissionContent,
} from '../taps/prepare-submission.ts';
import { giveUp, unlessOverloaded } from '../taps/submit-handover.ts';
import { refuseUnlessFree } from './void.ts';

/**
 * Takes a slot at the switch that approved the sale. No other switch knows the sale.
 *
 * @returns undefined if the switch cannot be reached now
 * @throws NoConfiguration if the switch is no longer configured, Overloaded if no slot becomes free in time,
 * RequestRejected if the switch takes no refunds or the card data was deleted
 */
async function takeSaleSwitch(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'vault'>,
  switches: Switches,
  sale: Transaction,
  draft: Transaction,
): Promise<ReadySubmission | undefined> {
  const route = deps.directory.routes(sale.acquirerId).find(({ id }) => id === sale.routeId);
  const target = route && switches.find(sale.acquirerId, route.processorId);
  if (!target || switchOf(sale, target) === 'other') throw new NoConfiguration('NO_ROUTE');
  if (switchOf(sale, target) === 'outdated') return undefined;
  const origin = { id: draft.id, routeId: sale.routeId, tid: sale.tid!, mid: sale.mid };
  const prepared = await prepareSubmission(deps, target, origin, () => refundContent(deps, target, sale, draft));
  if (prepared === 'full') throw new Overloaded('switch');
  return prepared === 'down' ? undefined : { ...prepared, pinWait: null, next: () => Promise.resolve(undefined) };
}

function refundContent(
  deps: Pick<TransactionDependencies, 'directory' | 'vault'>,
  target: Switch,
  sale: Transaction,
  draft: Transaction,
): SubmissionContent {
  if (sale.sealedCard === null) throw new RequestRejected('CARD_DATA_DELETED');
  const { original, ...card } = deps.vault.open(sale.id, sale.sealedCard);
  return { card, build: (stamp) => prepareRefund(deps, target, draft, { ...stamp, original }) };
}

function prepareRefund(
  deps: Pick<TransactionDependencies, 'directory'>,
  target: Switch,
  draft: Transaction,
  stamp: RequestStamp & { readonly original: Readonly<Record<string, string>> },
): PreparedRequest {
  const merchant = deps.directory.merchant(draft.acquirerId, draft.merchantId);
  const { code, numeric } = currencyOf(draft.currency!);
  const request = target.prepareRefund({
    ...stamp,
    localDateTime: localDateTime(stamp.sentAtMs, merchant?.timeZone ?? 'UTC'),
    amount: { amountMinor: draft.amountMinor!, currency: code, currencyNumeric: numeric },
  });
  if (!request) throw new RequestRejected('REFUNDS_UNSUPPORTED');
  return request;
}

type RefundDependencies = AuthorizeDependencies & Pick<TransactionDependencies, 'path' | 'vault'>;

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

/** What to commit for a refund, and how to continue after the commit. */
interface Plan {
  readonly attempt: NewAttempt;
  /** False if nothing was sent, so nothing is reserved. */
  readonly reserves: boolean;
  readonly proceed: () => Promise<Transaction>;
  readonly abandon: (isUnstored: boolean) => void;
}

/**
 * Processes one refund from its request to its outcome.
 *
 * @param sale the sale, already checked to belong to the caller
 * @returns the refund as committed, with its disposition
 * @throws RequestRejected (INVALID_VALUES, REFUND_EXCEEDS_BALANCE, SALE_NOT_APPROVED, SALE_IN_REVIEW,
 * SALE_PROCESSOR_REMOVED, SALE_SWITCH_CHANGED, CARD_DATA_DELETED, REFUNDS_UNSUPPORTED), DuplicateReference, NoConfiguration, Overloaded, StoreUnavailable
 */
export async function refund(
  deps: RefundDependencies,
  sale: Transaction,
  request: RefundRequest,
): Promise<Transaction> {
  const amountMinor = readAmount(request.amount, sale);
  const repeated = await findRepeated(deps, sale, request.refundReference, amountMinor);
  if (repeated) return awaitOutcome(deps, repeated);
  await refuseUnlessLeft(deps, sale, amountMinor);
  const plan = await planRefund(deps, sale, draftRefund(deps, sale, request, amountMinor));
  const stored = await commit(deps, plan);
  if (stored === 'inserted') return plan.proceed();
  plan.abandon(true);
  if (stored === 'refused') {
    await refuseUnlessLeft(deps, (await deps.store.find(sale)) ?? sale, amountMinor);
    throw tooMuch(); // the insert found the balance reserved, and the reservation has been released since
  }
  const faster = await findRepeated(deps, sale, request.refundReference, amountMinor);
  if (!faster) throw new StoreUnavailable(false);
  return awaitOutcome(deps, faster);
}

/** The worker's part of a refund that an `api` process accepted. The card data comes from the row of the sale. */
export async function submitRefund(
  deps: RefundDependencies,
  asked: TransactionKey & { readonly attempt: number },
): Promise<'done' | Again> {
  const transaction = await deps.store.find(asked);
  if (transaction?.attempt !== asked.attempt || transaction.originalId === null) return 'done';
  if (transaction.status !== Status.ReadyToSubmitToPaymentProcessor || transaction.disposition !== null) return 'done';
  const sale = await deps.store.find({ acquirerId: asked.acquirerId, id: transaction.originalId });
  if (!sale || deps.path.kind !== 'direct') return giveUp(deps, transaction);
  const ready = await takeSaleSwitch(deps, deps.path.switches, sale, transaction).catch(unlessImpossible);
  const elsewhere = ready ? undefined : await lookElsewhere(deps, candidatesFor(deps, sale));
  if (elsewhere !== undefined) return delegateTo(asked.acquirerId, elsewhere);
  if (!ready) return giveUp(deps, transaction);
  const submitted = await submitReady(deps, transaction, ready);
  if (submitted) await authorize(deps, submitted, ready);
  return 'done';
}

/** The processor of the sale: only the switch that approved the sale knows it. */
function candidatesFor({ directory }: Pick<RefundDependencies, 'directory'>, { acquirerId, routeId }: Transaction) {
  const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
  return { acquirerId, processorIds: () => (route ? [route.processorId] : []) };
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

/**
 * Finds the same refund if it was stored before. @throws DuplicateReference if the reference belongs to any other
 * transaction
 */
async function findRepeated(
  deps: Pick<TransactionDependencies, 'store'>,
  { acquirerId, merchantId, id }: Transaction,
  reference: string,
  amountMinor: number,
): Promise<Transaction | undefined> {
  const before = await deps.store.findByReference(acquirerId, merchantId, reference);
  if (!before) return undefined;
  const isSame =
    before.type === TransactionType.Refund && before.originalId === id && before.amountMinor === amountMinor;
  if (!isSame) throw new DuplicateReference();
  return before;
}

async function refuseUnlessLeft(
  deps: Pick<TransactionDependencies, 'refunds'>,
  sale: Transaction,
  amountMinor: number,
): Promise<void> {
  await refuseUnlessFree(deps, sale);
  if (amountMinor > leftToRefund(sale)) throw tooMuch();
}

/** Minor units of an approved sale that no refund has returned or reserved. */
export function leftToRefund(sale: Pick<Transaction, 'approvedMinor' | 'amountMinor' | 'refundedMinor'>): number {
  return (sale.approvedMinor ?? sale.amountMinor ?? 0) - sale.refundedMinor;
}

function tooMuch(): RequestRejected {
  return new RequestRejected('REFUND_EXCEEDS_BALANCE');
}

function draftRefund(
  deps: Pick<TransactionDependencies, 'clock' | 'newId'>,
  sale: Transaction,
  request: RefundRequest,
  amountMinor: number,
): Transaction {
  const nowMs = deps.clock.nowMs();
  return {
    ...sale,
    ...NO_SUBMISSION,
    ...NO_RESULT,
    ...WITHOUT_PIN,
    id: deps.newId(),
    merchantReference: request.refundReference,
    correlationId: request.correlationId ?? null,
    type: TransactionType.Refund,
    originalId: sale.id,
    attempt: 1,
    status: Status.RequestReceived,
    amountMinor,
    fingerprint: null,
    chipTags: null,
    sealedCard: null,
    reversalAttempt: 0,
    reversalArmedAtMs: null,
    refundedMinor: 0,
    earlierAttempts: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

async function planRefund(deps: RefundDependencies, sale: Transaction, draft: Transaction): Promise<Plan> {
  const candidates = candidatesFor(deps, sale);
  if (deps.path.kind === 'handover') return handedOver(deps, draft, candidates.processorIds()[0]);
  const handover = deps.path.others?.handover;
  const known = handover && reachedElsewhere(deps, candidates);
  if (known !== undefined) return handedOver(deps, draft, known);
  const ready = await takeSaleSwitch(deps, deps.path.switches, sale, draft);
  if (ready) return submitted(deps, draft, ready);
  const elsewhere = handover && (await lookElsewhere(deps, candidates));
  return elsewhere === undefined ? unableToGoOnline(deps, draft) : handedOver(deps, draft, elsewhere);
}

/** Runs the commit that precedes everything else. If it fails, the resources acquired for it are released. */
async function commit(
  deps: Pick<TransactionDependencies, 'refunds' | 'store'>,
  { attempt, reserves, abandon }: Plan,
): Promise<'inserted' | 'exists' | 'refused'> {
  try {
    if (reserves) return await deps.refunds.reserve(attempt);
    return (await deps.store.insert(attempt)) === 'inserted' ? 'inserted' : 'exists';
  } catch (error) {
    abandon(isUnstored(error));
    throw error; // if the fate of the COMMIT is unknown and the refund was stored, its job decides
  }
}

const ACCEPTED: readonly StatusId[] = [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor];

/** Role `all`: the refund is created and submitted in one commit, then sent to the switch. */
function submitted(deps: AuthorizeDependencies, draft: Transaction, ready: ReadySubmission): Plan {
  const status = Status.SubmittedToPaymentProcessor;
  const transaction: Transaction = { ...draft, ...ready.submission, overdueJob: deps.newId(), status };
  const attempt = newAttempt(deps, NEW, transaction, [...ACCEPTED, status], ready.submission.deadlineSeconds ?? 0);
  const proceed = () => authorize(deps, transaction, ready);
  return { attempt, reserves: true, proceed, abandon: ready.withdraw };
}

/** Role `api`: a worker continues from the rows of the refund and its sale, if possible one with a connection. */
function handedOver(deps: OutcomeDependencies, draft: Transaction, processorId: number | undefined): Plan {
  const status = Status.ReadyToSubmitToPaymentProcessor;
  const transaction: Transaction = { ...draft, overdueJob: deps.newId(), status };
  const planned = newAttempt(deps, NEW, transaction, ACCEPTED, deps.longestDeadlineSeconds(draft.acquirerId));
  const { acquirerId, id, attempt: number } = transaction;
  const data = { acquirerId, id, attempt: number };
  const refundJob = { queue: 'refund', data, ...groupOf(acquirerId, processorId) } as const;
  const attempt: NewAttempt = { ...planned, enqueue: [...planned.enqueue, refundJob] };
  return { attempt, reserves: true, proceed: () => awaitOutcome(deps, transaction), abandon: () => {} };
}

/** No connection accepted the request, so no part of it can have been sent. */
function unableToGoOnline(
  deps: Pick<TransactionDependencies, 'clock' | 'directory' | 'newId'>,
  draft: Transaction,
): Plan {
  const transaction: Transaction = {
    ...draft,
    overdueJob: deps.newId(),
    status: Status.ReadyToSubmitToPaymentProcessor,
    disposition: Disposition.UnableToGoOnline,
    errorCode: ERROR_CODES.unableToGoOnline,
  };
  const planned = newAttempt(deps, NEW, transaction, ACCEPTED, LOCAL_ANSWER_SECONDS);
  const enqueue = [...planned.enqueue, ...webhookJobs(deps, transaction, transaction, deps.clock.nowMs())];
  const attempt: NewAttempt = { ...planned, enqueue };
  return { attempt, reserves: false, proceed: () => Promise.resolve(transaction), abandon: () => {} };
}
