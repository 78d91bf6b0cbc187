import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { toHex } from '../../src/codecs/bytes/hex.ts';

/** Fields of a message as jPOS has them, by path: `4`, `127.2`, and `52b` for a binary value. */
export type PeerFields = Readonly<Record<string, string>>;

/** jPOS in a process of its own; `jpos/Peer.java` lists the commands. */
export class Peer {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #responses: AsyncIterator<string>;
  #last: Promise<unknown> = Promise.resolve();

  /** @param classPath as `compileJpos` returns it */
  constructor(classPath: string) {
    this.#process = spawn('java', ['-cp', classPath, 'Peer']);
    this.#process.stderr.resume();
    this.#responses = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  /** @throws Error with what jPOS says */
  ask(...words: readonly string[]): Promise<string> {
    const response = this.#last.then(async () => {
      this.#process.stdin.write(`${words.join('\t')}\n`);
      const { value = 'failed\tthe process of jPOS has ended' } = await this.#responses.next();
      const [how, ...rest] = String(value).split('\t');
      if (how !== 'ok') throw new Error(rest.join(' '));
      return rest.join('\t');
    });
    this.#last = response.catch(() => {});
    return response;
  }

  async fields(type: string, bytes: Uint8Array): Promise<PeerFields> {
    return parseFields(await this.ask('fields', type, toHex(bytes)));
  }

  async repack(type: string, bytes: Uint8Array): Promise<string> {
    return this.ask('repack', type, toHex(bytes));
  }

  async send(type: string, connection: string, fields: PeerFields): Promise<PeerFields> {
    return parseFields(await this.ask('send', type, connection, ...Object.entries(fields).map(asWord)));
  }

  close(): void {
    this.#process.stdin.end();
  }
}

const isBinary = (path: string) => path.endsWith('b');

function asWord([path, value]: [string, string]): string {
  return `${path}=${isBinary(path) ? value : Buffer.from(value, 'latin1').toString('hex').toUpperCase()}`;
}

function parseFields(words: string): PeerFields {
  return Object.fromEntries(
    words.split('\t').map((word) => {
      const [path, value] = word.split('=') as [string, string];
      return [path, isBinary(path) ? value : Buffer.from(value, 'hex').toString('latin1')];
    }),
  );
}
