import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { StartError } from '../basics/errors.ts';
import { changeFile } from '../basics/files/change-file.ts';
import { parseKeyRingFile } from './key-ring.ts';
import {
  freshTokenKeyId,
  type KeyRingFile,
  type KeyToken,
  keyRingFile,
  type PrivateJwk,
  type PublicJwk,
  publicKeyOfPoint,
} from './key-ring-file.ts';

type CardDataEntry = KeyRingFile['cardData'][number];
type SecretEntry = KeyRingFile['panSealing'][number];
type SigningEntry = KeyRingFile['tokenSigning'][number];

/** Makes new entries of a key file: with their keys, or with keys that are created in a token and stay there. */
class FreshKeys {
  readonly #token: KeyToken | undefined;

  constructor(token?: KeyToken) {
    this.#token = token;
  }

  /**
   * X25519 first: opening a blob with it costs two thirds of P-256, which remains for readers whose secure element
   * lacks X25519. A token has only P-256, because few can agree on X25519.
   */
  async cardData(): Promise<CardDataEntry[]> {
    const kid = freshId('card');
    if (this.#token) return [{ kid, ...(await createPair(this.#token, kid, 'agree')) }];
    const x25519 = privateJwk(generateKeyPairSync('x25519').privateKey);
    return [
      { kid, privateKey: x25519 },
      { kid: freshId('card'), privateKey: p256PrivateJwk() },
    ];
  }

  /**
   * In a token, each secret has a sealing key of its own.
   *
   * @param name the prefix of the id
   */
  async secret(name: string): Promise<SecretEntry> {
    const id = freshId(name);
    const secret = randomBytes(32);
    if (!this.#token) return { id, secret: secret.toString('base64url') };
    const tokenKey = freshTokenKeyId();
    await this.#token.createSecret(tokenKey, id);
    const sealed = await this.#token.seal(tokenKey, secret, Buffer.from(id));
    secret.fill(0);
    return { id, tokenKey, sealed: sealed.toString('base64url') };
  }

  async of(purpose: KeyPurpose): Promise<Entry[]> {
    if (purpose === 'card-data') return this.cardData();
    return [purpose === 'token-signing' ? await this.signing() : await this.secret(SECRETS[purpose].name)];
  }

  async signing(): Promise<SigningEntry> {
    const kid = freshId('token');
    return this.#token
      ? { kid, ...(await createPair(this.#token, kid, 'sign')) }
      : { kid, privateKey: p256PrivateJwk() };
  }
}

async function createPair(token: KeyToken, label: string, use: 'agree' | 'sign') {
  const tokenKey = freshTokenKeyId();
  const publicKey = publicKeyOfPoint(await token.createPair(tokenKey, label, use)).export({ format: 'jwk' });
  return { tokenKey, publicKey: publicKey as PublicJwk };
}

function p256PrivateJwk(): Extract<PrivateJwk, { kty: 'EC' }> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateJwk(privateKey) as Extract<PrivateJwk, { kty: 'EC' }>;
}

function privateJwk(key: KeyObject): PrivateJwk {
  return key.export({ format: 'jwk' }) as PrivateJwk;
}

function freshId(name: string): string {
  return `${name}-${randomBytes(4).toString('hex')}`;
}

/** The purposes of keys, as named by `tapwire keys rotate --purpose`, and their place in the file. */
const SECRETS = {
  'pan-sealing': { list: 'panSealing', name: 'pan' },
  'pan-hash': { list: 'panHash', name: 'hash' },
  'blob-hmac': { list: 'blobHmac', name: 'blob' },
  'webhook-sealing': { list: 'webhookSealing', name: 'webhook' },
} as const;

export const KEY_PURPOSES = [
  'card-data',
  'pan-sealing',
  'pan-hash',
  'blob-hmac',
  'webhook-sealing',
  'token-signing',
] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

export interface RotatedKeys {
  /** Ids of the new current keys. */
  readonly added: readonly string[];
  /** Ids of the previous keys, which still open, find or verify older values. */
  readonly kept: readonly string[];
  /** When the kept keys stop; undefined if they have no end. */
  readonly retireAt: string | undefined;
  /** Ids of keys that had retired before, and were removed. */
  readonly dropped: readonly string[];
}

type RotatedFile = RotatedKeys & { readonly file: KeyRingFile };

/**
 * Puts new keys of one purpose in front of the old ones. The file is replaced completely or not at all, and keeps
 * its owner. Running gateways read it again automatically.
 *
 * Hosts with a copy of the file would not open what another one makes with a new key. So it is prepared on one host, copied
 * to all, activated, and copied to all again.
 *
 * @param retireAfterMs for `card-data`: how long blobs sealed to the old keys still open
 * @param token creates the new keys, so that the file only names them
 * @throws StartError BAD_CONFIG if the file cannot be used, is full, or another change is in progress; HsmUnavailable,
 * TokenError
 */
export async function rotateKeys(
  path: string,
  purpose: KeyPurpose,
  {
    nowMs,
    retireAfterMs,
    token,
    step,
  }: {
    readonly nowMs: number;
    readonly retireAfterMs: number;
    readonly token?: KeyToken | undefined;
    /** `prepare` adds keys that make nothing yet, `activate` lets them take the place of the current ones; both at once if absent. */
    readonly step?: 'prepare' | 'activate' | undefined;
  },
): Promise<RotatedKeys> {
  return changeFile(path, 'the key file', async (text) => {
    const fresh = new FreshKeys(token);
    const before = parseKeyRingFile(text, path);
    const retireAt = new Date(nowMs + retireAfterMs).toISOString();
    const made = step === 'activate' ? [] : await fresh.of(purpose);
    const { file, ...rotated } =
      step === 'prepare'
        ? withPreparedKeys(before, purpose, made)
        : step === 'activate'
          ? withActivatedKeys(before, purpose, { path, nowMs, retireAt })
          : withFirstKeys(before, purpose, made, { nowMs, retireAt });
    if (!keyRingFile.safeParse(file).success) {
      throw new StartError(
        'BAD_CONFIG',
        `the key file ${path} is full: take out ${purpose} keys that are no longer needed`,
      );
    }
    return { text: `${JSON.stringify(file, undefined, 2)}\n`, result: rotated };
  });
}

type Entry = KeyRingFile[keyof KeyRingFile][number];

const listOf = (purpose: KeyPurpose): keyof KeyRingFile =>
  purpose === 'card-data' ? 'cardData' : purpose === 'token-signing' ? 'tokenSigning' : SECRETS[purpose].list;
const idOf = (entry: Entry) => ('kid' in entry ? entry.kid : entry.id);
const NO_END = { retireAt: undefined, dropped: [] };

function withPreparedKeys(before: KeyRingFile, purpose: KeyPurpose, fresh: readonly Entry[]): RotatedFile {
  const list = listOf(purpose);
  const present: readonly Entry[] = before[list];
  const file = { ...before, [list]: [...present, ...fresh.map((entry) => ({ ...entry, isPrepared: true }))] };
  return { file, added: fresh.map(idOf), kept: present.map(idOf), ...NO_END };
}

/** @throws StartError BAD_CONFIG if no key of this purpose is prepared */
function withActivatedKeys(
  before: KeyRingFile,
  purpose: KeyPurpose,
  { path, ...times }: RotationTimes & { readonly path: string },
): RotatedFile {
  const list = listOf(purpose);
  const entries: readonly Entry[] = before[list];
  const fresh = entries.filter(({ isPrepared }) => isPrepared).map(({ isPrepared: _, ...entry }) => entry as Entry);
  if (fresh.length === 0)
    throw new StartError('BAD_CONFIG', `the key file ${path} has no prepared ${purpose} key: use --prepare first`);
  const others = { ...before, [list]: entries.filter(({ isPrepared }) => !isPrepared) };
  return withFirstKeys(others, purpose, fresh, times);
}

interface RotationTimes {
  readonly nowMs: number;
  readonly retireAt: string;
}

function withFirstKeys(
  before: KeyRingFile,
  purpose: KeyPurpose,
  fresh: readonly Entry[],
  { nowMs, retireAt }: RotationTimes,
): RotatedFile {
  if (purpose === 'card-data') return withFreshCardDataKeys(before, fresh as CardDataEntry[], nowMs, retireAt);
  const list = listOf(purpose);
  const present: readonly Entry[] = before[list];
  return {
    file: { ...before, [list]: [...fresh, ...present] },
    added: fresh.map(idOf),
    kept: present.map(idOf),
    ...NO_END,
  };
}

/** Current keys get an end date, keys with one keep it, and keys past it no longer open anything. */
function withFreshCardDataKeys(
  before: KeyRingFile,
  fresh: KeyRingFile['cardData'],
  nowMs: number,
  retireAt: string,
): RotatedFile {
  const isOver = (end: string | undefined) => end !== undefined && Date.parse(end) <= nowMs;
  const kept = before.cardData
    .filter((key) => !isOver(key.retireAt))
    .map((key) => (key.isPrepared ? key : { retireAt, ...key }));
  const dropped = before.cardData.filter((key) => isOver(key.retireAt));
  const idsOf = (keys: KeyRingFile['cardData']) => keys.map(({ kid }) => kid);
  const file = { ...before, cardData: [...fresh, ...kept] };
  return { file, added: idsOf(fresh), kept: idsOf(kept), retireAt, dropped: idsOf(dropped) };
}

/**
 * Writes a key file with fresh keys, mode 0600. An existing file is not changed. The file appears complete or not at
 * all, so that two processes that start at once end up with the same keys.
 *
 * @param token creates the keys, so that the file only names them; without it they are in the file
 * @returns whether this call created the file
 * @throws the error of the file system, if the folder is missing or not writable; HsmUnavailable, TokenError
 */
export async function createKeyRing(path: string, token?: KeyToken): Promise<boolean> {
  if (existsSync(path)) return false; // before keys are created in a token
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(await freshKeys(new FreshKeys(token)), undefined, 2)}\n`);
    // If a power cut lost the key after a PAN was sealed under it, that PAN could never be reversed.
    await file.sync();
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}

async function freshKeys(fresh: FreshKeys): Promise<KeyRingFile> {
  return {
    cardData: await fresh.cardData(),
    panSealing: [await fresh.secret('pan')],
    panHash: [await fresh.secret('hash')],
    blobHmac: [await fresh.secret('blob')],
    webhookSealing: [await fresh.secret('webhook')],
    tokenSigning: [await fresh.signing()],
  };
}
