import type { Outcome, OutcomeFacts, ReversalResponse } from './processor.ts';
import {
  meaningOf,
  type PinRequiredCode,
  type ResponseCodes,
  type ReversalCodes,
  type ReversalProfile,
} from './profile.ts';

/**
 * The codes of ISO 8583:1987 (A.8) that decline, as listed in 7.5 of the interface: the issuer has decided, or the switch has
 * refused the request before it passed it on (12, 30, 31, 40, 90 to 93). Left out are those that leave the outcome unknown
 * ({@link UNCERTAIN_CODES}), 94, because the switch took the message for an earlier one, and those with which one scheme
 * requests a PIN (70, 1A), because they are in no table for the cards of other schemes.
 */
const DECLINES: readonly string[] = [
  ...['01', '02', '03', '04', '05', '07', '12', '13', '14', '15', '17', '18', '21', '23', '24', '25', '26', '27', '30'],
  ...['31', '33', '34', '35', '36', '37', '38', '39', '40', '41', '42', '43', '44', '51', '52', '53', '54', '56', '57'],
  ...['58', '59', '60', '61', '62', '63', '64', '65', '66', '67', '75', '90', '91', '92', '93'],
];

/**
 * Codes of ISO 8583:1987 (A.8) with which a switch reports that something failed, not that nothing was booked: it may send
 * them although it has carried out the request. So they are in no table for sales and refunds, and both are reversed. A
 * type may list one as a decline only if the specification of its switch states that nothing was booked.
 */
export const UNCERTAIN_CODES: readonly string[] = [
  '06', // error
  '09', // request in progress
  '19', // re-enter transaction
  '20', // invalid response
  '22', // suspected malfunction
  '28', // file temporarily unavailable
  '29', // file update not successful
  '32', // completed partially
  '68', // response received too late
  '95', // reconcile error
  '96', // system malfunction
];

/** The codes of ISO 8583:1987 that decline, except those to which this switch gives another meaning. */
export function declineCodes(...except: readonly string[]): readonly string[] {
  return DECLINES.filter((code) => !except.includes(code));
}

/**
 * Codes of ISO 8583:1987 (A.8) that decide nothing about a reversal: the switch or the issuer has a fault, and may decide
 * otherwise a moment later. A switch that refused the reversal before it passed it on has not reversed anything yet.
 */
export const TROUBLE_CODES: readonly string[] = [
  ...UNCERTAIN_CODES,
  '63', // security violation: MAC keys may disagree
  '90', // cut-off is in process
  '91', // issuer or switch is inoperative
  '92', // destination cannot be found for routing
];

/**
 * Codes of ISO 8583:1987 (A.8) with which a switch refuses a reversal that it has understood. Other declines (01 "refer
 * to issuer", 51 "not sufficient funds") are no meaningful response to a reversal and are left out: they decide
 * nothing.
 */
const FINAL_REFUSALS: readonly string[] = [
  '03', // invalid merchant
  '05', // do not honour
  '12', // invalid transaction
  '13', // invalid amount
  '14', // invalid card number
  '15', // no such issuer
  '30', // format error
  '31', // bank not supported by switch
  '40', // requested function not supported
  '56', // no card record
  '57', // transaction not permitted to cardholder
  '58', // transaction not permitted to terminal
  '62', // restricted card
  '93', // transaction cannot be completed: violation of law
];

/**
 * Responses to a reversal with the codes of ISO 8583:1987; a type changes those to which its switch gives another
 * meaning.
 */
export const REVERSAL_CODES: ReversalCodes = {
  acknowledged: ['00'],
  unableToLocate: ['21', '25'], // no action taken; unable to locate record on file
  duplicate: ['94'], // duplicate transmission
  refused: FINAL_REFUSALS,
  undecided: TROUBLE_CODES,
};

/** How the schemes request a PIN after a tap; 55 requests it again. */
export const PIN_REQUIRED_CODES: readonly PinRequiredCode[] = [
  { code: '70', scheme: 'Visa' },
  { code: '65', scheme: 'Mastercard', needs: 'singleTapFlag' },
  { code: '65', scheme: 'Maestro', needs: 'singleTapFlag' },
  { code: '1A', scheme: 'Amex', needs: 'authentication' },
  { code: '55' },
];

/** The code that requests a PIN for a card of the scheme; sent by a simulated switch. */
export function pinRequestCode(codes: readonly PinRequiredCode[], scheme: string): string {
  return (
    codes.find((row) => row.scheme === scheme)?.code ?? codes.find((row) => row.scheme === undefined)?.code ?? '55'
  );
}

