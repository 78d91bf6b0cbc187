import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The name of the socket of a Postgres in its folder. */
const SOCKET = '.s.PGSQL.5432';
/** A simple query as the protocol has it: its text ends with NUL. */
const COMMIT = Buffer.from('commit\0');
const BEGIN = Buffer.from('begin');

/** One connection of a gateway's, and ours to the database for it. */
interface Pair {
  readonly client: Socket;
  readonly database: Socket;
  /** What it has sent first: its startup message, with the name of the application. */
  hello: string;
  isSilent: boolean;
}

/** Which connections are meant, by what they sent first. */
export type Chosen = (hello: string) => boolean;

/** Connections of gateways that only listen. */
export const LISTENING: Chosen = (hello) => hello.includes('tapwire-listen');

/**
 * Stands between a gateway and its database: can be away, come back, lose the answer to a COMMIT, and go silent: what is sent in
 * either direction is dropped, and neither side learns of the other's end.
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

  /** Connections go silent as they are; new ones work. @returns how many */
  silence(isChosen: Chosen = () => true): number {
    const chosen = [...this.#pairs].filter(({ hello, isSilent }) => !isSilent && isChosen(hello));
    for (const pair of chosen) pair.isSilent = true;
    return chosen.length;
  }

  /** All connections go silent, and new ones are taken and never answered, until `speak`. */
  goSilent(): void {
    this.#isMute = true;
    this.silence();
  }

  /** New connections work again; those that are silent stay so. */
  speak(): void {
    this.#isMute = false;
    this.#onCommit = undefined;
  }

  /** All connections go silent as soon as one has written a COMMIT, which does not arrive. @returns when that is so */
  silenceAtCommit(): Promise<void> {
    return new Promise((resolve) => {
      this.#onCommit = () => {
        this.goSilent();
        resolve();
      };
    });
  }

  /** How many of the connections chosen work. */
  count(isChosen: Chosen): number {
    return [...this.#pairs].filter(({ hello, isSilent }) => !isSilent && isChosen(hello)).length;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * The next COMMIT behind that statement reaches the database, and its connection ends before the answer. Other commits go on:
   * those of jobs come whenever they like.
   *
   * @param statement the name of a prepared statement, `insert-taps`
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
      if (!isLosing) return void client.write(chunk);
      this.#lostCommits++;
      client.destroy();
    });
  }
}
