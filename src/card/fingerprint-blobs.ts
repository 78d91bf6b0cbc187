import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PinRequest, TapRequest } from '../transactions/ports/card-ports.ts';
import type { NamedSecretKey, SecretKeys } from './key-ring.ts';

type Blobs = Pick<TapRequest, 'generalCardData' | 'paymentCardData'> & Partial<Pick<PinRequest, 'pinBlock' | 'ksn'>>;

/**
 * What is kept of a tap's blobs, or of a PIN's, to recognise the same request submitted again: `<key id>:<HMAC-SHA-256,
 * Base64url>`. Each blob has one spelling only (canonical Base64), so their texts are compared.
 */
export function fingerprintBlobs(keys: SecretKeys, blobs: Blobs): string {
  return fingerprintWith(keys.current, blobs);
}

/** Whether `fingerprint` was made of these blobs, under whichever key of the ring; false when its key is gone. */
export function isFingerprintOf(keys: SecretKeys, fingerprint: string, blobs: Blobs): boolean {
  const key = keys.find(fingerprint.split(':', 1)[0]!);
  if (key === undefined) return false;
  const given = Buffer.from(fingerprint);
  const expected = Buffer.from(fingerprintWith(key, blobs));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The dot is in no Base64 and no hex, so it keeps them apart. */
function fingerprintWith(
  { id, key }: NamedSecretKey,
  { generalCardData, paymentCardData, pinBlock, ksn = '' }: Blobs,
): string {
  const hmac = createHmac('sha256', key).update(generalCardData).update('.').update(paymentCardData);
  if (pinBlock !== undefined) hmac.update(`.${pinBlock}.${ksn}`);
  return `${id}:${hmac.digest('base64url')}`;
}
