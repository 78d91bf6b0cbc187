import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The name of the socket of a Postgres in its folder. */
const SOCKET = '.s.PGSQL.5432';
/** A simple query as the protocol has it: its text ends with NUL. */
const COMMIT = Buffer.from('commit\0');

/** Stands between a gateway and its database: can be away, come back, and lose the answer to a COMMIT. */
export class DatabaseRelay {
  readonly url: string;
  readonly #folder: string;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #losesCommits = false;
  #lostCommits = 0;

  private constructor(databaseUrl: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'tapwire-relay-'));
    const url = new URL(databaseUrl);
    this.#target = join(url.searchParams.get('host')!, SOCKET);
    url.searchParams.set('host', this.#folder);
    this.url = url.href;
  }

  static async open(databaseUrl: string): Promise<DatabaseRelay> {
    const relay = new DatabaseRelay(databaseUrl);
    await relay.comeBack();
    return relay;
  }

  /** Ends every connection and takes no new ones. */
  async goAway(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => server?.close(resolve));
    this.cut();
    await closed;
  }

  async comeBack(): Promise<void> {
    const server = createServer((socket) => this.#join(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(join(this.#folder, SOCKET), resolve));
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The next COMMIT reaches the database, and its connection ends before the answer. */
  loseNextCommit(): void {
    this.#losesCommits = true;
  }

  get lostCommits(): number {
    return this.#lostCommits;
  }

  async close(): Promise<void> {
    if (this.#server) await this.goAway();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #join(client: Socket): void {
    const database = connect(this.#target);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    let isLosing = false;
    client.on('data', (chunk: Buffer) => {
      if (this.#losesCommits && chunk.includes(COMMIT)) {
        this.#losesCommits = false;
        isLosing = true;
      }
      database.write(chunk);
    });
    database.on('data', (chunk: Buffer) => {
      if (!isLosing) return void client.write(chunk);
      this.#lostCommits++;
      client.destroy();
    });
  }
}
