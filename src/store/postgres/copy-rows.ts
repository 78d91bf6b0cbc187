import { finished } from 'node:stream/promises';
import { from } from 'pg-copy-streams';
import type { Database } from './open-database.ts';

/**
 * Rows in the binary format of COPY: a count of values, then each value after its length. Rows are written directly
 * into one buffer and not processed again, so a row costs about a microsecond and a known amount of memory.
 */

/** Room for a hundred rows of a kilobyte; doubled when more is needed. */
const FIRST_BYTES = 131_072;
/** `PGCOPY\n\377\r\n\0`, no flags, no extension. */
const HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
/** A row of -1 values. */
const TRAILER = Buffer.from('ffff', 'hex');
/** Timestamps count from the year 2000, in microseconds. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const NULL = -1;
const TWO_TO_32 = 2 ** 32;

export class CopyRows {
  readonly #columns: number;
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #end = HEADER.copy(this.#bytes);
  #count = 0;

  /** @param columns the number of values per row */
  constructor(columns: number) {
    this.#columns = columns;
  }

  get count(): number {
    return this.#count;
  }

  get lengthBytes(): number {
    return this.#end;
  }

  /** Begins a row; a value for each of its columns must follow. */
  begin(): void {
    this.#count++;
    this.#room(2);
    this.#end = this.#bytes.writeInt16BE(this.#columns, this.#end);
  }

  int2(value: number): void {
    this.#room(6);
    this.#end = this.#bytes.writeInt16BE(value, this.#bytes.writeInt32BE(2, this.#end));
  }

  int4(value: number | null): void {
    this.#room(8);
    this.#end = this.#bytes.writeInt32BE(value === null ? NULL : 4, this.#end);
    if (value !== null) this.#end = this.#bytes.writeInt32BE(value, this.#end);
  }

  /** A `timestamptz`, from milliseconds since 1970. */
  timestamp(ms: number): void {
    this.#room(12);
    const micros = Math.round((ms - EPOCH_MS) * 1_000);
    const high = Math.floor(micros / TWO_TO_32);
    this.#end = this.#bytes.writeInt32BE(8, this.#end);
    this.#end = this.#bytes.writeInt32BE(high, this.#end);
    this.#end = this.#bytes.writeUInt32BE(micros - high * TWO_TO_32, this.#end);
  }

  /** ASCII. */
  text(value: string): void {
    this.#room(4 + value.length);
    this.#end = this.#bytes.writeInt32BE(value.length, this.#end);
    this.#end += this.#bytes.write(value, this.#end, 'latin1');
  }

  /** The 36 characters of a UUID. */
  uuid(value: string): void {
    this.#room(20);
    this.#end = this.#bytes.writeInt32BE(16, this.#end);
    this.#end += this.#bytes.write(value.replaceAll('-', ''), this.#end, 'hex');
  }

  bytes(value: Uint8Array | null): void {
    this.#room(4 + (value?.length ?? 0));
    this.#end = this.#bytes.writeInt32BE(value === null ? NULL : value.length, this.#end);
    if (value === null) return;
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** All rows in the format of COPY. The memory is reused after `clear`. */
  finish(): Buffer {
    this.#room(TRAILER.length);
    this.#end += TRAILER.copy(this.#bytes, this.#end);
    return this.#bytes.subarray(0, this.#end);
  }

  /** Removes all rows, and releases memory that exceeds the normal need. */
  clear(): void {
    if (this.#bytes.length > FIRST_BYTES * 4) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    this.#end = HEADER.copy(this.#bytes);
    this.#count = 0;
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + bytes));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }
}

/**
 * Runs `copy … from stdin (format binary)` with the bytes, which the caller may overwrite afterwards. Statements
 * before it share its transaction.
 */
export async function copyIn(database: Database, statements: string, bytes: Uint8Array): Promise<void> {
  const client = await database.connect();
  try {
    const copy = client.query(from(statements));
    await finished(copy.end(bytes));
    client.release();
  } catch (error) {
    client.release(true); // an error may have left it in the middle of a copy, and errors are rare
    throw error;
  }
}
