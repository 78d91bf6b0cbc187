import type { Socket } from 'node:net';
import pg from 'pg';

/** After this silence TCP probes the server. Node repeats the probe each second, ten times. */
const KEEP_ALIVE_AFTER_MS = 3_000;
/** A working server closes the connection within a round trip after the client's termination message. */
const GOODBYE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 4_000;

/** A client that connects soon or fails, probes a silent server, and ends even if the server does not respond. */
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
  // pg's typings do not declare this property.
  (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream.destroy();
}
