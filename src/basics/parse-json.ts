/**
 * The value, or undefined for text that is not JSON: a schema then refuses it. The message of `JSON.parse` quotes the text around
 * the error, which can be a key.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
