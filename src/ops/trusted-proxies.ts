import { isIP } from 'node:net';

/** Names that proxy-addr, which fastify compares addresses with, knows for networks. */
const NAMED = new Set(['loopback', 'linklocal', 'uniquelocal']);
/** Bits of an address by its version. */
const BITS = { 4: 32, 6: 128 } as const;

/**
 * What is wrong with an entry of TRUSTED_PROXIES: whoever connects from there is believed about the client's address and
 * about HTTPS. Undefined when it can be used.
 */
export function faultOfTrustedProxy(entry: string): string | undefined {
  if (NAMED.has(entry)) return undefined;
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address) as 0 | 4 | 6;
  if (version === 0 || rest.length > 0) return `${entry} is no IP address or network`;
  if (prefix === undefined) return undefined;
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > BITS[version]) return `${entry} has no prefix length`;
  return Number(prefix) === 0 ? `${entry} is every address: name those of the proxies` : undefined;
}

/** Less than these many bits are more addresses than proxies have. */
const WIDE = { 4: 8, 6: 32 } as const;

/** Whether a usable entry is a network that is larger than one organisation's. */
export function isWideNetwork(entry: string): boolean {
  const [address = '', prefix] = entry.split('/');
  const version = isIP(address) as 0 | 4 | 6;
  return version !== 0 && prefix !== undefined && Number(prefix) < WIDE[version];
}
