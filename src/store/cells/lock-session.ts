import { destroyConnection, LimitedClient } from '../postgres/limited-client.ts';

/** A connection without statements does not notice a broken network, so it is probed. */
const PROBE_EVERY_MS = 3_000;
/** A session that does not answer a probe within this time is ended. */
const PROBE_TIMEOUT_MS = 3_000;

/** One session of the database, for locks that last as long as the process uses what they protect. */
export class LockSession {
  readonly #client: LimitedClient;
  /** Statements of a session run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #probing: NodeJS.Timeout | undefined;
  /** Fulfilled when the session has ended for any reason. */
  readonly ended: Promise<void>;

  private constructor(client: LimitedClient) {
    this.#client = client;
    this.ended = new Promise((resolve) => {
      client.once('end', () => {
        clearTimeout(this.#probing);
        resolve();
      });
    });
  }

  static async open(url: string): Promise<LockSession> {
    const client = new LimitedClient({ connectionString: url, application_name: 'tapwire-lines' });
    client.on('error', () => {}); // `end` follows
    const session = new LockSession(client);
    await client.connect();
    session.#probe();
    return session;
  }

  async run<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const result = this.#last.catch(() => {}).then(() => this.#client.query<Row>(text, [...values]));
    this.#last = result;
    return (await result).rows;
  }

  async close(): Promise<void> {
    clearTimeout(this.#probing);
    await this.#client.end().catch(() => {});
  }

  #probe(): void {
    this.#probing = setTimeout(() => {
      const silent = setTimeout(() => destroyConnection(this.#client), PROBE_TIMEOUT_MS);
      this.run('select 1')
        .then(
          () => this.#probe(),
          () => destroyConnection(this.#client), // unless it has ended already
        )
        .finally(() => clearTimeout(silent));
    }, PROBE_EVERY_MS).unref();
  }
}
