import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';

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
