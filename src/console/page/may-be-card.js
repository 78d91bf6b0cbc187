/** Digits in groups, as people and other programs write them. The gateway reads a card number with the same signs. */
const BETWEEN_DIGITS = /(?<=\d)[\p{Z}\p{P}]+(?=\d)/gu;
/** A card number, perhaps with its expiry date, as a track, or in a sentence. */
const DIGITS = /\d{13,}/;

/**
 * Whether a text may contain a card number, which must not be in an address.
 *
 * @param {string} text
 */
export function mayBeCard(text) {
  return DIGITS.test(text.replace(BETWEEN_DIGITS, ''));
}
