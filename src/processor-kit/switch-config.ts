import { z } from 'zod';
import type { Processor } from './processor.ts';
import type { ProcessorProfile } from './profile.ts';
import { profileOverrides } from './profile.ts';

/** One line of a switch rarely has more than two addresses; eight leave room for two sites with spares. */
const MAX_ADDRESSES = 8;

/** Two keys are live during a change; four let an acquirer prepare the next ones. */
const MAX_MAC_KEYS = 4;

/**
 * The configuration every switch needs, whatever its dialect. A plug-in extends it:
 *
 *     export const configSchema = switchConfig.extend({ acquirerId: z.string().regex(/^\d{1,11}$/) });
 */
export const switchConfig = z.object({
  /** In order of preference. */
  addresses: z
    .array(z.object({ host: z.string().min(1).max(253), port: z.int().min(1).max(65_535) }))
    .min(1)
    .max(MAX_ADDRESSES),
  /** `primary-backup` uses the first address that answers, `least-in-flight` all of them. */
  balance: z.enum(['primary-backup', 'least-in-flight']).default('primary-backup'),
  /** Present: TLS; with `certFile` and `keyFile`, mutual TLS. Files are PEM. */
  tls: z
    .object({
      serverName: z.string().optional(),
      caFile: z.string().optional(),
      certFile: z.string().optional(),
      keyFile: z.string().optional(),
    })
    .optional(),
  /** A switch that knows no network management messages is ready as soon as it is connected. */
  signOn: z.boolean().default(true),
  /** Present: every message carries a MAC, made with the first key and checked with any of them. */
  macKeys: z
    .array(z.object({ number: z.int().min(0).max(99), keyId: z.string().min(1).max(64) }))
    .min(1)
    .max(MAX_MAC_KEYS)
    .optional(),
  /** Present: the switch takes PINs under this key, in this format (ISO 9564-1). */
  pinKey: z.object({ keyId: z.string().min(1).max(64), format: z.literal([0, 3, 4]) }).optional(),
  /** Where this switch differs from its type's profile. */
  profile: profileOverrides.optional(),
});

export type SwitchConfig = z.infer<typeof switchConfig>;

/** The profile of one switch: its type's, with what its configuration sets. */
export function profileOf<Config extends SwitchConfig>(
  processor: Pick<Processor<Config>, 'profile'>,
  config: Config,
): ProcessorProfile {
  return { ...processor.profile, ...definedOnly(config.profile ?? {}) };
}

function definedOnly<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
