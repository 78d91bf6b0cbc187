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
    const lines = Array.from({ length: isNewEach ? 1 : kept }, () => this.#dial());
    const reasons = await Promise.all(lines.map((line) => line.connected()));
    for (const line of lines) this.putBack(line);
    return reasons.find((reason) => reason !== undefined);
  }

  /** A free connection, or a new one; undefined if the maximum is reached. */
  take(): HttpConnection | undefined {
    const maxIdleMs = this.#options.maxIdleMs ?? DEFAULT_IDLE_MS;
    for (let line = this.#idle.pop(); line; line = this.#idle.pop()) {
      const mostMs = line.isUsed ? maxIdleMs : Math.min(maxIdleMs, UNUSED_MS);
      if (line.isUsable && performance.now() - line.releasedAtMs < mostMs) return line;
      this.#drop(line);
    }
    return this.#open < this.#options.most ? this.#dial() : undefined;
  }

  /** The caller returns the connection when its request has ended. */
  putBack(line: HttpConnection): void {
    if (this.#options.isNewEach || !line.isUsable) this.#drop(line);
    else this.#idle.push(line);
  }

  close(): void {
    for (const line of this.#idle.splice(0)) this.#drop(line);
  }

  #dial(): HttpConnection {
    this.#open++;
    const line = new HttpConnection(this.#options.target);
    line.releasedAtMs = performance.now();
    return line;
  }

  #drop(line: HttpConnection): void {
    this.#open--;
    line.close();
  }
}
