import { hash } from 'node:crypto';
import { isIP } from 'node:net';

/** How often passwords may be tried. */
export interface LoginLimits {
  /** For one username, whether there is such a user or not (PCI DSS 4.0 8.3.4: ten at most). */
  readonly perUser: number;
  /** From one address: an office shares one. */
  readonly perAddress: number;
  /** Counted from the first try on (PCI DSS 4.0 8.3.4: locked for 30 minutes at least). */
  readonly windowSeconds: number;
}

export interface TriesSoFar {
  /** Within the window, this one too. */
  readonly tries: number;
  /** Until the window closes and counting begins anew. */
  readonly secondsLeft: number;
}

/** Tries of all processes together. */
export interface LoginTries {
  /** Counts one more, before it is known whether it succeeds: of a hundred at once none goes uncounted. */
  count(subject: string, windowSeconds: number): Promise<TriesSoFar>;
  /** One succeeded: the user begins anew, and the address has it back. */
  forgive(user: string, address: string): Promise<void>;
}

/** A username is kept as a hash: people type passwords into the wrong field. */
export function userSubject(username: string): string {
  return `user ${hash('sha256', username, 'base64url')}`;
}

/**
 * An IPv4 address, or the network of an IPv6 one: whoever has an IPv6 address has 2^64 of them (RFC 6177).
 *
 * @param ip as sockets and trusted proxies name it
 */
export function addressSubject(ip: string): string {
  const plain = ip
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, '')
    .replace(/%.*$/, '');
  return isIP(plain) === 6 ? `address ${networkOf(plain)}::/64` : `address ${plain.slice(0, 45)}`;
}

/** The first four groups, written out: `2001:db8::1` -> `2001:db8:0:0`. */
function networkOf(ip: string): string {
  const [left = '', right = ''] = ip.split('::', 2);
  const before = left.split(':').filter(Boolean);
  const missing = 8 - before.length - right.split(':').filter(Boolean).length;
  const isShort = ip.includes('::');
  const groups = isShort
    ? [...before, ...Array<string>(missing).fill('0'), ...right.split(':').filter(Boolean)]
    : before;
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
