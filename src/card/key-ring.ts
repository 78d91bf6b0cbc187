import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  hash,
  type KeyObject,
  sign as signWith,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CardDataKeySet, CardDataPublicKey } from '#schemas/card-data';
import { StartError } from '../basics/errors.ts';
import { type KeyRingFile, type KeyToken, keyRingFile, MAX_KEY_RING_BYTES, type PrivateJwk } from './key-ring-file.ts';

/**
 * The private key of a JWK, or undefined if its halves do not belong together. Node imports `x` and `y` without a
 * check, and a mismatched pair would announce a key for which nothing can be opened.
 */
function importPrivateJwk(jwk: PrivateJwk): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    return jwk.kty === 'EC' ? (isOwnPoint(jwk) ? key : undefined) : isOwnCoordinate(jwk.x, key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function isOwnCoordinate(x: string, key: KeyObject): boolean {
  return createPublicKey(key).export({ format: 'jwk' }).x === x;
}

function isOwnPoint({ x, y, d }: Extract<PrivateJwk, { kty: 'EC' }>): boolean {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(d, 'base64url');
  const uncompressed = Buffer.concat([Buffer.of(0x04), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return pair.getPublicKey().equals(uncompressed);
}

/**
 * Opens the entries of a key file, of which some may only name a key in a token.
 *
 * A secret of the file that is sealed under a key of the token is opened once and then kept in memory, because every tap
 * needs it. The token thus protects the file and its copies, and makes them useless elsewhere; it does not protect the
 * memory of a running process. Private keys never leave the token.
 */
export class KeyOpener {
  readonly #token: KeyToken | undefined;
  readonly #path: string;
  /** By id and sealed value, so that a changed file costs only calls for its new keys. */
  readonly #opened = new Map<string, KeyObject>();

  constructor(token: KeyToken | undefined, path: string) {
    this.#token = token;
    this.#path = path;
  }

  cardDataKey(entry: KeyRingFile['cardData'][number], place: string): CardDataKey {
    const { kid, retireAt, isPrepared = false } = entry;
    const retireAtMs = retireAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(retireAt);
    if ('privateKey' in entry) {
      const privateKey = this.#import(entry.privateKey, place);
      const publicJwk = cardDataJwk(kid, createPublicKey(privateKey));
      const agree = (publicKey: KeyObject) => diffieHellman({ privateKey, publicKey });
      return { kid, curve: entry.privateKey.crv, publicJwk, retireAtMs, isPrepared, agree };
    }
    const token = this.#tokenFor(place);
    const publicJwk = cardDataJwk(kid, this.#importPublic(entry.publicKey, place));
    const agree = (publicKey: KeyObject) => token.agree(entry.tokenKey, pointOf(publicKey));
    return { kid, curve: 'P-256', publicJwk, retireAtMs, isPrepared, agree };
  }

  signingKey(entry: KeyRingFile['tokenSigning'][number], place: string): TokenSigningKey {
    const { kid } = entry;
    if ('privateKey' in entry) {
      const privateKey = this.#import(entry.privateKey, place);
      const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
      return { kid, publicKey: createPublicKey(privateKey), sign: (message) => signWith('sha256', message, key) };
    }
    const token = this.#tokenFor(place);
    return {
      kid,
      publicKey: this.#importPublic(entry.publicKey, place),
      sign: (message) => token.sign(entry.tokenKey, hash('sha256', message, 'buffer')),
    };
  }

  secretKey(entry: KeyRingFile['panSealing'][number]): NamedSecretKey {
    const { id } = entry;
    if ('secret' in entry) return { id, key: createSecretKey(entry.secret, 'base64url') };
    const name = `${id} ${entry.sealed}`;
    const known = this.#opened.get(name);
    if (known !== undefined) return { id, key: known };
    const secret = this.#tokenFor(id).openNow(entry.tokenKey, Buffer.from(entry.sealed, 'base64url'), Buffer.from(id));
    const key = createSecretKey(secret);
    secret.fill(0);
    this.#opened.set(name, key);
    return { id, key };
  }

  #import(jwk: PrivateJwk, place: string): KeyObject {
    const key = importPrivateJwk(jwk);
    if (key === undefined) throw this.#unusable(place);
    return key;
  }

  #importPublic(jwk: { readonly x: string; readonly y: string }, place: string): KeyObject {
    try {
      return createPublicKey({ key: { ...jwk, kty: 'EC', crv: 'P-256' }, format: 'jwk' });
    } catch {
      throw this.#unusable(place);
    }
  }

  #unusable(place: string): StartError {
    return new StartError('BAD_CONFIG', `the key file ${this.#path} has an unusable key at ${place}`);
  }

  #tokenFor(place: string): KeyToken {
    if (this.#token) return this.#token;
    const reason = `the key file ${this.#path} names a key of a token at ${place}: set PKCS11_MODULE, PKCS11_TOKEN and PKCS11_PIN_FILE`;
    throw new StartError('BAD_CONFIG', reason);
  }
}

function cardDataJwk(kid: string, publicKey: KeyObject): CardDataPublicKey {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  return { kty, crv, x, ...(y === undefined ? {} : { y }), kid, use: 'enc', alg: 'ECDH-ES' } as CardDataPublicKey;
}

/** The uncompressed point of a key on P-256 (SEC 1 2.3.3). */
function pointOf(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.of(0x04), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]);
}

