// The texts of the page's language.

export const { texts } = await import(`./texts-${document.documentElement.lang}.js`);

/**
 * A text with its places filled in.
 *
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
