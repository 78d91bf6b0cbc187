import { readFileSync, statSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Certificates are renewed days before they expire. A replacement takes effect within twice this time. */
const LOOK_EVERY_MS = 10_000;

/** PEM files: the certificate with its chain, and its private key. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @throws the file system's error if a file cannot be read */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): SecureContextOptions {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: 'TLSv1.2' };
}

export interface FollowOptions {
  /** New connections use the new files from now on; open connections continue. */
  readonly onReplaced: () => void;
  /** Called once for each state of the files that cannot be served. The last valid files remain in use. */
  readonly onError: (error: unknown) => void;
  readonly everyMs?: number;
}

/**
 * Serves the current content of the files without a restart. The files are replaced one after the other. They are
 * therefore read only when two checks find the same state, and a half-finished replacement is not an error.
 *
 * @returns a function that ends it
 */
export function followTlsFiles(
  server: HttpsServer,
  files: TlsFiles,
  { onReplaced, onError, everyMs = LOOK_EVERY_MS }: FollowOptions,
): () => void {
  let served = versionOf(files);
  let seen = served;
  const timer = setInterval(() => {
    const version = versionOf(files);
    const isResting = version === seen;
    seen = version;
    if (!isResting || version === served) return;
    served = version;
    try {
      const options = readTlsFiles(files);
      createSecureContext(options); // throws if the key does not match the certificate, before the server has changed
      server.setSecureContext(options);
      onReplaced();
    } catch (error) {
      onError(error);
    }
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Whether `followTlsFiles` can serve a server. */
export function isHttps(server: HttpServer | HttpsServer): server is HttpsServer {
  return 'setSecureContext' in server;
}

/** Changes with either file. A missing file is a state, too. */
function versionOf({ certFile, keyFile }: TlsFiles): string {
  return [certFile, keyFile]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
    })
    .join(', ');
}
