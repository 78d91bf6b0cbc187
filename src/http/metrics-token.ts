import { hash, timingSafeEqual } from 'node:crypto';

const BEARER = 'Bearer ';

/**
 * Whether a header contains METRICS_TOKEN. Hashes are compared, so that timing reveals neither content nor length.
 */
export function isMetricsToken(header: string | undefined, token: string): boolean {
  const given = header?.startsWith(BEARER) ? header.slice(BEARER.length) : '';
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}
