/** Digits in groups, as people and other programs write them. */
const BETWEEN_DIGITS = /(?<=\p{Nd})[^\p{L}\p{Nd}]+(?=\p{Nd})/gu;
/** A card number, perhaps with its expiry date, as a track, or in a sentence. */
const DIGITS = /\p{Nd}{13,}/u;

/**
 * Whether a text may contain a card number, which must not be in an address.
 *
 * @param {string} text
 */
export function mayBeCard(text) {
  return DIGITS.test(text.replace(BETWEEN_DIGITS, ''));
}

/**
 * Separates what an address may contain from what is sent only in the body of one request.
 *
 * @param {Record<string, string>} values
 * @returns {{ named: Record<string, string>, withheld: Record<string, string> }}
 */
export function withholdCards(values) {
  const { true: withheld = [], false: named = [] } = Object.groupBy(
    Object.entries(values),
    ([, value]) => `${mayBeCard(value)}`,
  );
  return { named: Object.fromEntries(named), withheld: Object.fromEntries(withheld) };
}
