/**
 * The reader's side of card data, for kernel teams. It imports only the definitions of the boundary, and runs in
 * every environment with Web Crypto, including browsers. Its result is the body of 4.4.
 */
import { type CardDataPublicKey, GENERAL_TAGS, READER_TAGS } from './card-data.ts';

/** What `generateKey` returns for these algorithms, by the types of Node as well as those of browsers. */
type KeyPair = Extract<Awaited<ReturnType<typeof crypto.subtle.generateKey>>, { privateKey: unknown }>;

/** Values that a kernel read, by tag: EMV data objects and READER_TAGS. */
export type TapValues = ReadonlyMap<number, Uint8Array>;

/** Binding of a blob: it cannot be opened with other values. */
export interface SealedFor {
  /** Id of the installation, as in the header X-Device-Installation-Id. */
  readonly deviceInstallationId: string;
  readonly merchantReference: string;
  /** The merchant of the token. Without it, a copy of the blob opens for other merchants, too. */
  readonly merchant?: { readonly acquirerId: number; readonly merchantId: string } | undefined;
}

/** The body of 4.4. */
export interface SealedTap {
  readonly merchantReference: string;
  readonly generalCardData: string;
  readonly paymentCardData: string;
}

const NONCE_BYTES = 12;
const KEY_BITS = 256;
const ENCRYPTION = 'A256GCM';

/**
 * Both blobs of one tap or its PIN step, sealed with a new ephemeral key.
 *
 * @param recipient the first key of `GET /.well-known/card-data-keys.json` with a curve that this runtime supports
 * @throws the runtime's error if `recipient` is not a point of its curve
 */
export async function sealCardData(
  recipient: CardDataPublicKey,
  values: TapValues,
  binding: SealedFor,
): Promise<SealedTap> {
  const isGeneral = ([tag]: readonly [number, Uint8Array]) => GENERAL_TAGS.has(tag);
  const general = encodeTlv([...values].filter(isGeneral));
  // Authenticates the blob that is not sealed.
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', general));
  const secret = [...values].filter((entry) => !isGeneral(entry));
  const payment = encodeTlv([...secret, [READER_TAGS.generalDigest, digest]]);
  return {
    merchantReference: binding.merchantReference,
    generalCardData: base64(general),
    paymentCardData: base64(utf8(await sealJwe(recipient, payment, binding))),
  };
}

/** RFC 7516 5.1 for direct key agreement (RFC 7518 4.6): the encrypted key is empty, the header is authenticated. */
async function sealJwe(
  recipient: CardDataPublicKey,
  plaintext: Uint8Array<ArrayBuffer>,
  binding: SealedFor,
): Promise<string> {
  const algorithm = recipient.crv === 'X25519' ? { name: 'X25519' } : { name: 'ECDH', namedCurve: 'P-256' };
  const { kid, use: _use, alg: _alg, ...point } = recipient;
  const theirs = await crypto.subtle.importKey('jwk', point, algorithm, false, []);
  const ours = (await crypto.subtle.generateKey(algorithm, true, ['deriveBits'])) as KeyPair;
  const shared = await crypto.subtle.deriveBits({ name: algorithm.name, public: theirs }, ours.privateKey, KEY_BITS);
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', ours.publicKey);
  const apu = utf8(binding.deviceInstallationId);
  const apv = utf8(binding.merchantReference);
  const epk = { kty, crv, x, ...(y !== undefined && { y }) };
  const { merchant } = binding;
  const parties = { apu: base64url(apu), apv: base64url(apv), ...(merchant !== undefined && { merchant }) };
  const header = { alg: 'ECDH-ES', enc: ENCRYPTION, kid, epk, ...parties };
  const protectedHeader = base64url(utf8(JSON.stringify(header)));
  const key = await contentKey(new Uint8Array(shared), apu, apv);
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const gcm = { name: 'AES-GCM', iv, additionalData: utf8(protectedHeader) };
  const sealed = new Uint8Array(await crypto.subtle.encrypt(gcm, key, plaintext));
  // Web Crypto appends the tag of 16 bytes; a JWE has it separately.
  const tagAt = sealed.length - 16;
  const parts = [iv, sealed.subarray(0, tagAt), sealed.subarray(tagAt)].map(base64url);
  return `${protectedHeader}..${parts.join('.')}`;
}

/**
 * Concat KDF (NIST SP 800-56A 5.8.1) with the fields of RFC 7518 4.6.2. The first round of SHA-256 yields the whole
 * key.
 */
async function contentKey(secret: Uint8Array, apu: Uint8Array, apv: Uint8Array): Promise<KeyPair['publicKey']> {
  const withLength = (bytes: Uint8Array) => [uint32(bytes.length), bytes];
  const input = concat([
    uint32(1),
    secret,
    ...withLength(utf8(ENCRYPTION)),
    ...withLength(apu),
    ...withLength(apv),
    uint32(KEY_BITS),
  ]);
  const derived = await crypto.subtle.digest('SHA-256', input);
  return crypto.subtle.importKey('raw', derived, 'AES-GCM', false, ['encrypt']);
}

/** BER-TLV (EMV Book 3 Annex B): the tag's bytes as in the number, the length in as few bytes as possible. */
function encodeTlv(objects: readonly (readonly [tag: number, value: Uint8Array])[]): Uint8Array<ArrayBuffer> {
  return concat(objects.flatMap(([tag, value]) => [bigEndian(tag), lengthOf(value), value]));
}

function lengthOf({ length }: Uint8Array): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes = bigEndian(length);
  return concat([Uint8Array.of(0x80 | bytes.length), bytes]);
}

function bigEndian(number: number): Uint8Array {
  const bytes = [...uint32(number)];
  return Uint8Array.from(bytes.slice(bytes.findIndex((byte) => byte !== 0)));
}

function uint32(number: number): Uint8Array {
  return Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
