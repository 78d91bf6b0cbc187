import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MAC_ALGORITHM_NAMES } from '../../codecs/crypto/mac.ts';
import { profileOverrides } from './profile.ts';

/**
 * Covers the time in which every worker learns of a key (it reads every 2 s, and a PIN may be on its way for 8 s), and in
 * which a new key settles the order of two that were announced at one moment.
 */
const LEAST_OVERLAP_SECONDS = 20;
/** A failed key change is requested again; an interval below a second would flood the switch. */
const LEAST_SECONDS = 1;
/** PCI PIN limits the life of keys; a working key older than a month is in practice never changed. */
const MAX_AGE_SECONDS = 31 * 86_400;
/**
 * Longer than the longest deadline of a switch, so that every response finds its key. An hour is enough for a slow
 * worker.
 */
const MAX_OVERLAP_SECONDS = 3_600;

/** The id of an institution at a switch: DE32, DE33. */
export const institutionId = z.string().regex(/^\d{1,11}$/);

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
  maxAgeSeconds: z.int().min(LEAST_SECONDS).max(MAX_AGE_SECONDS).default(86_400),
  /** How long the previous key is accepted; as agreed with the switch. */
  overlapSeconds: z.int().min(LEAST_OVERLAP_SECONDS).max(MAX_OVERLAP_SECONDS).default(300),
});

export type KeyExchangeConfig = z.infer<typeof keyExchangeConfig>;

/** A switch rarely has more than two addresses; eight allow two sites with spares. */
const MAX_ADDRESSES = 8;

/** Acquirers get a few ports of a switch; a hundred would be a mistake. */
const MAX_CONNECTIONS = 64;

/** Two keys are live during a change; four let an acquirer prepare the next ones. */
const MAX_MAC_KEYS = 4;

/** The name of a file below a directory: permission to configure a switch must not give access to other files. */
const pemFile = z
  .string()
  .regex(/^[\w.-]+(\/[\w.-]+)*$/, 'a name below TLS_FILES_DIR: letters, digits, . - _ and / between folders')
  .max(255)
  .refine((name) => !name.split('/').some((step) => step === '..' || step === '.'), 'it must not leave TLS_FILES_DIR');

/**
 * The configuration that every switch needs, regardless of its dialect. Unknown settings are refused: otherwise a
 * misspelt setting would count as missing, and a switch might run without its MACs. A plug-in extends it:
 *
 *     export const configSchema = switchConfig.extend({ acquirerId: institutionId });
 */
export const switchConfig = z.strictObject({
  /** In order of preference; empty if the switch connects to the gateway. */
  addresses: z
    .array(z.strictObject({ host: z.string().min(1).max(253), port: z.int().min(1).max(65_535) }))
    .max(MAX_ADDRESSES)
    .default([]),
  /** Connections to each address; most switches allow an acquirer few. */
  connectionsPerAddress: z.int().min(1).max(MAX_CONNECTIONS).default(1),
  /**
   * If present, the switch connects to the gateway, here. If `from` is given, it must connect from one of those
   * addresses.
   */
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
  /** `primary-backup` uses the first address that responds, `least-in-flight` all of them. */
  balance: z.enum(['primary-backup', 'least-in-flight']).default('primary-backup'),
  /**
   * If present, TLS is used. On a connection to a switch, `certFile` and `keyFile` enable mutual TLS. On a connection
   * from a switch, they identify the gateway, and `caFile` enables mutual TLS. Files are PEM, in the folder of the
   * acquirer below `TLS_FILES_DIR`.
   */
  tls: z
    .strictObject({
      serverName: z.string().optional(),
      caFile: pemFile.optional(),
      certFile: pemFile.optional(),
      keyFile: pemFile.optional(),
    })
    .optional(),
  /**
   * Hex of the transport header (a TPDU or a prefix) of this switch, which replaces that of its dialect and has the same length.
   */
  transportHeader: z
    .hex()
    .max(32)
    .refine((hex) => hex.length % 2 === 0, 'two digits for each byte')
    .optional(),
  /** False for a switch without network management messages: it is ready when it is connected. */
  signOn: z.boolean().default(true),
  /** If present, every message carries a MAC, made with the first key and verified with any of them. */
  macKeys: z
    .array(z.strictObject({ number: z.int().min(0).max(99), keyId: z.string().min(1).max(64) }))
    .min(1)
    .max(MAX_MAC_KEYS)
    .optional(),
  /** The algorithm of the MACs, if this switch has another one than its dialect. */
  macAlgorithm: z.enum(MAC_ALGORITHM_NAMES).optional(),
  /**
   * If present, the switch accepts PINs in this format (ISO 9564-1), under this zone PIN key or base derivation key.
   */
  pinKey: z
    .strictObject({
      keyId: z.string().min(1).max(64),
      format: z.literal([0, 3, 4]),
      derivation: z.enum(['zone', 'dukpt']).default('zone'),
    })
    .optional(),
  /**
   * If present, working keys are exchanged with the switch while traffic runs; `macKeys` and `pinKey` name the first
   * ones.
   */
  keyExchange: keyExchangeConfig.optional(),
  /** Overrides of the type's profile for this switch. */
  profile: profileOverrides.optional(),
});

