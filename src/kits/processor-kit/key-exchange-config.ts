import { z } from 'zod';

/**
 * Covers the time in which every worker learns of a key (it reads every 2 s, and a PIN may be on its way for 8 s), and in
 * which a new key settles the order of two that were announced at one moment.
 */
const LEAST_OVERLAP_SECONDS = 20;
/** A failed key change is requested again; an interval below a second would flood the switch. */
const LEAST_SECONDS = 1;
/** PCI PIN limits the life of keys; a working key older than a month is in practice never changed. */
const MOST_AGE_SECONDS = 31 * 86_400;
/**
 * Longer than the longest deadline of a switch, so that every response finds its key. An hour is enough for a slow
 * worker.
 */
const MOST_OVERLAP_SECONDS = 3_600;

/** The part of a switch's configuration that states whether and how its working keys are exchanged. */
export const keyExchangeConfig = z.strictObject({
  /**
   * The key that enciphers working keys in transit and in storage: a zone master key (`keyEncryption`) or the
   * protection key of key blocks (`keyBlockProtection`), as the type requires.
   */
  transportKeyId: z.string().min(1).max(64),
  /** The form of an exchanged key; a type uses one of the two. */
  form: z.enum(['cryptogram', 'keyBlock']).default('cryptogram'),
  /** The uses for which keys are exchanged; the type must support them. */
  keys: z
    .array(z.enum(['mac', 'pin']))
    .min(1)
    .max(2),
  /**
   * `us`: the gateway requests a key at the first sign-on and when a key reaches its age. `switch`: the switch decides,
   * and the gateway requests a key only when keys disagree.
   */
  startedBy: z.enum(['us', 'switch']).default('us'),
  maxAgeSeconds: z.int().min(LEAST_SECONDS).max(MOST_AGE_SECONDS).default(86_400),
  /** How long the previous key is accepted; as agreed with the switch. */
  overlapSeconds: z.int().min(LEAST_OVERLAP_SECONDS).max(MOST_OVERLAP_SECONDS).default(300),
});

export type KeyExchangeConfig = z.infer<typeof keyExchangeConfig>;
