/** For all pools of the process: a connection must not see the same name with another text. */
const names = new Map<string, string>();

/**
 * A statement under a name of its own, so that each connection parses it once, and plans it once if it has no values.
 * For texts of which there are few, because every connection keeps each of them.
 */
export function namedStatement(text: string): { readonly name: string; readonly text: string } {
  let name = names.get(text);
  if (name === undefined) {
    name = `statement-${names.size}`;
    names.set(text, name);
  }
  return { name, text };
}
