import type { Database } from './open-database.ts';

/** Size of a write to the socket: pg copies each chunk into a packet of its own. */
const CHUNK_BYTES = 65_536;

/** The part of pg's connection that COPY needs; pg's type definitions lack it. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/**
 * Runs `copy … from stdin (format binary)` with the bytes, which the caller may overwrite afterwards. Statements
 * before it share its transaction.
 */
export async function copyIn(database: Database, statements: string, bytes: Uint8Array): Promise<void> {
  const client = await database.connect();
  try {
    await new Promise<void>((resolve, reject) => {
      client.query(new CopyIn(statements, bytes, (error) => (error ? reject(error) : resolve())) as never);
    });
    client.release();
  } catch (error) {
    client.release(true); // an error may have left it in the middle of a copy, and errors are rare
    throw error;
  }
}

/** A query in the form that pg's client runs: the client calls these methods while the query is active. */
class CopyIn {
  readonly #statements: string;
  readonly #bytes: Uint8Array;
  /**
   * Called once: with an error, or when the server is ready for the next query. pg replaces it to enforce a timeout.
   */
  callback: (error?: Error) => void;

  constructor(statements: string, bytes: Uint8Array, callback: (error?: Error) => void) {
    this.#statements = statements;
    this.#bytes = bytes;
    this.callback = callback;
  }

  submit(connection: CopyConnection): void {
    connection.query(this.#statements);
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
