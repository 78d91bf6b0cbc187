import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The name of the Postgres socket in its folder. */
const SOCKET = '.s.PGSQL.5432';
/** A simple query in the protocol: its text ends with NUL. */
const COMMIT = Buffer.from('commit\0');
const BEGIN = Buffer.from('begin');
/** The server's response to a COMMIT: the tag of the command. */
const COMMITTED = Buffer.from('COMMIT\0');

/** A connection of a gateway, and the relay's connection to the database for it. */
interface Pair {
  readonly client: Socket;
  readonly database: Socket;
  /** The first bytes it sent: its startup message, with the name of the application. */
  hello: string;
  isSilent: boolean;
}

/** Selects connections by the first bytes they sent. */
export type Chosen = (hello: string) => boolean;

/** Connections with which gateways only listen. */
export const LISTENING: Chosen = (hello) => hello.includes('tapwire-listen');

/**
 * A relay between a gateway and its database. It can be unavailable, return, lose the response to a COMMIT, and go
 * silent: then it drops everything sent in either direction, and neither side notices when the other closes.
 */
export class DatabaseRelay {
  readonly url: string;
  readonly #folder: string;
  readonly #target: string;
  readonly #pairs = new Set<Pair>();
  readonly #sockets = new Set<Socket>();
  #isMute = false;
  #onCommit: (() => void) | undefined;
  #server: Server | undefined;
  /** The statement whose commit is to be lost. */
  #losing: string | undefined;
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

  /** Closes every connection and refuses new ones. */
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

  /** Existing connections go silent; new ones work. @returns how many went silent */
  silence(isChosen: Chosen = () => true): number {
    const chosen = [...this.#pairs].filter(({ hello, isSilent }) => !isSilent && isChosen(hello));
    for (const pair of chosen) pair.isSilent = true;
    return chosen.length;
  }

  /** All connections go silent, and new ones are accepted without any response, until `speak`. */
  goSilent(): void {
    this.#isMute = true;
    this.silence();
  }

  /** New connections work again; silent ones stay silent. */
  speak(): void {
    this.#isMute = false;
    this.#onCommit = undefined;
  }

  /** All connections go silent when one has written a COMMIT, which does not arrive. @returns when that has happened */
  silenceAtCommit(): Promise<void> {
    return new Promise((resolve) => {
      this.#onCommit = () => {
        this.goSilent();
        resolve();
      };
    });
  }

  /** How many of the selected connections work. */
  count(isChosen: Chosen): number {
    return [...this.#pairs].filter(({ hello, isSilent }) => !isSilent && isChosen(hello)).length;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * The next COMMIT after that statement reaches the database, and its connection is closed before the response. Other
   * commits are not affected, because those of jobs may occur at any time.
   *
   * @param statement the name of a prepared statement, such as `insert-taps`
   */
  loseNextCommit(statement: string): void {
    this.#losing = statement;
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
    const pair: Pair = { client, database, hello: '', isSilent: this.#isMute };
    this.#pairs.add(pair);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (pair.isSilent) return;
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
    this.#forward(pair);
  }

  #forward(pair: Pair): void {
    const { client, database } = pair;
    let isLosing = false;
    let isBehind = false;
    client.on('data', (chunk: Buffer) => {
      pair.hello ||= chunk.toString('latin1');
      if (this.#onCommit && chunk.includes(COMMIT)) this.#onCommit();
      if (pair.isSilent) return;
      if (this.#losing !== undefined) {
        isBehind = (isBehind && !chunk.includes(BEGIN)) || chunk.includes(this.#losing);
        isLosing = isBehind && chunk.includes(COMMIT);
        if (isLosing) this.#losing = undefined;
      }
      database.write(chunk);
    });
    database.on('data', (chunk: Buffer) => {
      if (pair.isSilent) return;
      // Statements before the COMMIT may be on their way together with it.
      if (!isLosing || !chunk.includes(COMMITTED)) return void client.write(chunk);
      this.#lostCommits++;
      client.destroy();
    });
  }
}
