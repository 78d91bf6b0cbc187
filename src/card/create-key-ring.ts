import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { FreshKeys } from './fresh-keys.ts';
import type { KeyRingFile } from './key-ring-file.ts';
import type { KeyToken } from './key-token.ts';

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
