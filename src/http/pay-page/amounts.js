// Amounts and durations as people of the page's language write them.

const language = document.documentElement.lang;

/** The reader's own variant of the language: `en-ZA` and `en-US` separate digits differently. */
const locale = navigator.languages?.find((each) => each.split('-')[0].toLowerCase() === language) ?? language;

/**
 * Decimal text in the reader's notation. The number of decimals stays as the currency defines it.
 *
 * @param {string} amount
 */
export function localAmount(amount) {
  const decimals = amount.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  // At most 12 digits with decimals, which a double represents exactly enough for this many decimals.
  return format.format(Number(amount));
}

/**
 * `1:02:03`, or `02:03` without hours.
 *
 * @param {number} seconds
 */
export function clockText(seconds) {
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const parts = clock[0] > 0 ? clock : clock.slice(1);
  return parts.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}
