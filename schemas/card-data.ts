/** The card-data boundary: what a reader sends, and the public keys for which it seals. */
import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** 64 KB of BER-TLV, the parser's maximum, in Base64. */
export const MAX_GENERAL_CARD_DATA_CHARS = 87_384;
/**
 * The rest of the body limit of 192 KB after the general blob: 54 KB of BER-TLV in two layers of Base64, that of the
 * JWE and that of the field.
 */
export const MAX_PAYMENT_CARD_DATA_CHARS = 98_304;
/** `merchantTransactionReference` in section 8 of the interface. */
export const MAX_MERCHANT_REFERENCE_CHARS = 255;
/** Installation ids are UUIDs or platform ids of at most 64 characters. 128 leaves room for a vendor's prefix. */
const MAX_DEVICE_INSTALLATION_ID_CHARS = 128;

/** The gateway's own tags in the reader's blobs (private class, EMV Book 3 Annex B1). */
export const READER_TAGS = {
  readerId: 0xdf8a01,
  readerTransactionId: 0xdf8a02,
  /** Decimal degrees as text. */
  latitude: 0xdf8a03,
  longitude: 0xdf8a04,
  /** 8 bytes, or 16 for ISO format 4. */
  pinBlock: 0xdf8a11,
  ksn: 0xdf8a12,
  /**
   * SHA-256 of the bytes of `generalCardData` (after Base64), inside the sealed blob. It authenticates the blob that
   * is not sealed.
   */
  generalDigest: 0xdf8a21,
} as const;

/** Tags in `generalCardData`; every other value is sealed. */
export const GENERAL_TAGS: ReadonlySet<number> = new Set([
  ...[0x9f02, 0x5f2a, 0x9c, 0x84, 0x4f, 0x50, 0x9f12, 0x95, 0x9a, 0x9f21, 0x9f27, 0x9f1a, 0x82, 0x9f36, 0x9f37, 0x5f25],
  ...[READER_TAGS.readerId, READER_TAGS.readerTransactionId, READER_TAGS.latitude, READER_TAGS.longitude],
]);

/**
 * Unicode's embeddings, overrides and isolates. With one of them, a reference can look like another one on receipts
 * and in the console. Right-to-left letters need none.
 */
const NO_DIRECTION_CHANGES = /^[^\u202a-\u202e\u2066-\u2069]*$/;

export const merchantReference = plainText(MAX_MERCHANT_REFERENCE_CHARS)
  .regex(NO_DIRECTION_CHANGES, 'characters that change the text direction are not allowed')
  .describe("Caller's transaction reference, unique for each transaction of the merchant");
export const deviceInstallationId = plainText(MAX_DEVICE_INSTALLATION_ID_CHARS).describe(
  'Identifier of the app installation on the device',
);

/** Validates type and length only. The opener checks the content, and reports all failures in the same way. */
export const generalCardData = z.string().min(1).max(MAX_GENERAL_CARD_DATA_CHARS).meta({
  contentEncoding: 'base64',
  description:
    'General card data from the reader: Base64 of BER-TLV without secrets; format in [Submit a tap](/docs/guides/submit-a-tap)',
});
export const paymentCardData = z.string().min(1).max(MAX_PAYMENT_CARD_DATA_CHARS).meta({
  contentEncoding: 'base64',
  description:
    'Encrypted card data from the reader: Base64 of a compact JWE over BER-TLV; format in [Submit a tap](/docs/guides/submit-a-tap)',
});

const publicKeyMembers = {
  kid: z.string().describe('Key id, for the header of each JWE'),
  use: z.literal('enc').describe('Use of the key: encryption'),
  alg: z.literal('ECDH-ES').describe('Key agreement algorithm (RFC 7518)'),
};
const coordinate = z.string().describe('Coordinate of the public point, 32 bytes in Base64url');

/** A key for sealing card data, as in `GET /.well-known/card-data-keys.json` (RFC 7517, RFC 8037). */
const cardDataPublicKey = z
  .discriminatedUnion('kty', [
    z
      .object({
        kty: z.literal('OKP').describe('Key type (RFC 8037)'),
        crv: z.literal('X25519').describe('Elliptic curve of the key'),
        x: coordinate,
        ...publicKeyMembers,
      })
      .meta({ id: 'CardDataKeyX25519' }),
    z
      .object({
        kty: z.literal('EC').describe('Key type (RFC 7518)'),
        crv: z.literal('P-256').describe('Elliptic curve of the key'),
        x: coordinate,
        y: coordinate,
        ...publicKeyMembers,
      })
      .meta({ id: 'CardDataKeyP256' }),
  ])
  .meta({ id: 'CardDataKey' });

/** Newest first: a reader uses the first key with a curve that it supports. */
export const cardDataKeySet = z
  .object({
    keys: z
      .array(cardDataPublicKey)
      .min(1)
      .describe('Public keys, newest first; use the first key with a supported curve'),
  })
  .meta({ id: 'CardDataKeySet' });

export type CardDataPublicKey = z.infer<typeof cardDataPublicKey>;
export type CardDataKeySet = z.infer<typeof cardDataKeySet>;
