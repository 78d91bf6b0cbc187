import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { BoundSocket, isIP, Server as NetServer, Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { followFiles } from '../basics/files/change-file.ts';

/**
 * libuv accepts one connection per listening socket and turn of the event loop. A turn handles what all open connections
 * have sent, so with one socket, clients that open a connection for each tap wait in the kernel: a process never gets more
 * than one new tap per turn, is never full, and refuses nothing. With this number of sockets it gets at least as many per
 * turn as it works on at a time (`concurrency-limit.ts`, 256 in two turns), so it is full soon and refuses the others at once.
 */
const SOCKETS = 128;
/**
 * Connections that wait in one socket; the kernel keeps about 2 KB for each. All together are 16,384, or 32 MB: more than
 * arrive in some seconds. Beyond that, the kernel ignores an attempt, which the client repeats after a second.
 */
const WAITING_EACH = 128;

declare module 'fastify' {
  interface FastifyInstance {
    /** Accept connections for this server, besides its own socket. They close when it stops. */
    readonly acceptors: Set<NetServer>;
  }
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Sockets at one address, among which the kernel distributes new connections. They accept none before a process listens.
 * A platform without SO_REUSEPORT has one socket. If the host is not an IP address, the list is empty, and the server binds
 * its own.
 *
 * @throws Error EADDRINUSE if another program listens there
 */
export function bindSockets({ host, port }: Address): readonly BoundSocket[] {
  // Node before 24.19 has no such sockets.
  if (isIP(host) === 0 || (BoundSocket as typeof BoundSocket | undefined) === undefined) return [];
  // A socket with `reusePort` would share the port with another gateway, without an error. This one is refused.
  const alone = new BoundSocket({ host, port });
  const address = { host, port: alone.address().port, reusePort: true };
  const bound: BoundSocket[] = [];
  try {
    bound.push(new BoundSocket(address));
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOTSUP') throw error;
    return [alone];
  }
  alone.close();
  while (bound.length < SOCKETS) bound.push(new BoundSocket(address));
  return bound;
}

/**
 * Sockets that the parent of this process has bound, and passed as these descriptors. A server listens on them itself;
 * `node:cluster` would have its primary listen for `{ fd }`.
 */
export function openSockets(descriptors: readonly number[]): readonly Socket[] {
  return descriptors.map((fd) => new Socket({ fd, readable: false, writable: false }));
}

/**
 * Listens on these sockets, or on one that the server binds itself if the list is empty.
 *
 * @returns the URL of the server
 */
export async function listen(
  server: FastifyInstance,
  address: Address,
  [first, ...others]: readonly (BoundSocket | Socket)[],
): Promise<string> {
  const http = server.server;
  // Fastify passes its argument to `net.Server.listen`, which accepts a socket, and needs the host.
  const own = first instanceof Socket ? Object.assign(first, { host: address.host }) : { ...address, handle: first };
  const url = await server.listen(own);
  const options = { allowHalfOpen: !isHttps(http), noDelay: true };
  for (const other of others) {
    const acceptor = new NetServer(options, (socket) => http.emit('connection', socket));
    server.acceptors.add(acceptor);
    acceptor.listen(other, WAITING_EACH);
  }
  await Promise.all([...server.acceptors].map((acceptor) => once(acceptor, 'listening')));
  return url;
}

/** PEM files: the certificate with its chain, and its private key. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @throws the file system's error if a file cannot be read */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): SecureContextOptions {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile), minVersion: 'TLSv1.2' };
}

/**
 * Serves the current content of the files without a restart.
 *
 * @returns a function that ends it
 */
export function followTlsFiles(
  server: HttpsServer,
  files: TlsFiles,
  {
    onReplaced,
    onError,
    everyMs,
  }: {
    /** New connections use the new files from now on; open connections continue. */
    readonly onReplaced: () => void;
    /** Called once for each state of the files that cannot be served. The last valid files remain in use. */
    readonly onError: (error: unknown) => void;
    readonly everyMs?: number;
  },
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
