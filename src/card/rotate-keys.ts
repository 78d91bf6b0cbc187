import { StartError } from '../basics/errors.ts';
import { changeFile } from '../basics/files/change-file.ts';
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
 * @throws StartError BAD_CONFIG if the file cannot be used, is full, or another change is in progress; HsmUnavailable,
 * TokenError
 */
export async function rotateKeys(
  path: string,
  purpose: KeyPurpose,
  { nowMs, retireAfterMs, token }: RotationOptions,
): Promise<RotatedKeys> {
  return changeFile(path, 'the key file', async (text) => {
    const fresh = new FreshKeys(token);
    const before = parseKeyRingFile(text, path);
    const { file, ...rotated } = await withFreshKeys(before, fresh, purpose, nowMs, nowMs + retireAfterMs);
    if (!keyRingFile.safeParse(file).success) {
      throw new StartError(
        'BAD_CONFIG',
        `the key file ${path} is full: take out ${purpose} keys that are no longer needed`,
      );
    }
    return { text: `${JSON.stringify(file, undefined, 2)}\n`, result: rotated };
  });
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
