import { HttpConnection, type HttpTarget } from './http-connection.ts';

/**
 * Servers close idle connections after 5 s or more (Node's default); a request in transit at that time would seem lost.
 */
const DEFAULT_IDLE_MS = 4_000;
/** Servers allow less time before the first request. The gateway closes a connection after 10 s. */
const UNUSED_MS = 8_000;

export interface ConnectionPoolOptions {
  readonly target: HttpTarget;
  /** Opened before the test, and kept open. */
  readonly kept: number;
  /** The maximum: above it requests wait, which is a limit of the generator and not of the gateway. */
  readonly most: number;
  /** A new connection for each request, as from phones that connect once. */
  readonly isNewEach: boolean;
  /** How long a connection may be idle and still be used; for servers that are known to keep them longer. */
  readonly maxIdleMs?: number | undefined;
}

/**
 * Connections to the gateway. If all are busy, another one is opened, as another phone would do: arrivals do not wait
 * for the responses to others.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #idle: HttpConnection[] = [];
  #open = 0;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** Current number of connections, busy ones included. */
  get size(): number {
    return this.#open;
  }

  /** Opens the connections that are kept; resolves with the reason if the gateway accepts none. */
  async fill(): Promise<string | undefined> {
    const { kept, isNewEach } = this.#options;
    const connections = Array.from({ length: isNewEach ? 1 : kept }, () => this.#dial());
    const reasons = await Promise.all(connections.map((connection) => connection.connected()));
    for (const connection of connections) this.putBack(connection);
    return reasons.find((reason) => reason !== undefined);
  }

  /** A free connection, or a new one; undefined if the maximum is reached. */
  take(): HttpConnection | undefined {
    const maxIdleMs = this.#options.maxIdleMs ?? DEFAULT_IDLE_MS;
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      const mostMs = connection.isUsed ? maxIdleMs : Math.min(maxIdleMs, UNUSED_MS);
      if (connection.isUsable && performance.now() - connection.releasedAtMs < mostMs) return connection;
      this.#drop(connection);
    }
    return this.#open < this.#options.most ? this.#dial() : undefined;
  }

  /** The caller returns the connection when its request has ended. */
  putBack(connection: HttpConnection): void {
    if (this.#options.isNewEach || !connection.isUsable) this.#drop(connection);
    else this.#idle.push(connection);
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) this.#drop(connection);
  }

  #dial(): HttpConnection {
    this.#open++;
    const connection = new HttpConnection(this.#options.target);
    connection.releasedAtMs = performance.now();
    return connection;
  }

  #drop(connection: HttpConnection): void {
    this.#open--;
    connection.close();
  }
}