/**
 * The action codes of ISO 8583:1993 (annex A.1), each with the code of 7.5 of the interface that has its meaning: this
 * is what a phone sees. If several action codes have one meaning, a simulated switch responds with the first.
 *
 * Codes that cannot be in a response to an authorization are left out: 400 (reversal accepted), 500 to 504
 * (reconciliation), 600, 700 and 800 (network message accepted), 900 and 901 (advice acknowledged). They are no
 * approval of a sale.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  '000': '00', // approved
  '001': '08', // honour with identification
  '002': '10', // approved for a partial amount
  '003': '11', // approved (VIP)
  '004': '16', // approved, update track 3
  '005': '00', // approved, account type specified by the card issuer
  '006': '10', // approved for a partial amount, account type specified by the card issuer
  '007': '00', // approved, update the chip
  100: '05', // do not honour
  101: '54', // expired card
  102: '59', // suspected fraud
  103: '60', // card acceptor contact acquirer
  104: '62', // restricted card
  105: '66', // card acceptor call acquirer's security department
  106: '75', // allowable PIN tries exceeded
  107: '01', // refer to card issuer
  108: '02', // refer to card issuer's special conditions
  109: '03', // invalid merchant
  110: '13', // invalid amount
  111: '14', // invalid card number
  112: '70', // PIN data required: the schemes' code with the same meaning
  113: '23', // unacceptable fee
  114: '42', // no account of the type requested
  115: '40', // requested function not supported
  116: '51', // not sufficient funds
  117: '55', // incorrect PIN
  118: '56', // no card record
  119: '57', // transaction not permitted to cardholder
  120: '58', // transaction not permitted to terminal
  121: '61', // exceeds withdrawal amount limit
  122: '63', // security violation
  123: '65', // exceeds withdrawal frequency limit
  124: '93', // violation of law
  125: '62', // card not effective
  126: '63', // invalid PIN block
  127: '55', // PIN length error
  128: '63', // PIN key synchronization error
  129: '59', // suspected counterfeit card
  200: '04', // pick up, without comment
  201: '33', // pick up, expired card
  202: '34', // pick up, suspected fraud
  203: '35', // pick up, card acceptor contact acquirer
  204: '36', // pick up, restricted card
  205: '37', // pick up, card acceptor call acquirer's security department
  206: '38', // pick up, allowable PIN tries exceeded
  207: '07', // pick up, special conditions
  208: '41', // pick up, lost card
  209: '43', // pick up, stolen card
  210: '34', // pick up, suspected counterfeit card
  902: '12', // invalid transaction
  903: '19', // re-enter transaction
  904: '30', // format error
  905: '31', // acquirer not supported by switch
  906: '90', // cut-over in process
  907: '91', // card issuer or switch inoperative
  908: '92', // destination cannot be found for routing
  909: '96', // system malfunction
  910: '91', // card issuer signed off
  911: '68', // card issuer timed out
  912: '91', // card issuer unavailable
  913: '94', // duplicate transmission
  914: '25', // not able to trace back to the original transaction
  915: '95', // reconciliation cut-over or checkpoint error
  916: '63', // MAC incorrect
  917: '63', // MAC key synchronization error
  918: '63', // no communication keys available for use
  919: '63', // encryption key synchronization error
  920: '96', // security software or hardware error, try again
  921: '96', // security software or hardware error, no action
  922: '22', // message number out of sequence
  923: '09', // request in progress
  950: '58', // violation of a business arrangement
};

/**
 * Action codes of the 900 series that state that no issuer has approved the request. With most of them the switch refuses
 * it before it passes it on. 907, 910 and 912 state that no issuer could be asked, as 91 does in ISO 8583:1987. The other
 * codes of the series leave the issuer's action unknown: 911 if the issuer was asked and did not respond in time, 909 if
 * the switch failed at any point.
 *
 * An approval that follows one of these codes is reversed (reversals/late-responses.ts), so a switch that uses them
 * otherwise loses no money.
 */
const NOT_APPROVED = ['902', '904', '905', '906', '907', '908', '910', '912', '914', '916', '917', '919', '950'];

const DECLINES_1993 = Object.keys(MEANINGS).filter(
  (code) => (/^[12]/.test(code) && code !== '112' && code !== '117') || NOT_APPROVED.includes(code),
);

/** 112 is "PIN data required"; 117, "incorrect PIN", requests it again. */
const PIN_REQUIRED: readonly PinRequiredCode[] = [{ code: '112' }, { code: '117' }];

/** Responses to an authorization or a financial request. A type changes those to which its switch gives another meaning. */
export const ACTION_CODES_1993: ResponseCodes = {
  approved: ['000', '001', '003', '004', '005', '007'],
  partial: ['002', '006'],
  declined: DECLINES_1993,
  review: ['913'],
  pinRequired: PIN_REQUIRED,
  meanings: MEANINGS,
};

/** Responses to a reversal. Only 400 acknowledges: 000 approves a sale, so here it decides nothing. */
export const REVERSAL_CODES_1993: ReversalCodes = {
  acknowledged: ['400'],
  unableToLocate: ['914'],
  duplicate: ['913'],
  refused: ['100', '104', '109', '110', '111', '115', '118', '119', '120', '124', '902', '904', '905'],
  undecided: [
    ...['903', '906', '907', '908', '909', '910', '911', '912', '915', '916', '917', '918', '919', '920', '921', '922'],
    '923',
  ],
};

/** Accepted, by the class of the request. */
const ACCEPTED: Readonly<Record<string, string>> = { 4: '400', 8: '800' };

/** A code that the standard does not assign, and that is in no table. */
const UNASSIGNED = '999';

const CODE_BY_MEANING: ReadonlyMap<string, string> = new Map(
  Object.entries(MEANINGS)
    .map(([code, meaning]) => [meaning, code] as const)
    .reverse(),
);

/**
 * The action code that responds to a request with the meaning of a code of 7.5, which scenarios use: 00 is 400 in the
 * response to a reversal. A code without a counterpart becomes one that is in no table.
 */
export function actionCode1993(responseCode: string, requestMti: string): string {
  const accepted = responseCode === '00' ? ACCEPTED[requestMti.charAt(1)] : undefined;
  return accepted ?? CODE_BY_MEANING.get(responseCode) ?? UNASSIGNED;
}

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
