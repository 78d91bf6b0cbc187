import type { OriginalData, Outcome, ReversalAnswer } from '../../kits/processor-kit/processor.ts';
import { expirePinStep } from '../decisions/pin-step.ts';
import { reverseJob } from '../decisions/reversal-steps.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import type { LateFacts } from '../model/audit-entry.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import { ReversalState, type Transaction } from '../model/transaction.ts';
import type { LateStep } from '../ports/reversal-ports.ts';
import type { ResponseIdentity } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { type ReversalAnswerDependencies, recordReversalAnswer } from './record-reversal-answer.ts';

/**
 * A response that no request in this process waits for. It arrived after its deadline, after a restart, at another
 * worker than the one that sent the request, or after another response to the same request.
 */
export type UnmatchedResponse = UnmatchedRequestResponse | UnmatchedReversalResponse;

interface UnmatchedRequestResponse extends ResponseIdentity {
  /** The outcome for the request with this kept data; undefined if the message answers another kind of request. */
  readonly read: (original: OriginalData) => Outcome | undefined;
}

/** Its MAC is valid. */
interface UnmatchedReversalResponse extends ResponseIdentity {
  readonly answer: ReversalAnswer;
}

/**
 * `late`: recorded now. `duplicate`: the same response was known before. `unknown`: it answers nothing that may
 * still change.
 */
export type UnmatchedKind = 'late' | 'duplicate' | 'unknown';

type LateResponseDependencies = ReversalAnswerDependencies & Pick<TransactionDependencies, 'vault'>;

/**
 * If the reversal takes a step at every read of the row, other processes work on it and will receive the response
 * again.
 */
export const MOST_TRIES = 3;

/**
 * Records responses that no request waits for, and their effects. A disposition that was reported does not change.
 *
 * @returns the kind of each response, in order
 */
export async function recordUnmatchedResponses(
  deps: LateResponseDependencies,
  unmatchedResponses: readonly UnmatchedResponse[],
): Promise<UnmatchedKind[]> {
  const ofRequests = unmatchedResponses.filter((unmatched) => 'read' in unmatched);
  const ofReversals = unmatchedResponses.filter((unmatched) => 'answer' in unmatched);
  const [requests, reversals] = await Promise.all([
    ofRequests.length > 0 ? deps.store.findAnswered(ofRequests) : [],
    ofReversals.length > 0 ? deps.store.findReversals(ofReversals) : [],
  ]);
  const firsts = new Map<string, Promise<UnmatchedKind>>();
  // A switch that repeats a response a thousand times costs one commit.
  const once = (answer: readonly unknown[], record: () => Promise<UnmatchedKind>): Promise<UnmatchedKind> => {
    const first = firsts.get(answer.join(' '));
    if (first) return first.then((kind) => (kind === 'late' ? 'duplicate' : kind));
    const recording = record();
    firsts.set(answer.join(' '), recording);
    return recording;
  };
  return Promise.all(
    unmatchedResponses.map((unmatched) => {
      if ('answer' in unmatched) {
        const key = reversals[ofReversals.indexOf(unmatched)];
        if (!key) return 'unknown';
        const { id, attempt, sentAtMs } = key;
        return once([id, attempt, sentAtMs, unmatched.answer], () => recordReversalAnswer(deps, key, unmatched.answer));
      }
      const request = requests[ofRequests.indexOf(unmatched)];
      const late = request && readLate(deps, request, unmatched.read);
      if (!late) return 'unknown';
      const { id, attempt } = request;
      return once([id, attempt, late.kind, late.responseCode, late.authorizationCode], () =>
        recordLate(deps, request, late),
      );
    }),
  );
}

/** Records a late response to a request. The request may change meanwhile, or an attempt with a PIN may replace it. */
export async function recordLate(
  deps: ReversalAnswerDependencies,
  found: Transaction,
  late: LateFacts,
): Promise<UnmatchedKind> {
  let request: Transaction | undefined = found;
  for (let tries = 0; request && tries < MOST_TRIES; tries++) {
    if (isAcceptedAnswer(request, late)) return 'duplicate';
    const nowMs = deps.clock.nowMs();
    const rearm = lateStep(deps, request, late, nowMs);
    const isContradiction = contradictsResolution(request, late);
    const outcome = await deps.store.recordLate({ transaction: request, late, rearm, isContradiction, nowMs });
    if (outcome === 'recorded') {
      deps.wakeups.announce(request);
      if (isContradiction && !request.needsReview) deps.alarms.needsReview(request, 'CONTRADICTORY');
      if (rearm?.to.needsReview && !request.needsReview) deps.alarms.needsReview(request, 'APPROVED_AFTER_DECLINE');
      return 'late';
    }
    if (outcome === 'known') return 'duplicate';
    request = await deps.store.findRequest(request);
  }
  return 'unknown';
}

/**
 * Whether a response does not confirm a person's finding in the switch's books. A reversal could now return money that the
 * acquirer has already returned, so nothing is sent, and a person looks again. An approval in part is `unknown`.
 */
function contradictsResolution({ reversalState, disposition }: Transaction, { kind }: LateFacts): boolean {
  const confirming = disposition === Disposition.Approved ? 'approved' : 'declined';
  return reversalState === ReversalState.resolved && kind !== confirming;
}

/** A repeat of the response that decided: it proves nothing new. */
function isAcceptedAnswer(
  { disposition, responseCode, authorizationCode, ...row }: Transaction,
  late: LateFacts,
): boolean {
  if (late.responseCode !== responseCode) return false;
  const wasApproved =
    disposition === Disposition.Approved || (disposition === Disposition.Voided && row.voidState !== null);
  if (wasApproved) return late.kind === 'approved' && late.authorizationCode === (authorizationCode ?? '');
  return late.kind === 'declined' && (disposition === Disposition.Declined || isAwaitingPin(row));
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
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
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
    enqueue: [...next.enqueue, ...webhookJobs(deps, request, outcome, nowMs)],
    remove: pinJob === null ? [] : [{ queue: 'expire-pin', id: pinJob }],
  };
}

/** The outcome that a response reports for the matched request; undefined if it does not answer the request. */
function readLate(
  { vault }: Pick<TransactionDependencies, 'vault'>,
  { id, sealedCard }: Transaction,
  read: (original: OriginalData) => Outcome | undefined,
): LateFacts | undefined {
  let outcome: Outcome | undefined;
  try {
    outcome = sealedCard === null ? undefined : read(vault.open(id, sealedCard).original);
  } catch {
    // The card's key no longer exists, or the processor fails on the response. The other responses of the batch must
    // not suffer.
    return { kind: 'unknown', responseCode: '', authorizationCode: '' };
  }
  return outcome && lateFactsOf(outcome);
}

/**
 * The facts of a late response. If it cannot be read with certainty (a wrong MAC, a code in no table), it may have
 * been an approval and re-arms the reversal like one. Only an approval beyond doubt supplies its DE38.
 */
export function lateFactsOf({ kind, responseCode, authorizationCode = '' }: Outcome): LateFacts {
  if (kind === 'approved') return { kind, responseCode, authorizationCode };
  return { kind: kind === 'unknown' ? 'unknown' : 'declined', responseCode, authorizationCode: '' };
}
