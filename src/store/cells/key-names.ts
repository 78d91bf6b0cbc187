import { createHash } from 'node:crypto';
import type { KeyRing } from '../../card/key-ring.ts';

/** Enough to recognize a key; a 256-bit key cannot be found from it. */
const FINGERPRINT_CHARS = 16;

const SECRETS = ['panSealing', 'panHash', 'blobHmac', 'webhookSealing'] as const;

/**
 * Every key of a ring as `<purpose> <id> <fingerprint>`, sorted. A cell can open what another cell has sealed if it has
 * all keys of the other one.
 */
export function keyNames(keys: KeyRing): string[] {
  const secrets = SECRETS.flatMap((purpose) =>
    keys[purpose].all.map(({ id, key }) => `${purpose} ${id} ${fingerprint(key.export())}`),
  );
  const signing = keys.tokenSigning.map(
    ({ kid, publicKey }) => `tokenSigning ${kid} ${fingerprint(publicKey.export({ type: 'spki', format: 'der' }))}`,
  );
  const cards = keys.publicCardDataKeys(0).keys.map(({ kid, x }) => `cardData ${kid} ${fingerprint(x)}`);
  return [...secrets, ...signing, ...cards].sort();
}

function fingerprint(value: string | Uint8Array): string {
  return createHash('sha256').update(value).digest('hex').slice(0, FINGERPRINT_CHARS);
}
