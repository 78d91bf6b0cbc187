import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { followFiles } from '../basics/files/follow-files.ts';

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
 * Serves the current content of the files without a restart.
 *
 * @returns a function that ends it
 */
export function followTlsFiles(
  server: HttpsServer,
  files: TlsFiles,
  { onReplaced, onError, everyMs }: FollowOptions,
): () => void {
  const replace = () => {
    try {
      const options = readTlsFiles(files);
      createSecureContext(options); // throws if the key does not match the certificate, before the server has changed
      server.setSecureContext(options);
      onReplaced();
    } catch (error) {
      onError(error);
    }
  };
  return followFiles([files.certFile, files.keyFile], replace, everyMs);
}

/** Whether `followTlsFiles` can serve a server. */
export function isHttps(server: HttpServer | HttpsServer): server is HttpsServer {
  return 'setSecureContext' in server;
}
