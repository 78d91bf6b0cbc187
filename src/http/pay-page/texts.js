// The texts of the page's language.

export const { texts } = await import(`./texts-${document.documentElement.lang}.js`);

/** A text with its places filled in. */
export function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
