import type { OriginalData, Outcome, ReversalResponse } from '../../kits/processor-kit/processor.ts';
import { expirePinStep } from '../decisions/pin-step.ts';
import { reverseJob } from '../decisions/reversal-steps.ts';
import { type EventPorts, webhookJobs } from '../decisions/webhook-job.ts';
import type { LateFacts } from '../model/decision.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import { ReversalState, type Transaction } from '../model/transaction.ts';
import type { LateStep, RequestKey, ResponseIdentity } from '../ports/store-ports.ts';
import type { CardVault } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { ReversalSteps } from './record-reversal-response.ts';

/**
 * A response that no request in this process waits for. It arrived after its deadline, after a restart, at another
 * worker than the one that sent the request, or after another response to the same request.
 */
export type UnmatchedResponse = UnmatchedRequestResponse | UnmatchedReversalResponse;

interface UnmatchedRequestResponse extends ResponseIdentity {
  /** The outcome for the request with this kept data; undefined if the message belongs to another kind of request. */
  readonly read: (original: OriginalData) => Outcome | undefined;
  /**
   * The request that this process has seen approved lately under the same identity: the response may be a second approval.
   * It can become known after the response was received.
   */
  readonly approved?: RequestKey | undefined;
}

/** A response to a reversal. Its MAC is valid. */
interface UnmatchedReversalResponse extends ResponseIdentity {
  readonly response: ReversalResponse;
}

/**
 * `late`: recorded now. `duplicate`: the same response was known before. `unknown`: it belongs to nothing that may
 * still change.
 */
export type UnmatchedKind = 'late' | 'duplicate' | 'unknown';

/**
 * If the reversal takes a step at every read of the row, other processes work on it and will receive the response
 * again.
 */
const MAX_TRIES = 3;

/** Records responses that no request waits for. */
export class LateResponses {
  readonly #deps: TransactionDependencies;
  readonly #steps: ReversalSteps;

  constructor(deps: TransactionDependencies, steps: ReversalSteps) {
    this.#deps = deps;
    this.#steps = steps;
  }

  /**
   * Records responses that no request waits for, and their effects. A disposition that was reported does not change.
   *
   * @param isLastLookUp whether a response that belongs to nothing is not looked up again
   * @returns the kind of each response, in order
   */
  async recordUnmatched(
    unmatchedResponses: readonly UnmatchedResponse[],
    isLastLookUp = false,
  ): Promise<UnmatchedKind[]> {
    const ofRequests = unmatchedResponses.filter((unmatched) => 'read' in unmatched);
    const ofReversals = unmatchedResponses.filter((unmatched) => 'response' in unmatched);
    const [requests, reversals] = await Promise.all([
      ofRequests.length > 0 ? this.#findRequests(ofRequests, isLastLookUp) : [],
      ofReversals.length > 0 ? this.#deps.store.findReversals(ofReversals) : [],
    ]);
    const firsts = new Map<string, Promise<UnmatchedKind>>();
    // A switch that repeats a response a thousand times costs one commit.
    const once = (response: readonly unknown[], record: () => Promise<UnmatchedKind>): Promise<UnmatchedKind> => {
      const first = firsts.get(response.join(' '));
      if (first) return first.then((kind) => (kind === 'late' ? 'duplicate' : kind));
      const recording = record();
      firsts.set(response.join(' '), recording);
      return recording;
    };
    return Promise.all(
      unmatchedResponses.map((unmatched) => {
        if ('response' in unmatched) {
          const key = reversals[ofReversals.indexOf(unmatched)];
          if (!key) return 'unknown';
          const { id, attempt, sentAtMs } = key;
          return once([id, attempt, sentAtMs, unmatched.response], () =>
            this.#steps.recordResponse(key, unmatched.response),
          );
        }
        const request = requests[ofRequests.indexOf(unmatched)];
        const late = request && readLate(this.#deps.vault, request, unmatched.read);
        if (!late) return 'unknown';
        if (late === 'duplicate') return late;
        const { id, attempt } = request;
        const facts = [late.kind, late.responseCode, late.authorizationCode, late.approvedMinor];
        return once([id, attempt, ...facts], () => this.record(request, late));
      }),
    );
  }

  /**
   * The database looks up identities among requests that may still change. An approved one is known with its id if this
   * process has seen the approval lately; the last look-up searches for it by the time of the request.
   */
  async #findRequests(
    responses: readonly UnmatchedRequestResponse[],
    isLastLookUp: boolean,
  ): Promise<(Transaction | undefined)[]> {
    const { store } = this.#deps;
    const found = await store.findRequestsOfResponses(responses);
    const known = new Map<string, Promise<Transaction | undefined>>();
    const findKnown = (key: RequestKey): Promise<Transaction | undefined> => {
      const name = `${key.id} ${key.attempt}`;
      if (!known.has(name)) known.set(name, store.findRequest(key));
      return known.get(name)!;
    };
    const requests = await Promise.all(
      responses.map(({ approved }, n) => found[n] ?? (approved && findKnown(approved))),
    );
    const missing = isLastLookUp ? responses.filter((_, n) => requests[n] === undefined) : [];
    if (missing.length === 0) return requests;
    const searched = await store.findApproved(missing);
    return requests.map((request, n) => request ?? searched[missing.indexOf(responses[n]!)]);
  }

