/**
 * The reader's end of card data for the gateway's own CLI, demo and load. schemas/seal-card-data.ts is the reference
 * for kernel teams.
 */
import {
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { type CardDataPublicKey, GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import { encodeTlv } from '../emv/tlv.ts';
import type { TapRequest } from '../transactions/ports/card-ports.ts';
import { encryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from './aes-gcm.ts';
import { deriveContentKey, JWE_ALGORITHM, JWE_ENCRYPTION, type TapBinding } from './jwe-profile.ts';

/** The values that a kernel read, by tag: EMV data objects and READER_TAGS. */
export type TapValues = ReadonlyMap<number, Uint8Array>;

export interface CardDataSealer {
  /** Both blobs of one tap (or of its PIN step), bound to a device and a reference. */
  seal(values: TapValues, binding: TapBinding): TapRequest;
}

/** The ephemeral key of a proximity session and the secret it shares with the recipient. */
interface Ephemeral {
  readonly publicJwk: JsonWebKey;
  readonly secret: Buffer;
}

/**
 * Seals taps for one of the installation's public keys.
 *
 * @param options.keepEphemeral one ephemeral key for all taps of this sealer, as a reader does within one proximity
 * session; otherwise each tap has its own
 * @throws node's error if `recipient` is not a point of its curve
 */
export function createCardDataSealer(
  recipient: CardDataPublicKey,
  options: { readonly keepEphemeral?: boolean } = {},
): CardDataSealer {
  const recipientKey = createPublicKey({ key: recipient, format: 'jwk' });
  const kept = options.keepEphemeral ? freshEphemeral(recipient, recipientKey) : undefined;
  return {
    seal(values, binding) {
      const general = encodeTlv(pick(values, (tag) => GENERAL_TAGS.has(tag)));
      const digest = { tag: READER_TAGS.generalDigest, value: hash('sha256', general, 'buffer') };
      const payment = encodeTlv([...pick(values, (tag) => !GENERAL_TAGS.has(tag)), digest]);
      const ephemeral = kept ?? freshEphemeral(recipient, recipientKey);
      return {
        ...binding,
        generalCardData: Buffer.from(general).toString('base64'),
        paymentCardData: Buffer.from(sealJwe(payment, recipient.kid, ephemeral, binding)).toString('base64'),
      };
    },
  };
}

function pick(values: TapValues, isWanted: (tag: number) => boolean): { tag: number; value: Uint8Array }[] {
  return [...values].filter(([tag]) => isWanted(tag)).map(([tag, value]) => ({ tag, value }));
}

function freshEphemeral(recipient: CardDataPublicKey, recipientKey: KeyObject): Ephemeral {
  const { privateKey, publicKey } =
    recipient.crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  return {
    publicJwk: { kty, crv, x, ...(y === undefined ? {} : { y }) } as JsonWebKey,
    secret: diffieHellman({ privateKey, publicKey: recipientKey }),
  };
}

/** RFC 7516 5.1 for direct key agreement: the encrypted key is empty, the protected header is the additional data. */
function sealJwe(plaintext: Uint8Array, kid: string, { publicJwk, secret }: Ephemeral, binding: TapBinding): string {
  const apu = Buffer.from(binding.deviceInstallationId);
  const apv = Buffer.from(binding.merchantReference);
  const header = JSON.stringify({
    alg: JWE_ALGORITHM,
    enc: JWE_ENCRYPTION,
    kid,
    epk: publicJwk,
    apu: apu.toString('base64url'),
    apv: apv.toString('base64url'),
  });
  const protectedHeader = Buffer.from(header).toString('base64url');
  const iv = randomBytes(GCM_NONCE_BYTES);
  const sealed = encryptGcm(deriveContentKey(secret, apu, apv), iv, plaintext, Buffer.from(protectedHeader));
  const tagAt = sealed.length - GCM_TAG_BYTES;
  const parts = [iv, sealed.subarray(0, tagAt), sealed.subarray(tagAt)].map((bytes) => bytes.toString('base64url'));
  return `${protectedHeader}..${parts.join('.')}`;
}
