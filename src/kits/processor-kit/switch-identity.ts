import { isDeepStrictEqual } from 'node:util';

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
