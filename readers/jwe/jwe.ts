import { isUtf8 } from 'node:buffer';
import { createPublicKey, diffieHellman, generateKeyPairSync, hash, type JsonWebKey, randomBytes } from 'node:crypto';
import {
  type BoundMerchant,
  CardDataRefusal,
  decodeBase64Url,
  decryptGcm,
  type EphemeralKey,
  encryptGcm,
  GCM_NONCE_BYTES,
  GCM_TAG_BYTES,
  type OpenedBlob,
  type ReaderKeys,
  type SamplePublicKey,
  type TapBinding,
} from '#reader-kit';

/**
 * The only JWE profile for card data: ECDH-ES direct key agreement (P-256 or X25519) and A256GCM. `sealJwe` is
 * the reader's end and `openJwe` the gateway's.
 */

const JWE_ALGORITHM = 'ECDH-ES';
const JWE_ENCRYPTION = 'A256GCM';

/** Length of an agreed secret: both curves give 32 bytes. */
const SECRET_BYTES = 32;
/** AlgorithmID of OtherInfo: the name of `enc` after its 32-bit length (RFC 7518 4.6.2). */
const ALGORITHM_ID = lengthPrefixed(Buffer.from(JWE_ENCRYPTION));
/** SuppPubInfo: the key length in bits. */
const KEY_LENGTH_BITS = uint32(256);
/** One round of SHA-256 produces the whole key, so the counter of the Concat KDF is always 1. */
const FIRST_ROUND = uint32(1);

/**
 * The content key of one JWE: Concat KDF (NIST SP 800-56A 5.8.1) with the inputs of RFC 7518 4.6.2. `apu` and `apv`
 * are inputs, so the same secret with another merchant reference produces another key.
 *
 * @param secret the 32-byte ECDH shared secret
 * @returns 32 bytes, to be zeroed after use
 */
export function deriveContentKey(secret: Uint8Array, apu: Uint8Array, apv: Uint8Array): Buffer {
  const input = Buffer.concat([
    FIRST_ROUND,
    secret,
    ALGORITHM_ID,
    uint32(apu.length),
    apu,
    uint32(apv.length),
    apv,
    KEY_LENGTH_BITS,
  ]);
  const key = hash('sha256', input, 'buffer');
  input.fill(0, 0, FIRST_ROUND.length + SECRET_BYTES);
  return key;
}

function lengthPrefixed(bytes: Buffer): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * Opens the compact JWEs of card data: RFC 7516 restricted to one profile. It uses node:crypto
 * directly because opening is the most expensive step of a tap. The tests check every part of it against the package
 * `jose`.
 *
 * Nothing here depends on a secret before the tag is checked. The sender already knows the reason for any earlier
 * refusal (a header, a kid, a point off the curve), and the gateway responds to all of them in the same way.
 */

/**
 * `apu` and `apv` at their maximum length (512 and 1,020 characters) in Base64url, with twice what the rest of a
 * header needs, the merchant included.
 */
const MAX_HEADER_CHARS = 4_096;

/**
 * All members that a header may have; `typ` and `cty` change nothing, and `merchant` is not of a standard. Other members
 * of RFC 7515 and 7516 would change the meaning.
 */
const HEADER_NAMES = new Set(['alg', 'enc', 'kid', 'epk', 'apu', 'apv', 'merchant', 'typ', 'cty']);
const MERCHANT_NAMES = new Set(['acquirerId', 'merchantId']);
/** The members of an ephemeral key: `kty`, and which coordinates a point of the curve has (RFC 7518 6.2.1, RFC 8037 2). */
const EPK_TYPES = new Map([
  ['X25519', { kty: 'OKP', names: new Set(['kty', 'crv', 'x']) }],
  ['P-256', { kty: 'EC', names: new Set(['kty', 'crv', 'x', 'y']) }],
]);

/**
 * The plaintext of a compact JWE, with the device (`apu`) and the reference (`apv`) that its key was derived for, and the
 * merchant that its header names. The header is the additional data of the cipher, so it cannot be changed.
 *
 * @throws {CardDataRefusal} for everything that is not a blob of this profile under a live key
 */
export async function openJwe(compact: string, keys: Pick<ReaderKeys, 'agree'>): Promise<OpenedBlob> {
  const parts = compact.split('.', 6);
  if (parts.length !== 5 || parts[1] !== '') throw new CardDataRefusal('not-of-format');
  const [protectedHeader, , iv, ciphertext, tag] = parts as [string, string, string, string, string];
  const { kid, epk, apu, apv, merchant } = readHeader(protectedHeader);
  // `kid` is only a map key (RFC 7515 4.1.4 leaves its meaning open). It is never a path or a query.
  const agreed = await keys.agree({ kid }, epk);
  const payment = decrypt(deriveContentKey(agreed.secret, apu, apv), protectedHeader, iv, ciphertext, tag);
  agreed.keep();
  return { payment, boundTo: { deviceInstallationId: apu.toString(), merchantReference: apv.toString(), merchant } };
}

type Members = Record<string, unknown>;

interface Header {
  readonly kid: string;
  readonly epk: EphemeralKey;
  readonly apu: Buffer;
  readonly apv: Buffer;
  readonly merchant: BoundMerchant | undefined;
}

