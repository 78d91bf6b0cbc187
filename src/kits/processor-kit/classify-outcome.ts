import type { Outcome, OutcomeFacts, ReversalResponse } from './processor.ts';
import { meaningOf, type PinRequiredCode, type ResponseCodes, type ReversalProfile } from './profile.ts';

/**
 * DE48 as a sequence of subelements, each with a two-digit number and a two-digit length (Mastercard's layout, which
 * many switches keep).
 */
const SINGLE_TAP_SUBELEMENT = '22';
const SINGLE_TAP_SUBFIELD = '04';
const PIN_WANTED = '1';

/** More than a DE48 of 999 characters can contain, even if all subelements are empty. */
const MAX_SUBELEMENTS = 256;

/**
 * Whether the issuer requests a PIN after a tap: subelement 22, subfield 04, value 1. Without this flag, response code
 * 65 is "exceeds frequency limit". False if the text is not a sequence of subelements.
 */
export function singleTapFlag(additionalData: string): boolean {
  const subelement = findSubelement(additionalData, SINGLE_TAP_SUBELEMENT);
  return subelement !== undefined && findSubelement(subelement, SINGLE_TAP_SUBFIELD) === PIN_WANTED;
}

/** DE48 with that flag alone. */
export function singleTapData(): string {
  const subfield = `${SINGLE_TAP_SUBFIELD}01${PIN_WANTED}`;
  return `${SINGLE_TAP_SUBELEMENT}${String(subfield.length).padStart(2, '0')}${subfield}`;
}

/**
 * Whether issuer authentication data (tag 91, hex) end in response code 13, with which Amex requests a PIN: as packed
 * digits or in ASCII.
 */
export function authenticationAsksForPin(issuerAuthenticationData: string): boolean {
  return issuerAuthenticationData.endsWith('13') || issuerAuthenticationData.endsWith('3133');
}

function findSubelement(text: string, wanted: string): string | undefined {
  let at = 0;
  for (let count = 0; count < MAX_SUBELEMENTS && at + 4 <= text.length; count++) {
    const lengthCharacters = Number(text.slice(at + 2, at + 4));
    const end = at + 4 + lengthCharacters;
    if (!Number.isInteger(lengthCharacters) || end > text.length) return undefined;
    if (text.startsWith(wanted, at)) return text.slice(at + 4, end);
    at = end;
  }
  return undefined;
}

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
 * @example
 * const outcome = classifyOutcome(profile.codes, { responseCode: '00', cardTags: [] }, context);
 * outcome.kind; // 'approved', if `00` is one of `profile.codes.approved`
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

const REVERSAL_RESPONSES = ['acknowledged', 'unableToLocate', 'duplicate', 'refused'] as const;

/** The meaning of DE39 in the response to a reversal. A code in no table decides nothing: the reversal is repeated. */
export function classifyReversalResponse({ codes }: ReversalProfile, responseCode: string): ReversalResponse {
  return REVERSAL_RESPONSES.find((response) => codes[response].includes(responseCode)) ?? 'undecided';
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
