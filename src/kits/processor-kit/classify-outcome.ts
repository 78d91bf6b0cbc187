import type { Outcome, OutcomeFacts, ReversalAnswer } from './outcome.ts';
import { meaningOf, type PinRequiredCode, type ResponseCodes, type ReversalProfile } from './profile.ts';
import { authenticationAsksForPin } from './single-tap.ts';

/** The facts that decide in addition to the response code. */
export interface OutcomeContext {
  readonly requestedMinor: number;
  /** DE4 of the response; undefined if it is missing or not a number. */
  readonly respondedMinor: number | undefined;
  /** Whether the request allowed approval of a smaller amount (DE25 41). */
  readonly partialAllowed: boolean;
  readonly scheme: string;
  /** Whether the issuer has set the single-tap flag: see `singleTapFlag`. */
  readonly singleTapFlag: boolean;
  /** Tag 91 of the response as hex; empty if missing. */
  readonly issuerAuthenticationData: string;
}

/**
 * The meaning of DE39 in the tables of a profile. A code in no table is unknown, never a guess: it is reversed. An
 * acquirer who knows its meaning adds it to the table.
 *
 * @param received with DE39 as the switch sent it; the outcome has the code of 7.5 instead
 */
export function classifyOutcome(codes: ResponseCodes, received: OutcomeFacts, context: OutcomeContext): Outcome {
  const code = received.responseCode;
  const facts = codes.meanings ? { ...received, responseCode: meaningOf(codes, code) } : received;
  if (codes.approved.includes(code)) return { ...facts, kind: 'approved', approvedMinor: context.requestedMinor };
  if (codes.partial.includes(code)) return partialApproval(facts, context);
  if (codes.pinRequired.some((row) => asksForPin(row, code, context))) return { ...facts, kind: 'pinRequired' };
  if (codes.review.includes(code)) return { ...facts, kind: 'declined', needsReview: true };
  if (codes.declined.includes(code)) return { ...facts, kind: 'declined' };
  return { ...facts, kind: 'unknown', why: code === '' ? 'no response code' : 'response code in no table' };
}

const REVERSAL_ANSWERS = ['acknowledged', 'unableToLocate', 'duplicate', 'refused'] as const;

/** The meaning of DE39 in the response to a reversal. A code in no table decides nothing: the reversal is repeated. */
export function classifyReversalAnswer({ codes }: ReversalProfile, responseCode: string): ReversalAnswer {
  return REVERSAL_ANSWERS.find((answer) => codes[answer].includes(responseCode)) ?? 'undecided';
}

/** Whether an outcome with this code of 7.5 lets the switch set DE4. */
export function isPartialApproval(codes: ResponseCodes, responseCode: string): boolean {
  return codes.partial.some((code) => meaningOf(codes, code) === responseCode);
}

function partialApproval(facts: OutcomeFacts, context: OutcomeContext): Outcome {
  const approvedMinor = context.respondedMinor;
  if (!context.partialAllowed) return { ...facts, kind: 'unknown', why: 'partial approval was not allowed' };
  if (approvedMinor === undefined || !(approvedMinor > 0 && approvedMinor <= context.requestedMinor)) {
    return { ...facts, kind: 'unknown', why: 'partial approval without a usable amount' };
  }
  return { ...facts, kind: 'approved', approvedMinor };
}

function asksForPin(row: PinRequiredCode, code: string, context: OutcomeContext): boolean {
  if (row.code !== code) return false;
  if (row.scheme !== undefined && row.scheme !== context.scheme) return false;
  switch (row.needs) {
    case 'singleTapFlag':
      return context.singleTapFlag;
    case 'authentication':
      return authenticationAsksForPin(context.issuerAuthenticationData);
    default:
      return true;
  }
}