  /** Records a late response to a request. The request may change meanwhile, or an attempt with a PIN may replace it. */
  async record(found: Transaction, late: LateFacts): Promise<UnmatchedKind> {
    let request: Transaction | undefined = found;
    for (let tries = 0; request && tries < MAX_TRIES; tries++) {
      if (isAcceptedResponse(request, late)) return 'duplicate';
      if (isUndecided(request)) return 'unknown'; // looked up again when its outcome is committed
      const isSecond = await this.#isSecondBooking(request, late);
      const nowMs = this.#deps.clock.nowMs();
      const rearm = lateStep(this.#deps, request, late, nowMs);
      const isContradiction = isSecond || isDisputed(request, late) || contradictsResolution(request, late);
      const record = { transaction: request, late, rearm, isContradiction, nowMs };
      const outcome = await this.#deps.observer.commit('recordLate', record, () => this.#deps.store.recordLate(record));
      if (outcome === 'recorded') {
        this.#deps.wakeups.announce(request);
        if (isContradiction && !request.needsReview) this.#deps.alarms.needsReview(request, 'CONTRADICTORY');
        if (rearm?.to.needsReview && !request.needsReview)
          this.#deps.alarms.needsReview(request, 'APPROVED_AFTER_DECLINE');
        return 'late';
      }
      if (outcome === 'known') return 'duplicate';
      request = await this.#deps.store.findRequest(request);
    }
    return 'unknown';
  }

  /**
   * Whether a response approves with another DE38 than an approval before it: the switch has booked the request twice. Or
   * with another amount than the accepted approval: it is not known which of the two was booked. A reversal names its
   * original by DE11, DE7, DE37 or DE90, which both bookings share, in every dialect that Tapwire has. It could cancel the
   * booking that stands, or both. So none is sent for the second booking, and a person must look.
   */
  async #isSecondBooking(
    request: Transaction,
    { kind, authorizationCode, approvedMinor }: LateFacts,
  ): Promise<boolean> {
    const { store } = this.#deps;
    if (kind !== 'approved') return false;
    if (wasApproved(request))
      return authorizationCode !== (request.authorizationCode ?? '') || approvedMinor !== request.approvedMinor;
    const { lateAuthorizationCode } = await store.findOriginalFacts(request);
    return lateAuthorizationCode !== null && lateAuthorizationCode !== authorizationCode;
  }
}

/**
 * Whether a response does not confirm a person's finding in the switch's books. A reversal could now return money that the
 * acquirer has already returned, so nothing is sent, and a person looks again. An approval in part is `unknown`.
 */
function contradictsResolution({ reversalState, disposition }: Transaction, { kind }: LateFacts): boolean {
  const confirming = disposition === Disposition.Approved ? 'approved' : 'declined';
  return reversalState === ReversalState.resolved && kind !== confirming;
}

/** Whether the outcome of a request is still being committed. Nothing is known yet that the response could add to. */
function isUndecided(request: Transaction): boolean {
  return request.disposition === null && !isAwaitingPin(request);
}

/**
 * Whether a response declines what the switch has approved, as one that approved for the issuer does if the issuer then
 * declines. Perhaps nothing is booked: a refund of the sale would return money that was never taken, and the customer of a
 * refund does not get it. A response that cannot be compared with its request may say so, or be a second approval. Of a sale
 * that the switch has voided, nothing remains booked in either case.
 */
