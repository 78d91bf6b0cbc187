import { z } from 'zod';

/**
 * Any text but controls (Unicode's Cc). Without `\P{Cc}`: the API description has this pattern, too, and not all who read it
 * compile it with the flag that this needs.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are not allowed
const NO_CONTROLS = /^[^\x00-\x1f\x7f-\x9f]*$/;

/** Text that every database column, log line and header can carry: no control characters, no lone surrogates. */
export const plainText = (maxChars: number) => plainTextOrNone(maxChars).min(1);

/** As `plainText`, or empty. */
export const plainTextOrNone = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .regex(NO_CONTROLS, 'control characters are not allowed')
    .refine((text) => text.isWellFormed(), 'lone surrogates are not allowed');
