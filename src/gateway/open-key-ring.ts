import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyRing } from '../card/create-key-ring.ts';
import { type LiveKeyRing, openLiveKeyRing } from '../card/live-key-ring.ts';
import type { Config } from '../config.ts';

export function keyRingPath({ TAPWIRE_KEYS_FILE, TAPWIRE_DATA }: Config): string {
  return TAPWIRE_KEYS_FILE ?? join(TAPWIRE_DATA, 'keys.json');
}

/** The installation's keys. In dev the first start creates them; elsewhere only `tapwire init` does. */
export async function openKeyRing(config: Config, onError: (error: unknown) => void = () => {}): Promise<LiveKeyRing> {
  const path = keyRingPath(config);
  if (!existsSync(path) && config.TAPWIRE_ENV === 'dev') {
    mkdirSync(config.TAPWIRE_DATA, { recursive: true });
    await createKeyRing(path);
  }
  return openLiveKeyRing(path, onError);
}
