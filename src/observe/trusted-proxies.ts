import { isIP } from 'node:net';

/** Names of networks in proxy-addr, which fastify uses to compare addresses. */
const NAMED = new Set(['loopback', 'linklocal', 'uniquelocal']);
/** Address length in bits, by IP version. */
const BITS = { 4: 32, 6: 128 } as const;

/**
 * The fault of an entry of TRUSTED_PROXIES; undefined for a usable entry. The gateway trusts connections from such
 * addresses about the client's address and about HTTPS.
 */
export function faultOfTrustedProxy(entry: string): string | undefined {
  if (NAMED.has(entry)) return undefined;
  const [address = '', prefix, ...rest] = entry.split('/');
  const version = isIP(address) as 0 | 4 | 6;
  if (version === 0 || rest.length > 0) return `${entry} must be an IP address or network`;
  if (prefix === undefined) return undefined;
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > BITS[version]) return `${entry} must have a valid prefix length`;
  return Number(prefix) === 0 ? `${entry} contains every address; list those of the proxies` : undefined;
}

/** Shorter prefixes contain more addresses than proxies have. */
const WIDE = { 4: 8, 6: 32 } as const;

/** Whether a usable entry is a network larger than that of one organization. */
export function isWideNetwork(entry: string): boolean {
  const [address = '', prefix] = entry.split('/');
  const version = isIP(address) as 0 | 4 | 6;
  return version !== 0 && prefix !== undefined && Number(prefix) < WIDE[version];
}
