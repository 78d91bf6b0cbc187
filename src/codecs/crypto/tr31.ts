import { randomFillSync } from 'node:crypto';
import { CryptoError, DigitError } from '../../basics/errors.ts';
import { isDigits } from '../bytes/digits.ts';
import { fromHex, toHex } from '../bytes/hex.ts';
import { BlockKey, type KeyAlgorithm, takeKey } from './block-key.ts';
import { cmac, isSameMac } from './mac.ts';

/** B binds a TDES key block with key derivation and CMAC, D does the same with AES (ANSI X9.143:2021 7.1). */
type Tr31Version = 'B' | 'D';

/** The clear, authenticated description of the key in a key block (X9.143:2021 6.2, table 1). */
export interface Tr31Header {
  readonly version: Tr31Version;
  /** Two characters, `P0` for PIN encryption (X9.143:2021 table 2). */
  readonly keyUsage: string;
  /** `T` TDES, `D` DES, `A` AES (X9.143:2021 table 4). */
  readonly algorithm: string;
  /** `E` encrypt only, `N` no restriction (X9.143:2021 table 5). */
  readonly modeOfUse: string;
  /** Two characters: `00` if keys are not numbered. */
  readonly keyVersion: string;
  /** `E` under a trusted key, `N` never, `S` otherwise (X9.143:2021 table 6). */
  readonly exportability: string;
  /** In their order; `KS` contains a key serial number in hex, `PB` is padding (X9.143:2021 6.3). */
  readonly optionalBlocks: readonly Tr31OptionalBlock[];
}

interface Tr31OptionalBlock {
  readonly id: string;
  readonly data: string;
}

/** The length is written in four digits. */
const MAX_TR31_CHARS = 9_999;

/** Version, length, usage, algorithm, mode, key version, exportability, count of optional blocks, reserved. */
const TR31_FIXED_CHARS = 16;

/** Id and length of an optional block; the second value applies if the length follows as `02` and four hex digits. */
const OPTIONAL_CHARS_LEAST = 4;
const EXTENDED_CHARS_LEAST = 10;

/** Bytes of the MAC and of the cipher's block. */
const TR31_BLOCK_BYTES: Record<Tr31Version, 8 | 16> = { B: 8, D: 16 };

/**
 * The header of a key block, and where it ends.
 *
 * @throws {CryptoError} KEY_BLOCK; KEY_BLOCK_UNSUPPORTED for versions other than B and D: A and C have a 4-byte MAC
 * and keys that differ by a constant, E belongs to ISO 20038
 */
export function parseTr31Header(block: string): { header: Tr31Header; headerChars: number } {
  if (block.length < TR31_FIXED_CHARS || block.length > MAX_TR31_CHARS || !isPrintable(block)) {
    throw new CryptoError('KEY_BLOCK');
  }
  const version = block[0]!;
  if (version !== 'B' && version !== 'D') throw new CryptoError('KEY_BLOCK_UNSUPPORTED');
  const length = block.substring(1, 5);
  const optionalCount = block.substring(12, 14);
  if (!isDigits(length) || Number(length) !== block.length || !isDigits(optionalCount)) {
    throw new CryptoError('KEY_BLOCK');
  }
  const { optionalBlocks, end } = parseOptionalBlocks(block, Number(optionalCount));
  if (end % TR31_BLOCK_BYTES[version] !== 0) throw new CryptoError('KEY_BLOCK');
  const header = {
    version,
    keyUsage: block.substring(5, 7),
    algorithm: block[7]!,
    modeOfUse: block[8]!,
    keyVersion: block.substring(9, 11),
    exportability: block[11]!,
    optionalBlocks,
  } as const;
  return { header, headerChars: end };
}

