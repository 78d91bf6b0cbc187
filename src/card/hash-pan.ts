import { createHmac } from 'node:crypto';
import type { NamedSecretKey, SecretKeys } from './key-ring.ts';

/**
 * What a transaction is found by when one knows the PAN: `<key id>:<HMAC-SHA-256 of all its digits, Base64url>`. A plain
 * hash would give the PAN away: there are few enough to try them all.
 */
export function hashPan(keys: SecretKeys, pan: string): string {
  return hashWith(keys.current, pan);
}

/** The hashes of a PAN under every key of the ring, newest first, to search rows written before a rotation. */
export function panHashes(keys: SecretKeys, pan: string): string[] {
  return keys.all.map((key) => hashWith(key, pan));
}

function hashWith({ id, key }: NamedSecretKey, pan: string): string {
  return `${id}:${createHmac('sha256', key).update(pan).digest('base64url')}`;
}
