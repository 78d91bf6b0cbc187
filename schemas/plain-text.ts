import { z } from 'zod';

/**
 * Any text except control characters (Unicode's Cc). It does not use `\P{Cc}`, because the API document contains this
 * pattern, and some of its readers compile it without the flag that this requires.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are not allowed
const NO_CONTROLS = /^[^\x00-\x1f\x7f-\x9f]*$/;

/**
 * One visible character: neither white space nor one of Unicode's characters for joining, direction and filling.
 * Listed explicitly for the same reason.
 */
const VISIBLE = /[^\s\u00ad\u115f\u1160\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\uffa0]/;

/**
 * Text that every database column, log line and header can hold: no control characters, no lone surrogates, not
 * blank.
 */
export const plainText = (maxChars: number) =>
  plainTextOrNone(maxChars).min(1, { abort: true }).regex(VISIBLE, 'must not be blank');

/** Schema of plain text that may be empty. */
export const plainTextOrNone = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .regex(NO_CONTROLS, 'control characters are not allowed')
    .refine((text) => text.isWellFormed(), 'lone surrogates are not allowed');
