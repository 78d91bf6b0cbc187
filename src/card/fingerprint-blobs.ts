import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PinRequest, TapRequest } from '../payments/ports/card-ports.ts';
import type { SecretKeys } from './key-ring.ts';
import type { NamedSecretKey } from './opened-keys.ts';

type Blobs = Pick<TapRequest, 'generalCardData' | 'paymentCardData'> & Partial<Pick<PinRequest, 'pinBlock' | 'ksn'>>;

/**
 * The fingerprint of the blobs of a tap or PIN, which recognises a repeat of the same request: `<key
 * id>:<HMAC-SHA-256, Base64url>`. Each blob has only one spelling (canonical Base64), so the texts are compared.
 */
export function fingerprintBlobs(keys: SecretKeys, blobs: Blobs): string {
  return fingerprintWith(keys.current, blobs);
}

/** Whether `fingerprint` was made from these blobs, under any key of the ring; false if its key no longer exists. */
export function isFingerprintOf(keys: SecretKeys, fingerprint: string, blobs: Blobs): boolean {
  const key = keys.find(fingerprint.split(':', 1)[0]!);
  if (key === undefined) return false;
  const given = Buffer.from(fingerprint);
  const expected = Buffer.from(fingerprintWith(key, blobs));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The dot occurs in neither Base64 nor hex, so it separates the parts. */
function fingerprintWith(
  { id, key }: NamedSecretKey,
  { generalCardData, paymentCardData, pinBlock, ksn = '' }: Blobs,
): string {
  const hmac = createHmac('sha256', key).update(generalCardData).update('.').update(paymentCardData);
  if (pinBlock !== undefined) hmac.update(`.${pinBlock}.${ksn}`);
  return `${id}:${hmac.digest('base64url')}`;
}
