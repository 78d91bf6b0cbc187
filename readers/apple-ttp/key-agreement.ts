import { createHash, hash } from 'node:crypto';
import { decryptGcm, encryptGcm, GCM_TAG_BYTES, type TapBinding } from '#reader-kit';

/** EC_v1 of Apple's payment token format: AES-256-GCM whose initialization vector is 16 zeros, because each key is used once. */
const IV = new Uint8Array(16);
const NO_DATA = new Uint8Array(0);
/** NIST SP 800-56A 5.8.1 with one round of SHA-256; the algorithm id has its length before it, PartyUInfo is "Apple". */
const FIRST_ROUND = Buffer.of(0, 0, 0, 1);
const ALGORITHM_ID = Buffer.from('\x0did-aes256-GCM', 'latin1');
const PARTY_U = Buffer.from('Apple');

/** Precedes a merchant, where a binding without one has the length of the device. */
const MERCHANT_MARK = Buffer.of(0xff, 0xff);

/**
 * The content key for one tap. PartyVInfo is the SHA-256 of the merchant, if the binding has one, the device and the
 * reference, each in UTF-8 after its length in two bytes. Apple Pay has the merchant's identifier there.
 */
export function contentKey(secret: Uint8Array, binding: TapBinding): Buffer {
  const { deviceInstallationId, merchantReference, merchant } = binding;
  const partyV = createHash('sha256');
  const add = (text: string) => {
    const bytes = Buffer.from(text);
    partyV.update(Buffer.of(bytes.length >> 8, bytes.length & 0xff)).update(bytes);
  };
  if (merchant !== undefined) {
    const acquirer = Buffer.alloc(4);
    acquirer.writeUInt32BE(merchant.acquirerId);
    partyV.update(MERCHANT_MARK).update(acquirer);
    add(merchant.merchantId);
  }
  add(deviceInstallationId);
  add(merchantReference);
  const input = Buffer.concat([FIRST_ROUND, secret, ALGORITHM_ID, PARTY_U, partyV.digest()]);
  const key = hash('sha256', input, 'buffer');
  input.fill(0);
  return key;
}

/** @returns undefined if the tag is wrong */
export function open(key: Buffer, data: Uint8Array): Buffer | undefined {
  const tagAt = data.length - GCM_TAG_BYTES;
  return decryptGcm(key, IV, data.subarray(0, tagAt), data.subarray(tagAt), NO_DATA);
}

export function seal(key: Buffer, plaintext: Uint8Array): Buffer {
  return encryptGcm(key, IV, plaintext, NO_DATA);
}
