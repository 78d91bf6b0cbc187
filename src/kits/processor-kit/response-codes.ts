import type { PinRequiredCode, ReversalCodes } from './profile.ts';

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
