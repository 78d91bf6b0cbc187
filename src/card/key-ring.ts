/**
 * The keys of one installation, from one JSON file that no other user may read, or from a token. Each list is newest
 * first: the first key seals, hashes or signs, and the others still open, find and verify older values. No key serves
 * two purposes.
 */
import { readFile } from 'node:fs/promises';
import type { CardDataKeySet } from '#schemas/card-data';
import { StartError } from '../basics/errors.ts';
import { KeyOpener } from './key-opener.ts';
import { type KeyRingFile, keyRingFile, MAX_KEY_RING_BYTES } from './key-ring-file.ts';
import type { KeyToken } from './key-token.ts';
import type { CardDataKey, NamedSecretKey, TokenSigningKey } from './opened-keys.ts';

/** The keys of one purpose. */
export interface SecretKeys {
  readonly current: NamedSecretKey;
  readonly all: readonly NamedSecretKey[];
  find(id: string): NamedSecretKey | undefined;
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
