/**
 * Strict Base64 of RFC 4648: only the alphabet, padding where it belongs (none in the URL form), unused bits zero.
 * One value has one spelling, so the same bytes cannot return as a text that looks new.
 */

/** The bytes of canonical Base64 (RFC 4648 4, padded), or undefined for any other text. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** The bytes of canonical base64url (RFC 4648 5, unpadded as in JOSE), or undefined for any other text. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