export type SwitchConfig = z.infer<typeof switchConfig>;

/** What of a configuration identifies the switch: where it is, which ids it knows the acquirer by, and the agreed keys. */
export type SwitchIdentity = Readonly<Record<string, unknown>>;

/** How a switch is used. Every other setting identifies it, also those that a type adds. */
const USES: ReadonlySet<string> = new Set(['connectionsPerAddress', 'balance', 'signOn', 'profile']);

/** An entry may be left out of these lists, because all entries of one list belong to one switch. */
const LISTS: readonly string[] = ['addresses', 'macKeys'];

/** @param config as the type has read it, with its default values */
export function identityOf(config: object): SwitchIdentity {
  const { accept, keyExchange, ...rest } = config as Readonly<Record<string, unknown>>;
  const own = Object.entries(rest).filter(([name]) => !USES.has(name));
  const { maxConnections, ...listener } = { ...(accept as { maxConnections?: unknown } | undefined) };
  const { transportKeyId } = { ...(keyExchange as { transportKeyId?: unknown } | undefined) };
  return withoutUndefined({
    ...Object.fromEntries(own),
    ...(accept !== undefined && { accept: listener }),
    transportKeyId,
  });
}

/** Whether a changed configuration certainly names the same switch. */
export function isSameSwitch(before: SwitchIdentity, after: SwitchIdentity): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].every((name) => isKept(name, before[name], after[name]));
}

/**
 * Whether another version of the type reads an unchanged configuration as the same switch. It may have settings that the
 * former one had not.
 */
export function isReadAlike(before: SwitchIdentity, now: SwitchIdentity): boolean {
  return Object.keys(before).every((name) => now[name] === undefined || isKept(name, before[name], now[name]));
}

function isKept(name: string, before: unknown, after: unknown): boolean {
  if (isDeepStrictEqual(before, after)) return true;
  if (!LISTS.includes(name) || !Array.isArray(before) || !Array.isArray(after) || after.length === 0) return false;
  return after.every((entry) => before.some((known) => isDeepStrictEqual(known, entry)));
}

/** An identity as the database returns it, for comparisons. */
function withoutUndefined(identity: SwitchIdentity): SwitchIdentity {
  return JSON.parse(JSON.stringify(identity)) as SwitchIdentity;
}

/** The replacement of a key in the configuration of a processor. */
export interface KeyReplacement {
  readonly keyId: string;
  readonly successor: string;
  /** The number of the successor in messages, if it is a MAC key; that of the replaced key unless stated. */
  readonly number?: number | undefined;
}

/**
 * A configuration with the successor wherever it named the key. A MAC key stays behind its successor: it makes no more
 * MACs, and still verifies those of the switch. If the successor is already among the MAC keys, it moves and keeps its
 * number.
 */
export function withSuccessor<Config extends SwitchConfig>(config: Config, replacement: KeyReplacement): Config {
  const { keyId, successor } = replacement;
  const { macKeys, pinKey, keyExchange } = config;
  return {
    ...config,
    ...(macKeys && { macKeys: macKeysWith(macKeys, replacement) }),
    ...(pinKey?.keyId === keyId && { pinKey: { ...pinKey, keyId: successor } }),
    ...(keyExchange?.transportKeyId === keyId && { keyExchange: { ...keyExchange, transportKeyId: successor } }),
  };
}

type MacKeyList = NonNullable<SwitchConfig['macKeys']>;

function macKeysWith(keys: MacKeyList, { keyId, successor, number }: KeyReplacement): MacKeyList {
  if (!keys.some((key) => key.keyId === keyId)) return keys;
  const prepared = keys.find((key) => key.keyId === successor);
  return keys
    .filter((key) => key !== prepared)
    .flatMap((key) =>
      key.keyId === keyId ? [{ number: number ?? prepared?.number ?? key.number, keyId: successor }, key] : [key],
    );
}

/** A configuration without a MAC key that has a successor before it. The key that makes MACs stays. */
export function withoutReplacedKey<Config extends SwitchConfig>(config: Config, keyId: string): Config {
  const { macKeys } = config;
  if (!macKeys) return config;
  return { ...config, macKeys: macKeys.filter((key, at) => at === 0 || key.keyId !== keyId) };
}