/** @param count at most 99, because it is written in two digits */
function parseOptionalBlocks(block: string, count: number): { optionalBlocks: Tr31OptionalBlock[]; end: number } {
  const optionalBlocks: Tr31OptionalBlock[] = [];
  let start = TR31_FIXED_CHARS;
  for (let number = 0; number < count; number++) {
    const shortLength = parseHexLength(block.substring(start + 2, start + 4), 2);
    const isExtended = shortLength === 0;
    const overhead = isExtended ? EXTENDED_CHARS_LEAST : OPTIONAL_CHARS_LEAST;
    const lengthChars = isExtended ? parseExtendedLength(block.substring(start + 4, start + 10)) : shortLength;
    if (lengthChars < overhead || start + lengthChars > block.length) throw new CryptoError('KEY_BLOCK');
    const id = block.substring(start, start + 2);
    optionalBlocks.push({ id, data: block.substring(start + overhead, start + lengthChars) });
    start += lengthChars;
  }
  return { optionalBlocks, end: start };
}

/** `02`, the bytes of the length, and the length: two bytes can express more than a key block may have. */
function parseExtendedLength(text: string): number {
  if (!text.startsWith('02')) throw new CryptoError('KEY_BLOCK');
  return parseHexLength(text.substring(2), 4);
}

