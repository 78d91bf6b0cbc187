import { existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { StartError } from '../basics/errors.ts';
import { requirePrivateFile } from '../basics/files/change-file.ts';
import { createKeyRing } from '../card/change-key-ring.ts';
import { TokenKeys } from '../card/key-ring-file.ts';
import { type LiveKeyRing, openLiveKeyRing } from '../card/live-key-ring.ts';
import { Token } from '../hsm-devices/pkcs11/token.ts';
import type { Config } from './config.ts';

/** PINs of tokens have at most 255 characters (PKCS #11: CK_TOKEN_INFO). */
const MAX_PIN_CHARS = 255;

/**
 * The PKCS #11 token with keys of the installation; undefined if none is configured. It is used from the first call on.
 *
 * @throws StartError BAD_CONFIG if a setting or the package pkcs11js is missing, never with the PIN
 */
export async function openKeyToken(config: Config): Promise<Token | undefined> {
  const { PKCS11_MODULE: modulePath, PKCS11_TOKEN: label, PKCS11_PIN_FILE: pinFile } = config;
  if (modulePath === undefined || label === undefined || pinFile === undefined) return undefined;
  if (!canLoad('pkcs11js'))
    throw new StartError('BAD_CONFIG', 'the package pkcs11js is missing: npm install pkcs11js, which compiles C++');
  return new Token({ modulePath, label, pin: await readPin(pinFile) });
}

/** Reads a PIN without the newline at the end of a text file. */
async function readPin(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StartError('BAD_CONFIG', `the PIN file ${path} cannot be read (${cause.code})`);
  });
  const pin = text.replace(/\r?\n$/, '');
  if (pin === '' || pin.length > MAX_PIN_CHARS)
    throw new StartError('BAD_CONFIG', `the PIN file ${path} must contain one line with the PIN of the token`);
  return pin;
}

function canLoad(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

export function keyRingPath({ TAPWIRE_KEYS_FILE, TAPWIRE_DATA }: Config): string {
  return TAPWIRE_KEYS_FILE ?? join(TAPWIRE_DATA, 'keys.json');
}

/** The keys of an installation, and the token that has some of them. */
export interface OpenedKeyRing extends LiveKeyRing {
  readonly token: Token | undefined;
}

/** The installation's keys. @throws StartError in qa and prod, if other users may read them. In dev the first start creates them; elsewhere only `tapwire init` and `tapwire keys create` do. */
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
