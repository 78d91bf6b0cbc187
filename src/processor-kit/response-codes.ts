import type { PinRequiredCode } from './profile.ts';

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