/** The keys of one purpose. */
export interface SecretKeys {
  readonly current: NamedSecretKey;
  readonly all: readonly NamedSecretKey[];
  find(id: string): NamedSecretKey | undefined;
}

/**
 * The keys of one installation, from one JSON file that no other user may read, or from a token. Each list is newest
 * first: the first key seals, hashes or signs, and the others still open, find and verify older values. No key serves
 * two purposes.
 */
export interface KeyRing {
  /** The key that a blob names, retired or not: the caller decides whether the key may still open. */
  cardDataKey(kid: string): CardDataKey | undefined;
  /** The public keys for readers: every key that opens at `nowMs`, newest first, without those that are only prepared. */
  publicCardDataKeys(nowMs: number): CardDataKeySet;
  readonly panSealing: SecretKeys;
  readonly panHash: SecretKeys;
  readonly blobHmac: SecretKeys;
  /** Seals the secrets that sign webhooks. */
  readonly webhookSealing: SecretKeys;
  /** Newest first; the first one signs. */
  readonly tokenSigning: readonly TokenSigningKey[];
  /** The key that a token names. */
  tokenKey(kid: string): TokenSigningKey | undefined;
}

/**
 * Reads and checks the key file of an installation.
 *
 * @param token the PKCS #11 token of the keys that the file only names
 * @throws {StartError} BAD_CONFIG if the file cannot be read, is not a key ring, or contains an unusable key; the
 * text names the place inside the file, never a value. HsmUnavailable if the token does not respond
 */
export async function readKeyRing(path: string, token?: KeyToken): Promise<KeyRing> {
  return buildKeyRing(await readKeyRingFile(path), new KeyOpener(token, path));
}

/** @throws {StartError} BAD_CONFIG, as `readKeyRing` does */
export async function readKeyRingFile(path: string): Promise<KeyRingFile> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StartError('BAD_CONFIG', `the key file ${path} cannot be read (${cause.code})`);
  });
  return parseKeyRingFile(text, path);
}

/** @throws {StartError} BAD_CONFIG, as `readKeyRing` does */
export function parseKeyRingFile(text: string, path: string): KeyRingFile {
  if (text.length > MAX_KEY_RING_BYTES) throw new StartError('BAD_CONFIG', `the key file ${path} is too large`);
  const parsed = keyRingFile.safeParse(parseJson(text, path));
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path: place, code }) => `/${place.join('/')} ${code}`);
  throw new StartError('BAD_CONFIG', `the key file ${path} is not valid at ${places.slice(0, 5).join(', ')}`);
}

/** The message of JSON.parse quotes the text around the mistake, which here is a key. */
function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StartError('BAD_CONFIG', `the key file ${path} is not JSON`);
  }
}

/** @throws {StartError} BAD_CONFIG if a key is unusable; HsmUnavailable if one is in a token that does not respond */
export function buildKeyRing(file: KeyRingFile, opener: KeyOpener): KeyRing {
  const cardData = file.cardData.map((entry, position) => opener.cardDataKey(entry, `/cardData/${position}`));
  const tokenSigning = file.tokenSigning.map((entry, position) =>
    opener.signingKey(entry, `/tokenSigning/${position}`),
  );
  const secretKeys = (entries: KeyRingFile['panSealing']): SecretKeys => {
    const all = entries.map((entry) => opener.secretKey(entry));
    const byId = new Map(all.map((key) => [key.id, key]));
    return { current: all[0]!, all, find: (id) => byId.get(id) };
  };
  const byKid = new Map(cardData.map((key) => [key.kid, key]));
  return {
    cardDataKey: (kid) => byKid.get(kid),
    publicCardDataKeys: (nowMs) => ({
      keys: cardData.filter((key) => nowMs < key.retireAtMs && !key.isPrepared).map((key) => key.publicJwk),
    }),
    panSealing: secretKeys(file.panSealing),
    panHash: secretKeys(file.panHash),
    blobHmac: secretKeys(file.blobHmac),
    webhookSealing: secretKeys(file.webhookSealing),
    tokenSigning,
    tokenKey: (kid) => tokenSigning.find((key) => key.kid === kid),
  };
}

/** The curves of card data keys. */
type Curve = 'X25519' | 'P-256';

/**
 * Opens the blobs that readers sealed for `kid`, until `retireAtMs` (Infinity while the key is announced as
 * current).
 */
export interface CardDataKey {
  readonly kid: string;
  readonly curve: Curve;
  readonly publicJwk: CardDataPublicKey;
  readonly retireAtMs: number;
  readonly isPrepared: boolean;
  /**
   * The ECDH secret with a sender's key, 32 bytes.
   *
   * @throws an error for a point that is not on the curve; HsmUnavailable if the key is in a token that does not respond
   */
  agree(ephemeral: KeyObject): Promise<Buffer> | Buffer;
}

/** A 256-bit key. Its `id` is stored with everything that was made with it. */
export interface NamedSecretKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** Signs the gateway's own tokens with ES256. */
export interface TokenSigningKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** The signature: r and s, 64 bytes. @throws HsmUnavailable if the key is in a token that does not respond */
  sign(message: Uint8Array): Promise<Buffer> | Buffer;
}