function parseHexLength(text: string, chars: number): number {
  if (text.length !== chars || !/^[0-9A-F]+$/.test(text)) throw new CryptoError('KEY_BLOCK');
  return Number.parseInt(text, 16);
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

/**
 * TR-31 key blocks (ANSI X9.143:2021), versions B and D: a clear header, then the enciphered key and a MAC in hex.
 * The MAC is a CMAC over the header and the clear key, and is also the IV of the encipherment. Both use keys that
 * are derived from the key block protection key.
 */
export interface Tr31Key extends Tr31Header {
  readonly key: BlockKey;
}

const ALGORITHMS: Record<string, { readonly algorithm: KeyAlgorithm; readonly lengthsBytes: readonly number[] }> = {
  T: { algorithm: 'tdes', lengthsBytes: [8, 16, 24] },
  D: { algorithm: 'tdes', lengthsBytes: [8] },
  A: { algorithm: 'aes', lengthsBytes: [16, 24, 32] },
};

/**
 * Keys are padded to the longest of their algorithm, so that a key block does not reveal the length of its key
 * (7.3.1).
 */
const PADDED_KEY_BYTES: Record<KeyAlgorithm, number> = { tdes: 24, aes: 32 };

/** Two bytes before the key: its length in bits. */
const LENGTH_BYTES = 2;

/**
 * Opens a key block.
 *
 * @param block the text of the key block, at most 9,999 characters
 * @param protectionKey TDES of 16 or 24 bytes for version B, AES for version D
 * @throws {CryptoError} KEY_BLOCK, KEY_BLOCK_UNSUPPORTED, KEY_BLOCK_MAC, KEY_USAGE
 */
export function unwrapTr31(block: string, protectionKey: BlockKey): Tr31Key {
  const { header, headerChars } = parseTr31Header(block);
  requireProtectionKey(header.version, protectionKey);
  const { payload, mac } = readSealed(block.substring(headerChars), TR31_BLOCK_BYTES[header.version]);
  const { encryptionKey, macKey } = deriveTr31Keys(protectionKey);
  const clear = encryptionKey.decryptCbc(payload, mac);
  try {
    const isAuthentic = isSameMac(authenticate(macKey, block.substring(0, headerChars), clear), mac);
    if (!isAuthentic) throw new CryptoError('KEY_BLOCK_MAC');
    return { ...header, key: readKey(header.algorithm, clear) };
  } finally {
    clear.fill(0);
  }
}

/**
 * Creates a key block without optional blocks.
 *
 * @throws {CryptoError} KEY_USAGE if the protection key does not fit the version
 */
export function wrapTr31(key: BlockKey, header: Omit<Tr31Header, 'optionalBlocks'>, protectionKey: BlockKey): string {
  const { version } = header;
  requireProtectionKey(version, protectionKey);
  const blockBytes = TR31_BLOCK_BYTES[version];
  const payloadBytes = Math.ceil((LENGTH_BYTES + PADDED_KEY_BYTES[key.algorithm]) / blockBytes) * blockBytes;
  const chars = String(TR31_FIXED_CHARS + 2 * (payloadBytes + blockBytes)).padStart(4, '0');
  const { keyUsage, algorithm, modeOfUse, keyVersion, exportability } = header;
  const text = `${version}${chars}${keyUsage}${algorithm}${modeOfUse}${keyVersion}${exportability}0000`;
  const clear = randomFillSync(new Uint8Array(payloadBytes));
  new DataView(clear.buffer).setUint16(0, key.lengthBytes * 8);
  key.useBytes((bytes) => clear.set(bytes, LENGTH_BYTES));
  const { encryptionKey, macKey } = deriveTr31Keys(protectionKey);
  const mac = authenticate(macKey, text, clear);
  const payload = encryptionKey.encryptCbc(clear, mac);
  clear.fill(0);
  return text + toHex(payload) + toHex(mac);
}

/**
 * The two keys of a key block, each of the same kind as the protection key: CMACs over their use and length
 * (X9.143:2021 7.3.2.1 and 7.3.3.1).
 */
export function deriveTr31Keys(protectionKey: BlockKey): { encryptionKey: BlockKey; macKey: BlockKey } {
  return { encryptionKey: deriveTr31Key(protectionKey, 0), macKey: deriveTr31Key(protectionKey, 1) };
}

function deriveTr31Key(from: BlockKey, usage: 0 | 1): BlockKey {
  const { algorithm, lengthBytes, blockBytes } = from;
  const indicator = algorithm === 'tdes' ? lengthBytes / 8 - 2 : lengthBytes / 8;
  const mac = cmac(from);
  const data = new DataView(new ArrayBuffer(8));
  data.setUint16(1, usage);
  data.setUint16(4, indicator);
  data.setUint16(6, lengthBytes * 8);
  const derived = new Uint8Array(Math.ceil(lengthBytes / blockBytes) * blockBytes);
  for (let start = 0; start < derived.length; start += blockBytes) {
    data.setUint8(0, start / blockBytes + 1);
    derived.set(mac(new Uint8Array(data.buffer)), start);
  }
  const key = takeKey(algorithm, derived.subarray(0, lengthBytes));
  derived.fill(0);
  return key;
}

function authenticate(macKey: BlockKey, header: string, clear: Uint8Array): Uint8Array {
  const message = Buffer.concat([Buffer.from(header, 'latin1'), clear]);
  try {
    return cmac(macKey)(message);
  } finally {
    message.fill(0);
  }
}

/** The two parts in hex after the header: at least one block of key, and a MAC of one block. */
function readSealed(text: string, blockBytes: 8 | 16): { payload: Uint8Array; mac: Uint8Array } {
  const bytes = bytesOfHex(text);
  if (bytes.length < 2 * blockBytes || bytes.length % blockBytes !== 0) throw new CryptoError('KEY_BLOCK');
  const macStart = bytes.length - blockBytes;
  return { payload: bytes.subarray(0, macStart), mac: bytes.subarray(macStart) };
}

function readKey(algorithmLetter: string, clear: Uint8Array): BlockKey {
  const known = Object.hasOwn(ALGORITHMS, algorithmLetter) ? ALGORITHMS[algorithmLetter] : undefined;
  if (known === undefined) throw new CryptoError('KEY_BLOCK_UNSUPPORTED');
  const lengthBits = (clear[0]! << 8) | clear[1]!;
  const end = LENGTH_BYTES + lengthBits / 8;
  if (!known.lengthsBytes.includes(lengthBits / 8) || end > clear.length) throw new CryptoError('KEY_BLOCK');
  return new BlockKey(known.algorithm, clear.subarray(LENGTH_BYTES, end));
}

function requireProtectionKey(version: Tr31Version, { algorithm, lengthBytes }: BlockKey): void {
  const isFit = version === 'B' ? algorithm === 'tdes' && lengthBytes >= 16 : algorithm === 'aes';
  if (!isFit) throw new CryptoError('KEY_USAGE');
}

function bytesOfHex(text: string): Uint8Array {
  try {
    return fromHex(text);
  } catch (error) {
    if (error instanceof DigitError) throw new CryptoError('KEY_BLOCK');
    throw error;
  }
}
