import { randomBytes } from 'node:crypto';
import { CryptoError } from '../../basics/errors.ts';
import { isDigits } from '../bytes/digits.ts';
import { Secret } from '../bytes/secret.ts';
import { type BlockKey, xor } from './block-key.ts';

/**
 * PIN blocks (ISO 9564-1:2017 9.3): a PIN field of 16 hex digits with the format, the PIN's length, the PIN and a
 * fill. Formats 0, 3 and 4 bind it to the PAN.
 *
 * - Format 0: fill F; XOR with 12 digits of the PAN; enciphered as one TDES block.
 * - Format 1: any fill; bound to nothing; one TDES block.
 * - Format 2: fill F; bound to nothing; for the card's own check. It stays between terminal and card and is not
 *   enciphered here.
 * - Format 3: random fill A to F; XOR with 12 digits of the PAN; one TDES block.
 * - Format 4: fill A, then 8 random bytes; XOR with the PAN between two AES blocks; two AES blocks, one over the
 *   other.
 *
 * Every fault of a block, a PIN or a PAN is the same error, because the response to a forged block must not reveal
 * what the block decrypts to.
 */
type PinFormat = 0 | 1 | 2 | 3 | 4;

/** The formats whose clear block is 8 bytes. */
export type ShortPinFormat = Exclude<PinFormat, 4>;

/** The formats that are sent enciphered. */
export type OnlinePinFormat = Exclude<PinFormat, 2>;

/** The digits of a PIN, a value from 0 to 9 in each byte, so that they can be wiped. */
export type Pin = Secret<Uint8Array>;

/** ISO 9564-1:2017 8.1. */
const PIN_DIGITS_LEAST = 4;
export const MAX_PIN_DIGITS = 12;

/** ISO/IEC 7812-1:2017 4.1. */
const PAN_DIGITS_LEAST = 8;
const MAX_PAN_DIGITS = 19;

/** The digits of a PAN in a format 0 or 3 block, and the fewest that a format 4 block does not pad. */
const PAN_FIELD_DIGITS = 12;

/** Nibbles of a PIN field after the format and the length. */
const PIN_AND_FILL_NIBBLES = 14;

/** The nibbles that may follow the PIN; random nibbles are mapped into this range. */
const FILL_RANGE: Record<PinFormat, readonly [least: number, most: number]> = {
  0: [0xf, 0xf],
  1: [0x0, 0xf],
  2: [0xf, 0xf],
  3: [0xa, 0xf],
  4: [0xa, 0xa],
};

/** 64 random bits are enough for every format: 10 nibbles of fill, or the 8 bytes of format 4. */
const RANDOM_BYTES = 8;

/**
 * Parses a sequence of decimal digits into a PIN.
 *
 * @throws {CryptoError} PIN_BLOCK
 */
export function parsePin(digits: string): Pin {
  if (!isDigits(digits)) throw new CryptoError('PIN_BLOCK');
  return requirePin(new Secret(Uint8Array.from(digits, Number)));
}

/**
 * The clear block of formats 0 to 3.
 *
 * @param pan the whole PAN, 8 to 19 digits; formats 1 and 2 do not use it
 * @param random 8 bytes for the fill of formats 1 and 3; only tests pass it
 * @throws {CryptoError} PIN_BLOCK
 */
export function encodePinBlock(
  format: ShortPinFormat,
  pin: Pin,
  pan: string,
  random: Uint8Array = randomBytes(RANDOM_BYTES),
): Uint8Array {
  const field = pinField(format, pin, random);
  return isBoundToPan(format) ? wiping(field, () => xor(field, shortPanField(pan))) : field;
}

/** @throws {CryptoError} PIN_BLOCK */
export function decodePinBlock(format: ShortPinFormat, block: Uint8Array, pan: string): Pin {
  if (block.length !== 8) throw new CryptoError('PIN_BLOCK');
  const field = isBoundToPan(format) ? xor(block, shortPanField(pan)) : Uint8Array.from(block);
  return readPinField(format, field);
}

/**
 * The enciphered block: 8 bytes, 16 in format 4.
 *
 * @param key TDES for formats 0, 1 and 3, AES for format 4
 * @param random 8 bytes; only tests pass it
 * @throws {CryptoError} PIN_BLOCK; KEY_USAGE for a key of the other algorithm
 */
export function encipherPin(
  format: OnlinePinFormat,
  pin: Pin,
  pan: string,
  key: BlockKey,
  random: Uint8Array = randomBytes(RANDOM_BYTES),
): Uint8Array {
  requireCipher(format, key);
  if (format !== 4) return wiping(encodePinBlock(format, pin, pan, random), (block) => key.encrypt(block));
  const panField = longPanField(pan);
  return wiping(longPinField(pin, random), (field) => key.encrypt(xor(key.encrypt(field), panField)));
}

/**
 * The PIN of a received block. The caller wipes it: `pin.reveal().fill(0)`.
 *
 * @throws {CryptoError} PIN_BLOCK for every fault of the block; KEY_USAGE for a key of the other algorithm
 */
export function decipherPin(format: OnlinePinFormat, block: Uint8Array, pan: string, key: BlockKey): Pin {
  requireCipher(format, key);
  if (block.length !== key.blockBytes) throw new CryptoError('PIN_BLOCK');
  if (format !== 4) return wiping(key.decrypt(block), (clear) => decodePinBlock(format, clear, pan));
  return readPinField(format, key.decrypt(xor(key.decrypt(block), longPanField(pan))));
}

