import { CryptoError } from '../../basics/errors.ts';
import { isDigits } from '../bytes/digits.ts';

/** B binds a TDES key block with key derivation and CMAC, D does the same with AES (ANSI X9.143:2021 7.1). */
export type Tr31Version = 'B' | 'D';

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
const TR31_CHARS_MOST = 9_999;

/** Version, length, usage, algorithm, mode, key version, exportability, count of optional blocks, reserved. */
export const TR31_FIXED_CHARS = 16;

/** Id and length of an optional block; the second value applies if the length follows as `02` and four hex digits. */
const OPTIONAL_CHARS_LEAST = 4;
const EXTENDED_CHARS_LEAST = 10;

/** Bytes of the MAC and of the cipher's block. */
export const TR31_BLOCK_BYTES: Record<Tr31Version, 8 | 16> = { B: 8, D: 16 };

/**
 * The header of a key block, and where it ends.
 *
 * @throws {CryptoError} KEY_BLOCK; KEY_BLOCK_UNSUPPORTED for versions other than B and D: A and C have a 4-byte MAC
 * and keys that differ by a constant, E belongs to ISO 20038
 */
export function parseTr31Header(block: string): { header: Tr31Header; headerChars: number } {
  if (block.length < TR31_FIXED_CHARS || block.length > TR31_CHARS_MOST || !isPrintable(block)) {
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
