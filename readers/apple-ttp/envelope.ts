import { createHash, hash } from 'node:crypto';
import {
  CardDataRefusal,
  decodeBase64,
  decryptGcm,
  type EphemeralKey,
  encryptGcm,
  GCM_TAG_BYTES,
  type TapBinding,
  z,
} from '#reader-kit';

/** The limit of the field, which the gateway has checked, leaves no longer text. */
const MAX_DATA_CHARS = 98_304;
/** A DER SubjectPublicKeyInfo of P-256 has 91 bytes; a SHA-256 has 32. */
const PUBLIC_KEY_CHARS = 124;
const HASH_CHARS = 44;
/** SubjectPublicKeyInfo of P-256 up to an uncompressed point (RFC 5480 2.1): the only spelling that is accepted. */
const SPKI_BEGINNING = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex');
const COORDINATE_BYTES = 32;

const envelope = z.strictObject({
  version: z.literal('EC_v1'),
  data: z.string().max(MAX_DATA_CHARS),
  header: z.strictObject({
    ephemeralPublicKey: z.string().length(PUBLIC_KEY_CHARS),
    publicKeyHash: z.string().length(HASH_CHARS),
  }),
});

/** What a reader sends: JSON, without spaces, with the members in this order. */
export type Envelope = z.infer<typeof envelope>;

interface OpenedEnvelope {
  /** Ciphertext, then its tag. */
  readonly data: Uint8Array;
  readonly ephemeral: EphemeralKey;
  /** SHA-256 of the public key for which the reader sealed. */
  readonly publicKeyHash: Uint8Array;
}

/** @throws CardDataRefusal for every other text */
export function readEnvelope(text: string): OpenedEnvelope {
  const parsed = envelope.safeParse(parseJson(text));
  // One envelope has one spelling, so the same data cannot come back as a text that looks new.
  if (!parsed.success || JSON.stringify(parsed.data) !== text) throw new CardDataRefusal('not-of-format');
  const { data, header } = parsed.data;
  const bytes = [data, header.ephemeralPublicKey, header.publicKeyHash].map(decodeBase64);
  const [ciphertext, spki, publicKeyHash] = bytes;
  if (!ciphertext || !spki || !publicKeyHash || ciphertext.length <= GCM_TAG_BYTES)
    throw new CardDataRefusal('not-of-format');
  return { data: ciphertext, ephemeral: readPoint(spki), publicKeyHash };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The gateway checks that the point is on the curve when it uses it. */
function readPoint(spki: Buffer): EphemeralKey {
  const point = spki.subarray(SPKI_BEGINNING.length);
  const isP256 =
    SPKI_BEGINNING.equals(spki.subarray(0, SPKI_BEGINNING.length)) && point.length === 2 * COORDINATE_BYTES;
  if (!isP256) throw new CardDataRefusal('ephemeral-key');
  const [x, y] = [point.subarray(0, COORDINATE_BYTES), point.subarray(COORDINATE_BYTES)];
  return { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') };
}

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
