import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import type { KeyRingFile, PrivateJwk } from './key-ring-file.ts';

/**
 * Writes a key file with fresh keys, mode 0600, and leaves one that is already there as it is. It appears whole or not at
 * all, so that two processes starting at once end up with the same keys.
 *
 * @returns whether the file was made by this call
 * @throws the file system's error, when the folder is missing or cannot be written
 */
export async function createKeyRing(path: string): Promise<boolean> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(freshKeys(), undefined, 2)}\n`);
    // A PAN sealed under a key that a power cut then loses can never be reversed.
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

/** X25519 first: opening a blob with it costs two thirds of P-256, which stays for readers whose secure element lacks it. */
function freshKeys(): KeyRingFile {
  const x25519 = privateJwk(generateKeyPairSync('x25519').privateKey);
  return {
    cardData: [
      { kid: freshId('card'), privateKey: x25519 },
      { kid: freshId('card'), privateKey: p256PrivateJwk() },
    ],
    panSealing: [freshSecret('pan')],
    panHash: [freshSecret('hash')],
    blobHmac: [freshSecret('blob')],
    webhookSealing: [freshSecret('webhook')],
    tokenSigning: [{ kid: freshId('token'), privateKey: p256PrivateJwk() }],
  };
}

function p256PrivateJwk(): Extract<PrivateJwk, { kty: 'EC' }> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateJwk(privateKey) as Extract<PrivateJwk, { kty: 'EC' }>;
}

function privateJwk(key: KeyObject): PrivateJwk {
  return key.export({ format: 'jwk' }) as PrivateJwk;
}

function freshSecret(purpose: string): { id: string; secret: string } {
  return { id: freshId(purpose), secret: randomBytes(32).toString('base64url') };
}

function freshId(purpose: string): string {
  return `${purpose}-${randomBytes(4).toString('hex')}`;
}
