import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { StartError } from '../basics/errors.ts';
import { Token } from '../hsm-devices/pkcs11/token.ts';
import type { Config } from './config.ts';

/** PINs of tokens have at most 255 characters (PKCS #11: CK_TOKEN_INFO). */
const MOST_PIN_CHARS = 255;

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

/** Without the newline at the end of a text file. */
async function readPin(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StartError('BAD_CONFIG', `the PIN file ${path} cannot be read (${cause.code})`);
  });
  const pin = text.replace(/\r?\n$/, '');
  if (pin === '' || pin.length > MOST_PIN_CHARS)
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
