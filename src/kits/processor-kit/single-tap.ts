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