function isDisputed({ disposition }: Transaction, late: LateFacts): boolean {
  return disposition === Disposition.Approved && (late.kind === 'declined' || isUnreadable(late));
}

const UNREADABLE: LateFacts = { kind: 'unknown', responseCode: '', authorizationCode: '' };

function isUnreadable({ kind, responseCode }: LateFacts): boolean {
  return kind === UNREADABLE.kind && responseCode === UNREADABLE.responseCode;
}

function wasApproved({ disposition, voidState }: Transaction): boolean {
  return disposition === Disposition.Approved || (disposition === Disposition.Voided && voidState !== null);
}

/** A repeat of the response that decided: it proves nothing new. */
function isAcceptedResponse(request: Transaction, late: LateFacts): boolean {
  if (late.responseCode !== request.responseCode) return false;
  if (wasApproved(request))
    return (
      late.kind === 'approved' &&
      late.authorizationCode === (request.authorizationCode ?? '') &&
      late.approvedMinor === request.approvedMinor
    );
  return late.kind === 'declined' && (request.disposition === Disposition.Declined || isAwaitingPin(request));
}

/**
 * The effect of a late response on its request; undefined if it changes nothing.
 *
 * A response requires a reversal if it approves, or if it cannot be read with certainty and may have approved. If
 * the request was declined, this is the first reversal. If an attempt of its reversal was already sent, the reversal
 * starts again. If a PIN is awaited, the wait ends, because an attempt with a PIN could take the money a second
 * time. A decline that money may have followed needs review.
 */
export function lateStep(
  ports: EventPorts,
  request: Transaction,
  late: LateFacts,
  nowMs: number,
): LateStep | undefined {
  const { reversalState, reversalAttempt, disposition, needsReview, pinState, pinJob } = request;
  if (late.kind === 'declined' || reversalState === ReversalState.resolved) return undefined;
  const next = { enqueue: [reverseJob(request, reversalAttempt + 1)], remove: [] };
  const to = { disposition, needsReview, pinState, pinJob };
  if (reversalState !== ReversalState.none) {
    if (reversalAttempt === 0 || reversalState === ReversalState.owed) return undefined;
    return { ...next, to, auditEntries: [{ reversal: 'owed', attempt: reversalAttempt }] };
  }
  if (disposition === Disposition.Declined) return { ...next, to: { ...to, needsReview: true }, auditEntries: [] };
  if (!isAwaitingPin(request)) return undefined;
  const outcome = { disposition: Disposition.Declined, approvedMinor: null };
  return {
    to: { ...expirePinStep(request), disposition: Disposition.Declined, needsReview: true },
    auditEntries: [{ pin: 'expired' }],
    enqueue: [...next.enqueue, ...webhookJobs(ports, request, outcome, nowMs)],
    remove: pinJob === null ? [] : [{ queue: 'expire-pin', id: pinJob }],
  };
}

/**
 * The outcome that a response reports for the matched request; undefined if it does not belong to the request.
 * `duplicate`: it says that the switch had the request before, and the approval of the request is known.
 */
function readLate(
  vault: CardVault,
  request: Transaction,
  read: (original: OriginalData) => Outcome | undefined,
): LateFacts | 'duplicate' | undefined {
  const { id, sealedCard } = request;
  if (sealedCard === null) return UNREADABLE; // erased at the end of its retention
  let outcome: Outcome | undefined;
  try {
    outcome = read(vault.open(id, sealedCard).original);
  } catch {
    // The card's key no longer exists, or the processor fails on the response. The other responses of the batch must
    // not suffer.
    return UNREADABLE;
  }
  if (outcome?.kind === 'declined' && outcome.needsReview && wasApproved(request)) return 'duplicate';
  return outcome && lateFactsOf(outcome);
}

/**
 * The facts of a late response. If it cannot be read with certainty (a wrong MAC, a code in no table), it may have
 * been an approval and re-arms the reversal like one. Only an approval beyond doubt supplies its DE38.
 */
export function lateFactsOf(outcome: Outcome): LateFacts {
  const { kind, responseCode, authorizationCode = '' } = outcome;
  if (kind === 'approved') return { kind, responseCode, authorizationCode, approvedMinor: outcome.approvedMinor };
  return { kind: kind === 'unknown' ? 'unknown' : 'declined', responseCode, authorizationCode: '' };
}
