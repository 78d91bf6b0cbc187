import { z } from 'zod';

/**
 * Any text but controls (Unicode's Cc). Without `\P{Cc}`: the API description has this pattern, too, and not all who read it
 * compile it with the flag that this needs.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are not allowed
const NO_CONTROLS = /^[^\x00-\x1f\x7f-\x9f]*$/;

/**
 * One character that shows: neither white space nor one of the characters that Unicode has for joining, direction and
 * fillers. Written out for the same reason.
 */
const VISIBLE = /[^\s\u00ad\u115f\u1160\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\uffa0]/;

/** Text that every database column, log line and header can carry: no control characters, no lone surrogates, not blank. */
export const plainText = (maxChars: number) =>
  plainTextOrNone(maxChars).min(1, { abort: true }).regex(VISIBLE, 'must not be blank');

/** As `plainText`, or empty. */
export const plainTextOrNone = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .regex(NO_CONTROLS, 'control characters are not allowed')
    .refine((text) => text.isWellFormed(), 'lone surrogates are not allowed');
