import type { PinRequiredCode, ReversalCodes } from './profile.ts';

/**
 * The codes of ISO 8583:1987 (A.8) that decline: those of 7.5 of the interface. 09, 32 and 68 are left out on purpose, because
 * after them the outcome is not known. So is 94, whose sender has taken the message for an earlier one. The codes by which
 * one scheme asks for a PIN (70, 1A) are not among them: for the cards of any other scheme they are in no table.
 */
const DECLINES: readonly string[] = [
  ...['01', '02', '03', '04', '05', '06', '07', '12', '13', '14', '15', '17', '18', '19', '20', '21', '22', '23', '24'],
  ...['25', '26', '27', '28', '29', '30', '31', '33', '34', '35', '36', '37', '38', '39', '40', '41', '42', '43', '44'],
  ...['51', '52', '53', '54', '56', '57', '58', '59', '60', '61', '62', '63', '64', '65', '66', '67', '75', '90'],
  ...['91', '92', '93', '95', '96'],
];

/** Those of ISO 8583:1987 that decline, without the ones that this switch means otherwise. */
export function declineCodes(...except: readonly string[]): readonly string[] {
  return DECLINES.filter((code) => !except.includes(code));
}

/**
 * Codes of ISO 8583:1987 (A.8) that report trouble of the switch or the issuer, not a decision about the message. A switch may
 * send them although it has done what was asked, and may decide otherwise a moment later.
 */
export const TROUBLE_CODES: readonly string[] = [
  '06', // error
  '09', // request in progress
  '19', // re-enter transaction
  '20', // invalid response
  '22', // suspected malfunction
  '28', // file temporarily unavailable
  '29', // file update not successful
  '32', // completed partially
  '63', // security violation: MAC keys may disagree
  '68', // response received too late
  '90', // cut-off is in process
  '91', // issuer or switch is inoperative
  '92', // destination cannot be found for routing
  '95', // reconcile error
  '96', // system malfunction
];

/**
 * Codes of ISO 8583:1987 (A.8) by which a switch says that it understood a reversal and will not do it. Other declines (01
 * "refer to issuer", 51 "not sufficient funds") make no sense as the answer to a reversal and are left out: they decide nothing.
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

/** Answers to a reversal by the codes of ISO 8583:1987; a type changes what its switch means otherwise. */
export const REVERSAL_CODES: ReversalCodes = {
  acknowledged: ['00'],
  unableToLocate: ['21', '25'], // no action taken; unable to locate record on file
  duplicate: ['94'], // duplicate transmission
  refused: FINAL_REFUSALS,
  undecided: TROUBLE_CODES,
};

/** How the schemes ask for a PIN after a tap, and 55, which asks again. */
export const PIN_REQUIRED_CODES: readonly PinRequiredCode[] = [
  { code: '70', scheme: 'Visa' },
  { code: '65', scheme: 'Mastercard', needs: 'singleTapFlag' },
  { code: '65', scheme: 'Maestro', needs: 'singleTapFlag' },
  { code: '1A', scheme: 'Amex', needs: 'authentication' },
  { code: '55' },
];

/** The code by which a card of the scheme asks for a PIN: what a simulated switch answers. */
export function pinRequestCode(codes: readonly PinRequiredCode[], scheme: string): string {
  return (
    codes.find((row) => row.scheme === scheme)?.code ?? codes.find((row) => row.scheme === undefined)?.code ?? '55'
  );
}
