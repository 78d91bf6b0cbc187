import { z } from 'zod';
import { keyExchangeConfig } from './key-exchange-config.ts';
import { profileOverrides } from './profile.ts';

/** One line of a switch rarely has more than two addresses; eight leave room for two sites with spares. */
const MAX_ADDRESSES = 8;

/** What acquirers are given of a switch's ports; a hundred would be a mistake. */
const MAX_CONNECTIONS = 64;

/** Two keys are live during a change; four let an acquirer prepare the next ones. */
const MAX_MAC_KEYS = 4;

/** The name of a file below a directory: whoever may configure a switch may not read anything else by it. */
const pemFile = z
  .string()
  .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'a name below TLS_FILES_DIR: letters, digits, . - _ and / between folders')
  .max(255)
  .refine(
    (name) => !name.split('/').some((step) => step === '..' || step === '.'),
    'it may not lead out of TLS_FILES_DIR',
  );

/**
 * The configuration every switch needs, whatever its dialect. What it does not name is refused: a misspelt setting would
 * otherwise be one that is missing, and a line run without its MACs. A plug-in extends it:
 *
 *     export const configSchema = switchConfig.extend({ acquirerId: z.string().regex(/^\d{1,11}$/) });
 */
export const switchConfig = z.strictObject({
  /** In order of preference; none where the switch connects to us. */
  addresses: z
    .array(z.strictObject({ host: z.string().min(1).max(253), port: z.int().min(1).max(65_535) }))
    .max(MAX_ADDRESSES)
    .default([]),
  /** To each address; most switches allow an acquirer few. */
  connectionsPerAddress: z.int().min(1).max(MAX_CONNECTIONS).default(1),
  /** Present: the switch connects to us, here, from one of the addresses in `from` where that is given. */
  accept: z
    .strictObject({
      host: z.string().min(1).max(253).default('0.0.0.0'),
      port: z.int().min(1).max(65_535),
      from: z
        .array(z.union([z.ipv4(), z.ipv6()]))
        .min(1)
        .max(MAX_CONNECTIONS)
        .optional(),
      maxConnections: z.int().min(1).max(MAX_CONNECTIONS).default(2),
    })
    .optional(),
  /** `primary-backup` uses the first address that answers, `least-in-flight` all of them. */
  balance: z.enum(['primary-backup', 'least-in-flight']).default('primary-backup'),
  /**
   * Present: TLS. To a switch, `certFile` and `keyFile` make it mutual; from a switch they are ours, and `caFile` makes it
   * mutual. Files are PEM, below the folder of the acquirer in the directory of such files (`TLS_FILES_DIR`).
   */
  tls: z
    .strictObject({
      serverName: z.string().optional(),
      caFile: pemFile.optional(),
      certFile: pemFile.optional(),
      keyFile: pemFile.optional(),
    })
    .optional(),
  /** Hex of the transport header (a TPDU) that this line wants instead of its dialect's; of the same length. */
  transportHeader: z
    .hex()
    .max(32)
    .refine((hex) => hex.length % 2 === 0, 'two digits for each byte')
    .optional(),
  /** A switch that knows no network management messages is ready as soon as it is connected. */
  signOn: z.boolean().default(true),
  /** Present: every message carries a MAC, made with the first key and checked with any of them. */
  macKeys: z
    .array(z.strictObject({ number: z.int().min(0).max(99), keyId: z.string().min(1).max(64) }))
    .min(1)
    .max(MAX_MAC_KEYS)
    .optional(),
  /** Present: the switch takes PINs in this format (ISO 9564-1), under this zone PIN key or base derivation key. */
  pinKey: z
    .strictObject({
      keyId: z.string().min(1).max(64),
      format: z.literal([0, 3, 4]),
      derivation: z.enum(['zone', 'dukpt']).default('zone'),
    })
    .optional(),
  /** Present: working keys are exchanged with the switch while traffic runs; `macKeys` and `pinKey` are those to begin with. */
  keyExchange: keyExchangeConfig.optional(),
  /** Where this switch differs from its type's profile. */
  profile: profileOverrides.optional(),
});

export type SwitchConfig = z.infer<typeof switchConfig>;