/** The 16 bytes that format 4 enciphers first: the PIN field and 8 random bytes (ISO 9564-1:2017 9.4.2.2.2). */
export function longPinField(pin: Pin, random: Uint8Array): Uint8Array {
  const field = new Uint8Array(16);
  wiping(pinField(4, pin, random), (short) => field.set(short));
  field.set(random.subarray(0, RANDOM_BYTES), 8);
  return field;
}

/**
 * The 16 bytes of PAN in format 4: the number of digits beyond 12, the digits, zeros (ISO 9564-1:2017 9.4.2.2.3). A
 * shorter PAN is padded with zeros on the left.
 *
 * @throws {CryptoError} PIN_BLOCK
 */
export function longPanField(pan: string): Uint8Array {
  const digits = requirePan(pan).padStart(PAN_FIELD_DIGITS, '0');
  return packNibbles(Uint8Array.from(`${digits.length - PAN_FIELD_DIGITS}${digits}`.padEnd(32, '0'), Number));
}

/** The 12 rightmost digits of the PAN without its check digit, after four zeros (ISO 9564-1:2017 9.3.2.3). */
function shortPanField(pan: string): Uint8Array {
  const digits = requirePan(pan).slice(0, -1).slice(-PAN_FIELD_DIGITS);
  return packNibbles(Uint8Array.from(digits.padStart(16, '0'), Number));
}

function pinField(format: PinFormat, pin: Pin, random: Uint8Array): Uint8Array {
  const digits = requirePin(pin).reveal();
  const nibbles = new Uint8Array(2 + PIN_AND_FILL_NIBBLES);
  nibbles[0] = format;
  nibbles[1] = digits.length;
  nibbles.set(digits, 2);
  nibbles.set(fill(format, PIN_AND_FILL_NIBBLES - digits.length, random), 2 + digits.length);
  return wiping(nibbles, packNibbles);
}

/**
 * Writes random bits into as many digits as the format's fill allows: 16 in format 1, six in format 3, one in
 * others.
 */
function fill(format: PinFormat, nibbleCount: number, random: Uint8Array): Uint8Array {
  const [least, most] = FILL_RANGE[format];
  const base = BigInt(most - least + 1);
  const nibbles = new Uint8Array(nibbleCount);
  const bits = random.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  let rest = bits >> (64n - 4n * BigInt(nibbleCount));
  for (let position = nibbleCount - 1; position >= 0; position--) {
    nibbles[position] = least + Number(rest % base);
    rest /= base;
  }
  return nibbles;
}

/** Reads and wipes a PIN field. It checks every nibble regardless of the others, and returns one verdict. */
function readPinField(format: PinFormat, field: Uint8Array): Pin {
  const digitCount = field[0]! & 0x0f;
  const [fillLeast, fillMost] = FILL_RANGE[format];
  let isGood = field[0]! >> 4 === format && digitCount >= PIN_DIGITS_LEAST && digitCount <= MAX_PIN_DIGITS;
  const nibbles = new Uint8Array(PIN_AND_FILL_NIBBLES);
  for (let position = 0; position < PIN_AND_FILL_NIBBLES; position++) {
    const pair = field[1 + (position >> 1)]!;
    const nibble = position % 2 === 0 ? pair >> 4 : pair & 0x0f;
    nibbles[position] = nibble;
    const isAllowed = position < digitCount ? nibble <= 9 : nibble >= fillLeast && nibble <= fillMost;
    isGood = isAllowed && isGood;
  }
  field.fill(0);
  if (!isGood) {
    nibbles.fill(0);
    throw new CryptoError('PIN_BLOCK');
  }
  nibbles.fill(0, digitCount);
  return new Secret(nibbles.subarray(0, digitCount));
}

function isBoundToPan(format: PinFormat): boolean {
  return format === 0 || format === 3;
}

function requireCipher(format: OnlinePinFormat, key: BlockKey): void {
  if (key.algorithm !== (format === 4 ? 'aes' : 'tdes')) throw new CryptoError('KEY_USAGE');
}

function requirePan(pan: string): string {
  const isPan = pan.length >= PAN_DIGITS_LEAST && pan.length <= MAX_PAN_DIGITS && isDigits(pan);
  if (!isPan) throw new CryptoError('PIN_BLOCK');
  return pan;
}

function requirePin(pin: Pin): Pin {
  const digits = pin.reveal();
  const isPin =
    digits.length >= PIN_DIGITS_LEAST && digits.length <= MAX_PIN_DIGITS && digits.every((digit) => digit <= 9);
  if (!isPin) throw new CryptoError('PIN_BLOCK');
  return pin;
}

function packNibbles(nibbles: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(nibbles.length / 2);
  for (let position = 0; position < bytes.length; position++) {
    bytes[position] = (nibbles[2 * position]! << 4) | nibbles[2 * position + 1]!;
  }
  return bytes;
}

function wiping<Result>(bytes: Uint8Array, use: (bytes: Uint8Array) => Result): Result {
  try {
    return use(bytes);
  } finally {
    bytes.fill(0);
  }
}
