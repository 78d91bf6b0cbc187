import { transmissionDateTime } from '../../src/kits/processor-kit/field-values.ts';
import type { ReversalResponse } from '../../src/kits/processor-kit/processor.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { isAwaitingPin } from '../../src/payments/model/pin.ts';
import { ReversalState, type Transaction } from '../../src/payments/model/transaction.ts';
import type { OriginalFacts, ResponseIdentity, ReversalKey } from '../../src/payments/ports/store-ports.ts';
import type { Row } from './memory-rows.ts';

/** The reads of src/store/transactions/find-requests.ts and late-responses.ts, on a Map. */

type Rows = ReadonlyMap<string, Row>;

export function factsOf({ deadlineAtMs, ...row }: Row, request: Transaction, nowMs: number): OriginalFacts {
  const isOfAttempt = ({ attempt }: { readonly attempt: number }) => attempt === request.attempt;
  const late = row.late.filter(isOfAttempt).map(({ facts }) => facts);
  const approved = late.find(({ kind }) => kind === 'approved');
  const attempts = row.reversals.filter(isOfAttempt);
  const openUntilMs = attempts.filter(({ response }) => response === null).map((each) => each.deadlineAtMs);
  return {
    sinceDeadlineSeconds: (nowMs - (deadlineAtMs ?? 0)) / 1_000,
    hasResponse: request.responseCode !== null || late.some(({ responseCode }) => responseCode !== ''),
    wasApprovedLate: approved !== undefined,
    lateAuthorizationCode: approved?.authorizationCode || null,
    completingSeconds: Math.max(0, (row.completingUntilMs ?? 0) - nowMs) / 1_000,
    attempts,
    underWaySeconds: Math.max(0, Math.max(...openUntilMs) - nowMs) / 1_000,
    sinceAcknowledgementSeconds: sinceAcknowledgement(attempts, nowMs),
  };
}

const ACKNOWLEDGEMENTS: readonly (ReversalResponse | null)[] = ['acknowledged', 'duplicate', 'unableToLocate'];

function sinceAcknowledgement(attempts: Row['reversals'], nowMs: number): number | null {
  const doubted = attempts.filter(
    ({ response, counts, confirms }) => ACKNOWLEDGEMENTS.includes(response) && counts && !confirms,
  );
  return doubted.length === 0 ? null : (nowMs - Math.max(...doubted.map((each) => each.respondedAtMs ?? 0))) / 1_000;
}

export function findRequestsOfResponses(
  rows: Rows,
  responses: readonly ResponseIdentity[],
): (Transaction | undefined)[] {
  const requests = [...rows.values()].flatMap(({ transaction, superseded }) => [transaction, ...superseded]);
  const openRequests = requests.filter((request) => {
    const isUncertain = request.reversalState !== ReversalState.none;
    return isUncertain || request.disposition === Disposition.Declined || isAwaitingPin(request) || request.attempt > 1;
  });
  return namedBy(openRequests, responses);
}

/** What the last look-up finds. */
export function findApproved(rows: Rows, responses: readonly ResponseIdentity[]): (Transaction | undefined)[] {
  const requests = [...rows.values()].map(({ transaction }) => transaction);
  return namedBy(
    requests.filter(({ disposition }) => disposition === Disposition.Approved),
    responses,
  );
}

function namedBy(
  requests: readonly Transaction[],
  responses: readonly ResponseIdentity[],
): (Transaction | undefined)[] {
  return responses.map(({ acquirerId, stan, rrn, tid, transmissionDateTime: sent }) =>
    requests.find((each) => {
      const isNamed = each.rrn === rrn || transmissionDateTime(each.sentAtMs ?? 0) === sent;
      return isNamed && each.acquirerId === acquirerId && each.stan === stan && each.tid === tid;
    }),
  );
}

export function findReversals(rows: Rows, responses: readonly ResponseIdentity[]): (ReversalKey | undefined)[] {
  return responses.map((response) => {
    const found = [...rows.values()].flatMap((row) => reversalsOfResponse(row, response));
    return found.toSorted((one, other) => other.sentAtMs - one.sentAtMs)[0];
  });
}

function reversalsOfResponse({ transaction, superseded, reversals }: Row, response: ResponseIdentity): ReversalKey[] {
  const { acquirerId, stan, tid, rrn, transmissionDateTime: sent } = response;
  return [transaction, ...superseded].flatMap((original) => {
    if (original.acquirerId !== acquirerId || original.tid !== tid) return [];
    const { id, attempt } = original;
    const named = reversals.filter((each) => {
      if (each.attempt !== attempt || each.stan !== stan) return false;
      if (sent !== undefined) return transmissionDateTime(each.sentAtMs) === sent;
      return original.rrn === rrn && original.stan !== stan;
    });
    return named.map(({ sentAtMs }) => ({ acquirerId, id, attempt, sentAtMs }));
  });
}

/** Whether money would move that depends on an amount in review: of the same sale, or of the same link. */
export function dependsOnReview(rows: Rows, { disposition, originalId, consumerId }: Transaction): boolean {
  if (disposition !== null) return false; // nothing is sent
  return [...rows.values()].some(({ transaction: each }) => {
    const isOfSale = originalId !== null && (each.id === originalId || each.originalId === originalId);
    const isOfLink = originalId === null && consumerId !== null && each.consumerId === consumerId;
    return each.needsReview && (isOfSale || (isOfLink && each.originalId === null));
  });
}
