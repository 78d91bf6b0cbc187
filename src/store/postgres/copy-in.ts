import type pg from 'pg';

/** What is handed to the socket at once: pg copies each chunk into a packet of its own. */
const CHUNK_BYTES = 65_536;

/** The part of pg's connection that COPY needs; its typings do not know it. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** Runs `copy … from stdin (format binary)` with those bytes, which may be written anew as soon as it is done. */
export function copyIn(client: pg.ClientBase, statement: string, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, bytes, (error) => (error ? reject(error) : resolve())) as never);
  });
}

/** A query as pg's client runs them: it calls these while the query is the active one. */
class CopyIn {
  readonly #statement: string;
  readonly #bytes: Uint8Array;
  /** Called once: with what went wrong, or when the server is ready for the next query. pg replaces it to watch over time. */
  callback: (error?: Error) => void;

  constructor(statement: string, bytes: Uint8Array, callback: (error?: Error) => void) {
    this.#statement = statement;
    this.#bytes = bytes;
    this.callback = callback;
  }

  submit(connection: CopyConnection): void {
    connection.query(this.#statement);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (let at = 0; at < this.#bytes.length; at += CHUNK_BYTES) {
      connection.sendCopyFromChunk(this.#bytes.subarray(at, at + CHUNK_BYTES));
    }
    connection.endCopyFrom();
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
}
