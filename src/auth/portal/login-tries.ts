import { hash } from 'node:crypto';
import { isIP } from 'node:net';

/** Limits of password attempts. */
export interface LoginLimits {
  /** For one username, whether the user exists or not (PCI DSS 4.0 8.3.4: at most ten). */
  readonly perUser: number;
  /** From one address, which may be shared by an office. */
  readonly perAddress: number;
  /** Counted from the first attempt (PCI DSS 4.0 8.3.4: locked for at least 30 minutes). */
  readonly windowSeconds: number;
}

export interface TriesSoFar {
  /** Within the window, including this one. */
  readonly tries: number;
  /** Until the window ends and counting starts again. */
  readonly secondsLeft: number;
}

/** Attempts counted over all processes. */
export interface LoginTries {
  /** Counts one more attempt before its result is known, so that all of a hundred concurrent ones are counted. */
  count(subject: string, windowSeconds: number): Promise<TriesSoFar>;
  /** An attempt succeeded: resets the user's count and removes the attempt from the address. */
  forgive(user: string, address: string): Promise<void>;
}

/** The form in which usernames are compared. */
export function loginNameOf(username: string): string {
  return username.normalize('NFKC').toLowerCase();
}

/** A username is stored as a hash, because people type passwords into the wrong field. */
export function userSubject(username: string): string {
  return `user ${hash('sha256', username, 'base64url')}`;
}

/**
 * An IPv4 address, or the network of an IPv6 address, because an IPv6 customer has 2^64 addresses (RFC 6177).
 *
 * @param ip in the notation of sockets and trusted proxies
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
