import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StartError } from '../errors.ts';
import { FreshKeys } from './fresh-keys.ts';
import { parseKeyRingFile } from './key-ring.ts';
import { type KeyRingFile, keyRingFile } from './key-ring-file.ts';
import type { KeyToken } from './key-token.ts';

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

export interface RotationOptions {
  readonly nowMs: number;
  readonly retireAfterMs: number;
  readonly token?: KeyToken | undefined;
}

type RotatedFile = RotatedKeys & { readonly file: KeyRingFile };

/**
 * Puts new keys of one purpose in front of the old ones. The file is replaced completely or not at all, and keeps
 * its owner. Running gateways read it again automatically.
 *
 * @param retireAfterMs for `card-data`: how long blobs sealed to the old keys still open
 * @param token creates the new keys, so that the file only names them
 * @throws StartError BAD_CONFIG if the file cannot be used, is full, or another rotation is in progress; HsmUnavailable,
 * TokenError
 */
export async function rotateKeys(
  path: string,
  purpose: KeyPurpose,
  { nowMs, retireAfterMs, token }: RotationOptions,
): Promise<RotatedKeys> {
  const lock = `${path}.lock`;
  const held = await open(lock, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST')
      throw new StartError('BAD_CONFIG', `${lock} cannot be made (${cause.code})`, { cause });
    throw new StartError('BAD_CONFIG', `${lock} is there: another rotation is under way, or was cut short`, { cause });
  });
  try {
    const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new StartError('BAD_CONFIG', `the key file ${path} cannot be read (${cause.code})`, { cause });
    });
    const fresh = new FreshKeys(token);
    const before = parseKeyRingFile(text, path);
    const { file, ...rotated } = await withFreshKeys(before, fresh, purpose, nowMs, nowMs + retireAfterMs);
    if (!keyRingFile.safeParse(file).success) {
      throw new StartError(
        'BAD_CONFIG',
        `the key file ${path} is full: take out ${purpose} keys that are no longer needed`,
      );
    }
    await replaceFile(path, `${JSON.stringify(file, undefined, 2)}\n`);
    return rotated;
  } finally {
    await held.close();
    await rm(lock, { force: true });
  }
}

async function withFreshKeys(
  before: KeyRingFile,
  keys: FreshKeys,
  purpose: KeyPurpose,
  nowMs: number,
  retireAtMs: number,
): Promise<RotatedFile> {
  if (purpose === 'card-data')
    return withFreshCardDataKeys(before, await keys.cardData(), nowMs, new Date(retireAtMs).toISOString());
  const none = { retireAt: undefined, dropped: [] };
  if (purpose === 'token-signing') {
    const fresh = await keys.signing();
    const kept = before.tokenSigning.map(({ kid }) => kid);
    return { file: { ...before, tokenSigning: [fresh, ...before.tokenSigning] }, added: [fresh.kid], kept, ...none };
  }
  const { list, name } = SECRETS[purpose];
  const fresh = await keys.secret(name);
  const kept = before[list].map(({ id }) => id);
  return { file: { ...before, [list]: [fresh, ...before[list]] }, added: [fresh.id], kept, ...none };
}

/** Current keys get an end date, keys with one keep it, and keys past it no longer open anything. */
function withFreshCardDataKeys(
  before: KeyRingFile,
  fresh: KeyRingFile['cardData'],
  nowMs: number,
  retireAt: string,
): RotatedFile {
  const isOver = (end: string | undefined) => end !== undefined && Date.parse(end) <= nowMs;
  const kept = before.cardData.filter((key) => !isOver(key.retireAt)).map((key) => ({ retireAt, ...key }));
  const dropped = before.cardData.filter((key) => isOver(key.retireAt));
  const idsOf = (keys: KeyRingFile['cardData']) => keys.map(({ kid }) => kid);
  const file = { ...before, cardData: [...fresh, ...kept] };
  return { file, added: idsOf(fresh), kept: idsOf(kept), retireAt, dropped: idsOf(dropped) };
}

/** Writes and syncs the file under another name, then renames it: a power cut leaves the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const { uid, gid } = await stat(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.chown(uid, gid);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    const folder = await open(dirname(path), 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
