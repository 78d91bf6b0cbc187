import type { Socket } from 'node:net';
import pg from 'pg';

/** TCP asks a server that has been silent for so long whether it lives. Node asks each second, ten times. */
const KEEP_ALIVE_AFTER_MS = 3_000;
/** A server that lives closes the connection within a round trip of the client's goodbye. */
const GOODBYE_MS = 1_000;
/** How long a connection may take to be made. */
const CONNECT_TIMEOUT_MS = 4_000;

/** A client that connects soon or not at all, asks a silent server whether it lives, and ends whether it does or not. */
export class LimitedClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super({
      ...config,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const timer = setTimeout(() => destroyConnection(this), GOODBYE_MS).unref();
    this.once('end', () => clearTimeout(timer));
    return callback ? super.end(callback) : super.end();
  }
}

/** Closes the socket at once without sending anything. Pending statements fail with the loss of the connection. */
export function destroyConnection(client: pg.ClientBase): void {
  // pg's typings do not know it.
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream.destroy();
}
