import { z } from 'zod';

/** Text that every database column, log line and header can carry: no control characters, no lone surrogates. */
export const plainText = (maxChars: number) =>
  z
    .string()
    .min(1)
    .max(maxChars)
    .regex(/^\P{Cc}*$/u, 'control characters are not allowed')
    .refine((text) => text.isWellFormed(), 'lone surrogates are not allowed');
