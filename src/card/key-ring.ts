/**
 * The keys of one installation, from one JSON file that only its owner may read. Each list is newest first: the
 * first key seals, hashes or signs, and the others still open, find and verify older values. No key serves two
 * purposes.
 */
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CardDataKeySet, CardDataPublicKey } from '#schemas/card-data';
import { StartError } from '../errors.ts';
import { type KeyRingFile, keyRingFile, MAX_KEY_RING_BYTES, type PrivateJwk } from './key-ring-file.ts';
import { importPrivateJwk } from './private-jwk.ts';

/** The curves of card data keys. */
export type Curve = 'X25519' | 'P-256';

/**
 * Opens the blobs that readers sealed for `kid`, until `retireAtMs` (Infinity while the key is announced as
 * current).
 */
export interface CardDataKey {
  readonly kid: string;
  readonly curve: Curve;
  readonly privateKey: KeyObject;
  readonly publicJwk: CardDataPublicKey;
  readonly retireAtMs: number;
}

/** A 256-bit key. Its `id` is stored with everything that was made with it. */
export interface NamedSecretKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The keys of one purpose. */
export interface SecretKeys {
  readonly current: NamedSecretKey;
  readonly all: readonly NamedSecretKey[];
  find(id: string): NamedSecretKey | undefined;
}

/** Signs the gateway's own tokens with ES256. */
export interface TokenSigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface KeyRing {
  /** The key that a blob names, retired or not: the caller decides whether the key may still open. */
  cardDataKey(kid: string): CardDataKey | undefined;
  /** The public keys for readers: every key that opens at `nowMs`, newest first. */
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
 * @throws {StartError} BAD_CONFIG if the file cannot be read, is not a key ring, or contains an unusable key; the
 * text names the place inside the file, never a value
 */
export async function readKeyRing(path: string): Promise<KeyRing> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StartError('BAD_CONFIG', `the key file ${path} cannot be read (${cause.code})`);
  });
  return buildKeyRing(parseKeyRingFile(text, path), path);
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

/** @throws {StartError} BAD_CONFIG if a key is unusable */
export function buildKeyRing(file: KeyRingFile, path: string): KeyRing {
  const importKey = (jwk: PrivateJwk, place: string) => {
    const key = importPrivateJwk(jwk);
    if (key === undefined) throw new StartError('BAD_CONFIG', `the key file ${path} has an unusable key at ${place}`);
    return key;
  };
  const cardData = file.cardData.map(({ kid, privateKey, retireAt }, position): CardDataKey => {
    const key = importKey(privateKey, `/cardData/${position}`);
    const retireAtMs = retireAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(retireAt);
    return { kid, curve: privateKey.crv, privateKey: key, publicJwk: publicJwk(kid, key), retireAtMs };
  });
  const tokenSigning = file.tokenSigning.map(({ kid, privateKey }, position): TokenSigningKey => {
    const key = importKey(privateKey, `/tokenSigning/${position}`);
    return { kid, privateKey: key, publicKey: createPublicKey(key) };
  });
  const byKid = new Map(cardData.map((key) => [key.kid, key]));
  return {
    cardDataKey: (kid) => byKid.get(kid),
    publicCardDataKeys: (nowMs) => ({
      keys: cardData.filter((key) => nowMs < key.retireAtMs).map((key) => key.publicJwk),
    }),
    panSealing: secretKeys(file.panSealing),
    panHash: secretKeys(file.panHash),
    blobHmac: secretKeys(file.blobHmac),
    webhookSealing: secretKeys(file.webhookSealing),
    tokenSigning,
    tokenKey: (kid) => tokenSigning.find((key) => key.kid === kid),
  };
}

function publicJwk(kid: string, privateKey: KeyObject): CardDataPublicKey {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { kty, crv, x, ...(y === undefined ? {} : { y }), kid, use: 'enc', alg: 'ECDH-ES' } as CardDataPublicKey;
}

function secretKeys(entries: KeyRingFile['panSealing']): SecretKeys {
  const all = entries.map(({ id, secret }) => ({ id, key: createSecretKey(secret, 'base64url') }));
  const byId = new Map(all.map((key) => [key.id, key]));
  return { current: all[0]!, all, find: (id) => byId.get(id) };
}
