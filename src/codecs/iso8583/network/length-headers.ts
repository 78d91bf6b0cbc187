/** How the digits of a length are written: their base, the digit of each byte (-1 for no digit), the byte of each digit. */
interface DigitCoding {
  readonly radix: number;
  readonly digits: Int16Array;
  readonly bytes: Uint8Array;
}

/** One form of the length that precedes each message in a stream. */
export interface LengthHeader {
  readonly coding: keyof typeof CODINGS;
  readonly lengthBytes: number;
  /** Whether the first byte is the least significant one. */
  readonly isLittleEndian: boolean;
  /** Whether the length counts its own bytes. */
  readonly countsItself: boolean;
  /** Bytes after the length that it does not count: sent as zeros, not read. */
  readonly reservedBytes: number;
  /** Description for people: "2-byte length". */
  readonly description: string;
}

const CODINGS = {
  binary: coding(256, (byte) => byte),
  ascii: coding(10, digitOfText),
  bcd: coding(100, (byte) => (byte >> 4 < 10 && (byte & 15) < 10 ? (byte >> 4) * 10 + (byte & 15) : -1)),
  hex: coding(16, digitOfText),
} as const;

/**
 * The length headers in use: a framing names one of these rows. A length counts the message and its transport header.
 * Each row states the channel of jPOS (`org.jpos.iso.channel`) that writes the same bytes.
 */
export const LENGTH_HEADERS = {
  /** PostChannel; with a TPDU NACChannel. */
  'binary-2': row('binary', 2, '2-byte length'),
  /** AmexChannel; with a TPDU NACChannel whose `lenlen` is 2. */
  'binary-2-inclusive': row('binary', 2, '2-byte length that counts itself', { countsItself: true }),
  /** CSChannel; VAPChannel, whose header of the Visa network is the transport header here. */
  'binary-2-reserved-2': row('binary', 2, '2-byte length, 2 reserved bytes', { reservedBytes: 2 }),
  /** RawChannel. */
  'binary-4': row('binary', 4, '4-byte length'),
  /** jPOS has none. */
  'binary-4-inclusive': row('binary', 4, '4-byte length that counts itself', { countsItself: true }),
  /** jPOS has none. */
  'binary-2-little-endian': row('binary', 2, '2-byte little-endian length', { isLittleEndian: true }),
  /** ASCIIChannel. */
  'ascii-4': row('ascii', 4, 'length of 4 ASCII digits'),
  /** ASCIIChannel whose `length-digits` is 5. */
  'ascii-5': row('ascii', 5, 'length of 5 ASCII digits'),
  /** BCDChannel; with a TPDU NCCChannel. */
  'bcd-2': row('bcd', 2, '2-byte BCD length'),
  /** HEXChannel. */
  'hex-4': row('hex', 4, 'length of 4 hex digits'),
} as const satisfies Readonly<Record<string, LengthHeader>>;

export type LengthHeaderName = keyof typeof LENGTH_HEADERS;

export const LENGTH_HEADER_NAMES = Object.keys(LENGTH_HEADERS) as readonly LengthHeaderName[];

/** The bytes before a transport header or message. */
export function headerBytesOf({ lengthBytes, reservedBytes }: LengthHeader): number {
  return lengthBytes + reservedBytes;
}

/** The longest content, transport header included, that the header can announce. */
export function longestContentOf({ coding, lengthBytes, countsItself }: LengthHeader): number {
  return CODINGS[coding].radix ** lengthBytes - 1 - (countsItself ? lengthBytes : 0);
}

/**
 * The bytes of content that the header at `at` announces. Zero is a keep-alive: a length of zero, also where it counts
 * itself, or a length that counts nothing but itself.
 *
 * @returns NaN if a byte is not a digit; a negative number if the length is less than it counts
 */
export function readLengthHeader(header: LengthHeader, bytes: Uint8Array, at: number): number {
  const { lengthBytes, countsItself, isLittleEndian } = header;
  const { radix, digits } = CODINGS[header.coding];
  let length = 0;
  for (let index = 0; index < lengthBytes; index++) {
    const digit = digits[bytes[at + (isLittleEndian ? lengthBytes - 1 - index : index)]!]!;
    if (digit < 0) return Number.NaN;
    length = length * radix + digit;
  }
  return countsItself && length !== 0 ? length - lengthBytes : length;
}

/** Writes the header of `contentBytes` bytes at `at`. The content must not be longer than `longestContentOf`. */
export function writeLengthHeader(header: LengthHeader, target: Uint8Array, at: number, contentBytes: number): void {
  const { lengthBytes, reservedBytes, countsItself, isLittleEndian } = header;
  const { radix, bytes } = CODINGS[header.coding];
  let length = contentBytes + (countsItself ? lengthBytes : 0);
  for (let index = lengthBytes - 1; index >= 0; index--) {
    target[at + (isLittleEndian ? lengthBytes - 1 - index : index)] = bytes[length % radix]!;
    length = Math.floor(length / radix);
  }
  if (reservedBytes > 0) target.fill(0, at + lengthBytes, at + lengthBytes + reservedBytes);
}

function row(
  coding: LengthHeader['coding'],
  lengthBytes: number,
  description: string,
  { countsItself = false, reservedBytes = 0, isLittleEndian = false }: Partial<LengthHeader> = {},
): LengthHeader {
  return { coding, lengthBytes, isLittleEndian, countsItself, reservedBytes, description };
}

/** The last byte with a digit is the one that is written, so hex digits are written in lower case, as jPOS does. */
function coding(radix: number, digitOf: (byte: number) => number): DigitCoding {
  const digits = new Int16Array(256).fill(-1);
  const bytes = new Uint8Array(radix);
  for (let byte = 0; byte < 256; byte++) {
    const digit = digitOf(byte);
    if (digit < 0 || digit >= radix) continue;
    digits[byte] = digit;
    bytes[digit] = byte;
  }
  return { radix, digits, bytes };
}

function digitOfText(byte: number): number {
  const text = String.fromCharCode(byte);
  return /[0-9a-f]/i.test(text) ? Number.parseInt(text, 16) : -1;
}
