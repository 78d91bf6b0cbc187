/**
 * Opens the compact JWEs of card data: RFC 7516 restricted to one profile (`jwe-profile.ts`). It uses node:crypto
 * directly because opening is the most expensive step of a tap. The tests check every part of it against the package
 * `jose`.
 *
 * Nothing here depends on a secret before the tag is checked. The sender already knows the reason for any earlier
 * refusal (a header, a kid, a point off the curve), and all refusals become one error in `open-card-data.ts`.
 */
import { createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { decodeBase64Url } from '../bytes/base64.ts';
import { LruMap } from '../bytes/lru-map.ts';
import { decryptGcm, GCM_NONCE_BYTES, GCM_TAG_BYTES } from './aes-gcm.ts';
import { type Curve, deriveContentKey, JWE_ALGORITHM, JWE_ENCRYPTION, type TapBinding } from './jwe-profile.ts';
import type { CardDataKey, KeyRing } from './key-ring.ts';
import { CardDataRefusal } from './refusal.ts';

/**
 * `apu` and `apv` at their maximum length (512 and 1,020 characters) in Base64url, with twice what the rest of a
 * header needs.
 */
const MAX_HEADER_CHARS = 4_096;
/** Proximity sessions in use at once on one node. An entry takes about 300 bytes. */
const MAX_CACHED_SECRETS = 4_096;

/**
 * All members that a header may have; `typ` and `cty` change nothing. Other members of RFC 7515 and 7516 would
 * change the meaning.
 */
const HEADER_NAMES = new Set(['alg', 'enc', 'kid', 'epk', 'apu', 'apv', 'typ', 'cty']);
/** The members of an ephemeral key: `kty`, and which coordinates a point of the curve has (RFC 7518 6.2.1, RFC 8037 2). */
const EPK_TYPES = { X25519: 'OKP', 'P-256': 'EC' };
const EPK_NAMES = { X25519: new Set(['kty', 'crv', 'x']), 'P-256': new Set(['kty', 'crv', 'x', 'y']) };

interface CachedSecret {
  /**
   * The key that the secret was agreed with, so that a kid that is reassigned to another key never uses an old
   * secret.
   */
  readonly privateKey: KeyObject;
  readonly secret: Buffer;
}

type Ecdh = (keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }) => Buffer;

/** Opens blobs sealed for the keys of an installation, and caches the secrets of readers' sessions. */
export class JweOpener {
  readonly #keys: Pick<KeyRing, 'cardDataKey'>;
  readonly #now: () => number;
  readonly #ecdh: Ecdh;
  /** ECDH secrets by kid and ephemeral key: a reader may keep one `epk` for a proximity session (design: card data). */
  readonly #secrets = new LruMap<string, CachedSecret>(MAX_CACHED_SECRETS);

  /** @param ecdh tests replace it to count calls */
  constructor(keys: Pick<KeyRing, 'cardDataKey'>, now: () => number, ecdh: Ecdh = diffieHellman) {
    this.#keys = keys;
    this.#now = now;
    this.#ecdh = ecdh;
  }

