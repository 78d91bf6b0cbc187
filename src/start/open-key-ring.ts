import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { requirePrivateFile } from '../basics/files/private-file.ts';
import { createKeyRing } from '../card/create-key-ring.ts';
import { type LiveKeyRing, openLiveKeyRing } from '../card/live-key-ring.ts';
import { TokenKeys } from '../card/token-keys.ts';
import type { Token } from '../hsm-devices/pkcs11/token.ts';
import type { Config } from './config.ts';
import { openKeyToken } from './open-key-token.ts';

export function keyRingPath({ TAPWIRE_KEYS_FILE, TAPWIRE_DATA }: Config): string {
  return TAPWIRE_KEYS_FILE ?? join(TAPWIRE_DATA, 'keys.json');
}

/** The keys of an installation, and the token that has some of them. */
export interface OpenedKeyRing extends LiveKeyRing {
  readonly token: Token | undefined;
}

/** The installation's keys. @throws StartError in qa and prod, if other users may read them. In dev the first start creates them; elsewhere only `tapwire init` does. */
export async function openKeyRing(
  config: Config,
  onError: (error: unknown) => void = () => {},
): Promise<OpenedKeyRing> {
  const path = keyRingPath(config);
  if (config.TAPWIRE_ENV !== 'dev') requirePrivateFile('TAPWIRE_KEYS_FILE', path);
  const token = await openKeyToken(config);
  try {
    if (!existsSync(path) && config.TAPWIRE_ENV === 'dev') {
      mkdirSync(config.TAPWIRE_DATA, { recursive: true });
      await createKeyRing(path);
    }
    const ring = await openLiveKeyRing(path, onError, token && new TokenKeys(token));
    const { close: stopFollowing } = ring;
    const close = () => {
      stopFollowing();
      void token?.close();
    };
    return Object.assign(ring, { token, close });
  } catch (error) {
    await token?.close();
    throw error;
  }
}
