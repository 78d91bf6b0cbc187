const DIGITS = /^\d{13,19}$/;

/**
 * Whether a text may be a card number, which must not be in an address.
 *
 * @param {string} text
 */
export function mayBeCard(text) {
  return DIGITS.test(text.replace(/[ -]/g, ''));
}
