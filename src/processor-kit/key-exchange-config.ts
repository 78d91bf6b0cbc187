import { z } from 'zod';

/** A key change that failed is asked for again; below a second it would be a flood. */
const LEAST_SECONDS = 1;
/** PCI PIN wants keys of limited life; a working key older than a month is one that nobody changes. */
const MOST_AGE_SECONDS = 31 * 86_400;
/** Longer than the longest deadline of a switch, so that every answer finds its key; an hour is all that a slow worker needs. */
const MOST_OVERLAP_SECONDS = 3_600;

/** The part of a switch's configuration that says whether and how its working keys are exchanged. */
export const keyExchangeConfig = z.strictObject({
  /** The key under which working keys travel and are kept: a zone master key (`keyEncryption`) or the protection key of
   * key blocks (`keyBlockProtection`), as the type wants it. */
  transportKeyId: z.string().min(1).max(64),
  /** How they travel; a type takes one of the two. */
  form: z.enum(['cryptogram', 'keyBlock']).default('cryptogram'),
  /** Which keys; those of a type that exchanges them. */
  keys: z
    .array(z.enum(['mac', 'pin']))
    .min(1)
    .max(2),
  /** `us`: at the first sign-on, and when a key has its age. `switch`: when it says so, and we ask only when keys disagree. */
  startedBy: z.enum(['us', 'switch']).default('us'),
  maxAgeSeconds: z.int().min(LEAST_SECONDS).max(MOST_AGE_SECONDS).default(86_400),
  /** For so long the key before is accepted; as the switch has it. */
  overlapSeconds: z.int().min(LEAST_SECONDS).max(MOST_OVERLAP_SECONDS).default(300),
});

export type KeyExchangeConfig = z.infer<typeof keyExchangeConfig>;
