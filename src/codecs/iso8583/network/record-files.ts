import { Iso8583Error } from '../../../basics/errors/codec-errors.ts';

/**
 * Files of messages, as clearing systems exchange them: each message is a record behind a length of four bytes (the
 * record descriptor word, RDW, big-endian; it does not count itself), and a length of zero ends the file. A blocked file
 * is cut into blocks of 1014 bytes: 1012 bytes of records, then `40 40`. The last block is filled with `40`.
 */
export interface RecordFileOptions {
  readonly blocked?: boolean | undefined;
  /** The longest record; by default 65,535 bytes, many times the longest clearing message. */
  readonly maxRecordBytes?: number | undefined;
}

const RDW_BYTES = 4;
const BLOCK_BYTES = 1_014;
const DATA_BYTES = 1_012;
const FILL = 0x40;
const MAX_RECORD_BYTES = 65_535;

/**
 * The records of a file, one after another, as views of `bytes`, or of a copy if the file is blocked.
 *
 * @throws {Iso8583Error} TRUNCATED, LENGTH_TOO_LONG, PADDING_INVALID or TRAILING_BYTES, at the offset in the records
 */
export function* readRecords(
  bytes: Uint8Array,
  options: RecordFileOptions = {},
): Generator<Uint8Array, void, undefined> {
  const { blocked = false, maxRecordBytes = MAX_RECORD_BYTES } = options;
  const records = blocked ? withoutBlocks(bytes) : bytes;
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  let at = 0;
  for (;;) {
    if (at + RDW_BYTES > records.length) throw new Iso8583Error('TRUNCATED', 'RDW', at);
    const length = view.getUint32(at);
    if (length === 0) break;
    if (length > maxRecordBytes) throw new Iso8583Error('LENGTH_TOO_LONG', 'RDW', at);
    const from = at + RDW_BYTES;
    if (from + length > records.length) throw new Iso8583Error('TRUNCATED', 'record', from);
    yield records.subarray(from, from + length);
    at = from + length;
  }
  const wrong = records.subarray(at + RDW_BYTES).findIndex((byte) => !blocked || byte !== FILL);
  if (wrong >= 0) throw new Iso8583Error('TRAILING_BYTES', 'file', at + RDW_BYTES + wrong);
}

/** A file of these records. @throws {Iso8583Error} LENGTH_TOO_SHORT or LENGTH_TOO_LONG for a record without room */
export function writeRecords(records: Iterable<Uint8Array>, options: RecordFileOptions = {}): Uint8Array {
  const { blocked = false, maxRecordBytes = MAX_RECORD_BYTES } = options;
  const parts: Uint8Array[] = [];
  for (const record of records) {
    if (record.length === 0) throw new Iso8583Error('LENGTH_TOO_SHORT', 'record', 0);
    if (record.length > maxRecordBytes) throw new Iso8583Error('LENGTH_TOO_LONG', 'record', 0);
    parts.push(rdwOf(record.length), record);
  }
  const plain = joined([...parts, rdwOf(0)]);
  return blocked ? inBlocks(plain) : plain;
}

function withoutBlocks(bytes: Uint8Array): Uint8Array {
  if (bytes.length % BLOCK_BYTES !== 0) throw new Iso8583Error('TRUNCATED', 'block', bytes.length);
  const blocks = bytes.length / BLOCK_BYTES;
  const records = new Uint8Array(blocks * DATA_BYTES);
  for (let block = 0; block < blocks; block++) {
    const at = block * BLOCK_BYTES;
    const end = at + DATA_BYTES;
    if (bytes[end] !== FILL || bytes[end + 1] !== FILL)
      throw new Iso8583Error('PADDING_INVALID', 'block', (block + 1) * DATA_BYTES);
    records.set(bytes.subarray(at, end), block * DATA_BYTES);
  }
  return records;
}

function inBlocks(plain: Uint8Array): Uint8Array {
  const blocks = Math.ceil(plain.length / DATA_BYTES);
  const file = new Uint8Array(blocks * BLOCK_BYTES).fill(FILL);
  for (let block = 0; block < blocks; block++)
    file.set(plain.subarray(block * DATA_BYTES, (block + 1) * DATA_BYTES), block * BLOCK_BYTES);
  return file;
}

function rdwOf(length: number): Uint8Array {
  const rdw = new Uint8Array(RDW_BYTES);
  new DataView(rdw.buffer).setUint32(0, length);
  return rdw;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