function readHeader(protectedHeader: string): Header {
  if (protectedHeader.length > MAX_HEADER_CHARS) throw new CardDataRefusal('header');
  const header = parseObject(decodeBase64Url(protectedHeader));
  if (header === undefined || !holdsOnly(header, HEADER_NAMES)) throw new CardDataRefusal('header');
  const { alg, enc, kid, apu, apv, merchant } = header;
  if (apu === apv || typeof apu !== 'string' || typeof apv !== 'string') throw new CardDataRefusal('header');
  if (alg !== JWE_ALGORITHM || enc !== JWE_ENCRYPTION) throw new CardDataRefusal('algorithm');
  if (typeof kid !== 'string') throw new CardDataRefusal('unknown-key');
  const parties = { apu: readParty(apu), apv: readParty(apv), merchant: readMerchant(merchant) };
  return { kid, epk: readEphemeralKey(header.epk), ...parties };
}

/** Text in UTF-8: two texts with the same bytes would be two bindings of one key. */
function readParty(encoded: string): Buffer {
  const bytes = decodeBase64Url(encoded);
  if (bytes === undefined || !isUtf8(bytes)) throw new CardDataRefusal('header');
  return bytes;
}

/** @throws CardDataRefusal for a merchant without its acquirer, because merchant ids are unique per acquirer only */
function readMerchant(merchant: unknown): BoundMerchant | undefined {
  if (merchant === undefined) return undefined;
  if (!isObject(merchant) || !holdsOnly(merchant, MERCHANT_NAMES)) throw new CardDataRefusal('header');
  const { acquirerId, merchantId } = merchant;
  if (typeof acquirerId !== 'number' || typeof merchantId !== 'string') throw new CardDataRefusal('header');
  return { acquirerId, merchantId };
}

function parseObject(bytes: Buffer | undefined): Members | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function holdsOnly(members: Members, names: ReadonlySet<string>): boolean {
  return Object.keys(members).every((name) => names.has(name));
}

function readEphemeralKey(epk: unknown): EphemeralKey {
  const type = isObject(epk) ? EPK_TYPES.get(String(epk.crv)) : undefined;
  const fits =
    type !== undefined &&
    isObject(epk) &&
    epk.kty === type.kty &&
    holdsOnly(epk, type.names) &&
    typeof epk.x === 'string' &&
    (epk.crv === 'X25519' || typeof epk.y === 'string');
  if (!fits) throw new CardDataRefusal('ephemeral-key');
  return epk as unknown as EphemeralKey;
}

/** Decrypts and zeroes the key. The tag also covers the protected header (RFC 7516 5.2 step 15). */
function decrypt(
  key: Buffer,
  protectedHeader: string,
  ivText: string,
  ciphertextText: string,
  tagText: string,
): Buffer {
  const iv = decodeBase64Url(ivText);
  const ciphertext = decodeBase64Url(ciphertextText);
  const tag = decodeBase64Url(tagText);
  // RFC 7518 5.3: 96 bits of initialization vector, 128 of tag. A shorter tag would be easier to guess.
  if (iv?.length !== GCM_NONCE_BYTES || tag?.length !== GCM_TAG_BYTES || ciphertext === undefined) {
    throw new CardDataRefusal('not-of-format');
  }
  const plaintext = decryptGcm(key, iv, ciphertext, tag, Buffer.from(protectedHeader, 'latin1'));
  if (plaintext === undefined) throw new CardDataRefusal('decryption');
  return plaintext;
}

/** The ephemeral key of a proximity session, and the secret that it shares with the recipient. */
interface JweSession {
  readonly kid: string;
  readonly publicJwk: JsonWebKey;
  readonly secret: Buffer;
}

/** @throws node's error if `recipient` is not a point of its curve */
export function openJweSession(recipient: SamplePublicKey): JweSession {
  const { privateKey, publicKey } =
    recipient.crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const recipientKey = createPublicKey({ key: { ...recipient }, format: 'jwk' });
  return {
    kid: recipient.kid,
    publicJwk: { kty, crv, x, ...(y === undefined ? {} : { y }) } as JsonWebKey,
    secret: diffieHellman({ privateKey, publicKey: recipientKey }),
  };
}

/** RFC 7516 5.1 for direct key agreement: the encrypted key is empty, the protected header is the additional data. */
export function sealJwe(plaintext: Uint8Array, { kid, publicJwk, secret }: JweSession, binding: TapBinding): string {
  const apu = Buffer.from(binding.deviceInstallationId);
  const apv = Buffer.from(binding.merchantReference);
  const header = JSON.stringify({
    alg: JWE_ALGORITHM,
    enc: JWE_ENCRYPTION,
    kid,
    epk: publicJwk,
    apu: apu.toString('base64url'),
    apv: apv.toString('base64url'),
    merchant: binding.merchant,
  });
  const protectedHeader = Buffer.from(header).toString('base64url');
  const iv = randomBytes(GCM_NONCE_BYTES);
  const sealed = encryptGcm(deriveContentKey(secret, apu, apv), iv, plaintext, Buffer.from(protectedHeader));
  const tagAt = sealed.length - GCM_TAG_BYTES;
  const parts = [iv, sealed.subarray(0, tagAt), sealed.subarray(tagAt)].map((bytes) => bytes.toString('base64url'));
  return `${protectedHeader}..${parts.join('.')}`;
}
