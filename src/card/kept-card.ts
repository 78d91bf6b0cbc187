/**
 * The bytes of a kept card before they are sealed: a format byte, then PAN, expiry, and the fields of its original, each
 * as a name and a value. A common name takes one byte. As JSON, the names took half of the 540 bytes of a sale, which
 * every change of a transaction's row copies.
 */
import { SealError } from '../basics/errors.ts';
import type { KeptCard } from '../payments/ports/card-ports.ts';

/** Another format would have another byte. */
const FORMAT = 1;

/** A name's code is its position here plus one. Stored cards have these codes: only append. */
const COMMON_NAMES = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'localTime',
  'localDate',
  'expiry',
  'merchantCategory',
  'posEntryMode',
  'panSequence',
  'posCondition',
  'acquirerId',
  'forwarderId',
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'currency',
  'posDataCode',
  'networkId',
];

const CODES: ReadonlyMap<string, number> = new Map(COMMON_NAMES.map((name, n) => [name, n + 1]));
/** The name follows as text. */
const OTHER_NAME = 0;
/** A text has its length before it, in bytes. */
const LENGTH_BYTES = 2;
/** The fields that a reversal repeats (DE43 and the chip's tags are the longest) stay under 2 KB. */
const MAX_CHARACTERS = 8_192;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const MAX_UTF8 = 3;

/** The caller zeroes the bytes. @throws {SealError} TOO_LARGE */
export function encodeKeptCard({ pan, expiry, original }: KeptCard): Buffer {
  // A processor in plain JavaScript may name a field that its message lacks.
  const fields = Object.entries(original).filter(([, value]) => value !== undefined);
  const texts = fields.reduce((sum, [name, value]) => sum + name.length + value.length, pan.length + expiry.length);
  if (texts > MAX_CHARACTERS) throw new SealError('TOO_LARGE');
  const bytes = Buffer.allocUnsafe(1 + texts * MAX_UTF8 + (2 + 2 * fields.length) * LENGTH_BYTES + fields.length);
  let end = bytes.writeUInt8(FORMAT, 0);
  end = writeText(bytes, pan, end);
  end = writeText(bytes, expiry, end);
  for (const [name, value] of fields) {
    const code = CODES.get(name) ?? OTHER_NAME;
    end = bytes.writeUInt8(code, end);
    if (code === OTHER_NAME) end = writeText(bytes, name, end);
    end = writeText(bytes, value, end);
  }
  return bytes.subarray(0, end);
}

/** Returns undefined for bytes that are no kept card. */
export function decodeKeptCard(bytes: Buffer): KeptCard | undefined {
  if (bytes[0] !== FORMAT) return undefined;
  try {
    return readFields(bytes);
  } catch {
    return undefined;
  }
}

function readFields(bytes: Buffer): KeptCard {
  let offset = 1;
  const text = () => {
    const start = offset + LENGTH_BYTES;
    offset = start + bytes.readUInt16BE(offset);
    if (offset > bytes.length) throw new RangeError('text beyond the end');
    return bytes.toString('utf8', start, offset);
  };
  const pan = text();
  const expiry = text();
  const original: [string, string][] = [];
  while (offset < bytes.length) {
    const code = bytes[offset++]!;
    const name = code === OTHER_NAME ? text() : COMMON_NAMES[code - 1];
    if (name === undefined) throw new RangeError('unknown name');
    original.push([name, text()]);
  }
  return { pan, expiry, original: Object.fromEntries(original) };
}

/** @returns the offset behind it */
function writeText(bytes: Buffer, text: string, offset: number): number {
  const start = offset + LENGTH_BYTES;
  const length = bytes.write(text, start);
  bytes.writeUInt16BE(length, offset);
  return start + length;
}
