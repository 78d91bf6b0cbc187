import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import tls from 'node:tls';
import { StartError } from '../../basics/errors.ts';
import type { SwitchTls } from './switch-socket.ts';

/** A bundle of every public authority has a quarter of this size. */
const MAX_PEM_BYTES = 1_048_576;

/** @throws the error of the file system, or TOO_LONG, as `code` of an Error */
export async function readPem(path: string): Promise<string> {
  if ((await stat(path)).size > MAX_PEM_BYTES) throw Object.assign(new Error('it is too long'), { code: 'TOO_LONG' });
  return readFile(path, 'utf8');
}

/**
 * Checks that TLS can use the texts of PEM files.
 *
 * @param where begins the message: the place that names the files
 * @throws StartError with `code`
 */
export function checkPem(pem: SwitchTls, code: 'BAD_CONFIG' | 'BAD_PROCESSOR', where: string): void {
  try {
    // Node ignores an authorities file without a certificate and trusts the system's authorities instead.
    if (pem.ca !== undefined) new X509Certificate(pem.ca);
    tls.createSecureContext({ ca: pem.ca, cert: pem.cert, key: pem.key });
  } catch (cause) {
    const reason = (cause as { code?: string }).code ?? 'unknown';
    throw new StartError(code, `${where}: its tls files cannot be used (${reason})`, { cause });
  }
}
