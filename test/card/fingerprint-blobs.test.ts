import { describe, expect, test } from 'vitest';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import {
  BINDING,
  freshKeyRing,
  freshSecretKey,
  openerOf,
  publicKeyOf,
  secretKeysOf,
  visaTap,
} from '../support/card-data.ts';

const ring = await freshKeyRing();
const opener = openerOf(ring);
const tap = createCardDataSealer(publicKeyOf(ring, 'X25519')).seal(visaTap(), BINDING);

describe('the fingerprint of a tap', () => {
  test('recognizes the same blobs and no others', () => {
    const fingerprint = opener.fingerprint(tap);
    const again = createCardDataSealer(publicKeyOf(ring, 'X25519')).seal(visaTap(), BINDING);
    expect(opener.isFingerprintOf(fingerprint, tap)).toBe(true);
    expect(opener.isFingerprintOf(fingerprint, again)).toBe(false);
    expect(opener.isFingerprintOf(fingerprint, { ...tap, generalCardData: again.generalCardData })).toBe(false);
    expect(opener.isFingerprintOf(fingerprint, { ...tap, paymentCardData: again.paymentCardData })).toBe(false);
  });

  test('separates the two blobs: a character moved from one to the other makes another tap', () => {
    const one = opener.fingerprint({ ...tap, generalCardData: 'AAAA', paymentCardData: 'BBBB' });
    expect(opener.isFingerprintOf(one, { ...tap, generalCardData: 'AAAAB', paymentCardData: 'BBB' })).toBe(false);
  });

  test('distinguishes PIN blocks beside the blobs from each other and from none', () => {
    const pin = { ...tap, pinToken: '', pinBlock: '0123456789ABCDEF', ksn: 'FFFF9876543210E00001' };
    const fingerprint = opener.fingerprint(pin);
    expect(opener.isFingerprintOf(fingerprint, { ...pin, pinToken: 'made again' })).toBe(true);
    expect(opener.isFingerprintOf(fingerprint, tap)).toBe(false);
    expect(opener.isFingerprintOf(fingerprint, { ...pin, pinBlock: '0123456789ABCDEE' })).toBe(false);
    expect(opener.isFingerprintOf(fingerprint, { ...pin, ksn: 'FFFF9876543210E00002' })).toBe(false);
  });

  test('the fingerprint of a tap still recognizes the tap after the key was rotated, and not after that key is removed', () => {
    const old = ring.blobHmac.current;
    const current = freshSecretKey('blob-new');
    const rotated = openerOf({ ...ring, blobHmac: secretKeysOf(current, old) });
    const withoutOld = openerOf({ ...ring, blobHmac: secretKeysOf(current) });
    expect(rotated.isFingerprintOf(opener.fingerprint(tap), tap)).toBe(true);
    expect(rotated.fingerprint(tap)).not.toBe(opener.fingerprint(tap));
    expect(withoutOld.isFingerprintOf(opener.fingerprint(tap), tap)).toBe(false);
  });

  test.each(['', ':', 'blob', `${ring.blobHmac.current.id}:`, 'x:y:z'])('is not %j', (fingerprint) => {
    expect(opener.isFingerprintOf(fingerprint, tap)).toBe(false);
  });
});