  /**
   * The plaintext of a compact JWE.
   *
   * @throws {CardDataRefusal} for everything that is not a blob of this profile with this `binding`, under a live
   * key
   */
  open(compact: string, binding: TapBinding): Buffer {
    const parts = compact.split('.', 6);
    if (parts.length !== 5 || parts[1] !== '') throw new CardDataRefusal('not-compact-jwe');
    const [protectedHeader, , iv, ciphertext, tag] = parts as [string, string, string, string, string];
    const header = readHeader(protectedHeader);
    const apu = Buffer.from(binding.deviceInstallationId);
    const apv = Buffer.from(binding.merchantReference);
    if (header.apu !== apu.toString('base64url')) throw new CardDataRefusal('other-device');
    if (header.apv !== apv.toString('base64url')) throw new CardDataRefusal('other-reference');

    const key = this.#liveKey(header.kid);
    const epk = readEphemeralKey(header.epk, key.curve);
    const sessionId = `${key.kid} ${epk.x} ${epk.y ?? ''}`;
    const cached = this.#secrets.get(sessionId);
    const known = cached?.privateKey === key.privateKey ? cached.secret : undefined;
    const secret = known ?? agree(key, epk, this.#ecdh);
    const contentKey = deriveContentKey(secret, apu, apv);
    const plaintext = decrypt(contentKey, protectedHeader, iv, ciphertext, tag);
    // Only after the tag was right, so that an attacker who guesses cannot evict sessions.
    if (known === undefined) this.#secrets.set(sessionId, { privateKey: key.privateKey, secret });
    return plaintext;
  }

  /** `kid` is only a map key (RFC 7515 4.1.4 leaves its meaning open). It is never a path or a query. */
  #liveKey(kid: unknown): CardDataKey {
    const key = typeof kid === 'string' ? this.#keys.cardDataKey(kid) : undefined;
    if (key === undefined) throw new CardDataRefusal('unknown-key');
    if (this.#now() >= key.retireAtMs) throw new CardDataRefusal('retired-key');
    return key;
  }
}

type Members = Record<string, unknown>;

function readHeader(protectedHeader: string): Members & { epk: Members } {
  if (protectedHeader.length > MAX_HEADER_CHARS) throw new CardDataRefusal('header');
  const header = parseObject(decodeBase64Url(protectedHeader));
  if (header === undefined || !holdsOnly(header, HEADER_NAMES)) throw new CardDataRefusal('header');
  if (header.apu === header.apv) throw new CardDataRefusal('header');
  if (header.alg !== JWE_ALGORITHM || header.enc !== JWE_ENCRYPTION) throw new CardDataRefusal('algorithm');
  if (!isObject(header.epk)) throw new CardDataRefusal('ephemeral-key');
  return header as Members & { epk: Members };
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

interface EphemeralKey {
  readonly kty: string;
  readonly crv: Curve;
  readonly x: string;
  readonly y?: string;
}

function readEphemeralKey(epk: Members, curve: Curve): EphemeralKey {
  const fits =
    epk.kty === EPK_TYPES[curve] &&
    epk.crv === curve &&
    holdsOnly(epk, EPK_NAMES[curve]) &&
    typeof epk.x === 'string' &&
    (curve === 'X25519' || typeof epk.y === 'string');
  if (!fits) throw new CardDataRefusal('ephemeral-key');
  return epk as unknown as EphemeralKey;
}

/**
 * The ECDH secret of the gateway's key and the sender's. The import refuses a point off the curve. The derivation
 * refuses a point of low order (all-zero secret, RFC 7748 6.1).
 */
function agree({ privateKey }: CardDataKey, epk: EphemeralKey, ecdh: Ecdh): Buffer {
  if (!isCoordinate(epk.x) || (epk.y !== undefined && !isCoordinate(epk.y))) throw new CardDataRefusal('ephemeral-key');
  try {
    const publicKey = createPublicKey({ key: { ...epk }, format: 'jwk' });
    return ecdh({ privateKey, publicKey });
  } catch {
    throw new CardDataRefusal('ephemeral-key');
  }
}

/** Both curves have coordinates of 32 bytes, written in full (RFC 7518 6.2.1.2, RFC 8037 2). */
function isCoordinate(text: string): boolean {
  return decodeBase64Url(text)?.length === 32;
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
  // RFC 7518 5.3: 96 bits of initialisation vector, 128 of tag. A shorter tag would be easier to guess.
  if (iv?.length !== GCM_NONCE_BYTES || tag?.length !== GCM_TAG_BYTES || ciphertext === undefined) {
    throw new CardDataRefusal('not-compact-jwe');
  }
  const plaintext = decryptGcm(key, iv, ciphertext, tag, Buffer.from(protectedHeader, 'latin1'));
  if (plaintext === undefined) throw new CardDataRefusal('decryption');
  return plaintext;
}
