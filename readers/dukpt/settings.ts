import { z } from '#reader-kit';

/** A reader fleet has a key set for each generation of its devices and algorithm; more than these are an error. */
const MAX_KEY_SETS = 16;

export const settingsSchema = z.strictObject({
  keySets: z
    .array(
      z.strictObject({
        /** The beginning of the KSN of every device of the set. */
        keySetId: z.string().regex(/^(?:[0-9A-F]{2}){2,8}$/, 'must be 2 to 8 bytes in hexadecimal, in upper case'),
        baseKeyId: z.string().min(1).max(64),
        algorithm: z.enum(['tdes', 'aes']),
      }),
    )
    .min(1)
    .max(MAX_KEY_SETS)
    .refine(areDistinct, 'no keySetId may begin with another one'),
  /** The MAC covers the merchant, too. */
  bindsMerchant: z.boolean().optional(),
});

export type DukptSettings = z.infer<typeof settingsSchema>;

function areDistinct(keySets: readonly { readonly keySetId: string }[]): boolean {
  return keySets.every(({ keySetId }, at) =>
    keySets.every((other, place) => place === at || !other.keySetId.startsWith(keySetId)),
  );
}
