import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { freshCardDataKeys, freshSecret, freshSigningKey } from './fresh-keys.ts';
import type { KeyRingFile } from './key-ring-file.ts';

/**
 * Writes a key file with fresh keys, mode 0600. An existing file is not changed. The file appears complete or not at
 * all, so that two processes that start at once end up with the same keys.
 *
 * @returns whether this call created the file
 * @throws the error of the file system, if the folder is missing or not writable
 */
export async function createKeyRing(path: string): Promise<boolean> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(freshKeys(), undefined, 2)}\n`);
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

function freshKeys(): KeyRingFile {
  return {
    cardData: freshCardDataKeys(),
    panSealing: [freshSecret('pan')],
    panHash: [freshSecret('hash')],
    blobHmac: [freshSecret('blob')],
    webhookSealing: [freshSecret('webhook')],
    tokenSigning: [freshSigningKey()],
  };
}
