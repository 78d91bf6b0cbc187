import { readFileSync, statSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Certificates are renewed days before they end; whoever waits for a new one waits no longer than twice this. */
const LOOK_EVERY_MS = 10_000;

/** PEM files: the certificate with its chain, and its private key. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @throws what the file system says of a file that cannot be read */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): SecureContextOptions {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: 'TLSv1.2' };
}

export interface FollowOptions {
  /** New connections are served with the new files from now on; those that are open go on. */
  readonly onReplaced: () => void;
  /** Told once for each state of the files that cannot be served; the last good ones stay. */
  readonly onError: (error: unknown) => void;
  readonly everyMs?: number;
}

/**
 * Serves what the files hold now, without a restart. They are replaced one after the other: so they are taken once they
 * rest, which is when two looks find the same, and a half-made change is no error.
 *
 * @returns what ends it
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
      createSecureContext(options); // throws for a key that is not the certificate's, before the server has changed
      server.setSecureContext(options);
      onReplaced();
    } catch (error) {
      onError(error);
    }
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Whether a server is one that `followTlsFiles` can serve. */
export function isHttps(server: HttpServer | HttpsServer): server is HttpsServer {
  return 'setSecureContext' in server;
}

/** Changes with either file; a missing one is a state like any other. */
function versionOf({ certFile, keyFile }: TlsFiles): string {
  return [certFile, keyFile]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
    })
    .join(', ');
}
