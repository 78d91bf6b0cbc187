import type { Cursor } from '../../bytes/cursor.ts';
import type { ValueCoding } from './value-coding.ts';

/** Nibbles that a value may contain, one bit each. */
export const DIGIT_NIBBLES = 0x03ff;
/** The separator of track 2: `D` or `=` in text. */
export const SEPARATOR_NIBBLE = 1 << 0x0d;
export const FILL_NIBBLE = 1 << 0x0f;

export interface PackedOptions {
  /** The side on which an odd number of digits is padded. */
  readonly side: 'left' | 'right';
  /**
   * The fill for an odd number of digits. Another nibble there is a fault, because it would not survive a round
   * trip.
   */
  readonly fill: '0' | 'F';
  /** The nibbles that a value may contain. */
  readonly nibbles: number;
}

/** Digits, two per byte. */
export function packedCoding({ side, fill, nibbles }: PackedOptions): ValueCoding<string> {
  const fillNibble = fill === 'F' ? 0x0f : 0;
  const isLeft = side === 'left';
  const hasLetters = nibbles > DIGIT_NIBBLES;
  const isPair = pairTable(nibbles);
  const nibbleOf = nibbleTable(nibbles);
  const isAllowed = (nibble: number) => ((nibbles >> nibble) & 1) === 1;

  /** Whether the byte with the fill nibble and one digit is correct. */
  function isEdge(byte: number): boolean {
    const high = byte >> 4;
    const low = byte & 0x0f;
    return isLeft ? high === fillNibble && isAllowed(low) : isAllowed(high) && low === fillNibble;
  }

  return {
    wireBytes: (count) => (count + 1) >> 1,
    firstWrong(bytes, from, count) {
      const isOdd = (count & 1) === 1;
      const full = count >> 1;
      if (isOdd && isLeft && !isEdge(bytes[from]!)) return from;
      const first = isOdd && isLeft ? from + 1 : from;
      for (let at = first; at < first + full; at++) if (isPair[bytes[at]!] === 0) return at;
      return isOdd && !isLeft && !isEdge(bytes[from + full]!) ? from + full : -1;
    },
    read(cursor: Cursor, from, count) {
      const digits = cursor.nibbles(from, isLeft ? count & 1 : 0, count);
      return hasLetters && (digits.includes('d') || digits.includes('f')) ? digits.toUpperCase() : digits;
    },
    write(value, target, at) {
      let position = at;
      let byte = isLeft && (value.length & 1) === 1 ? fillNibble : 1;
      let isHalf = isLeft && (value.length & 1) === 1;
      for (let index = 0; index < value.length; index++) {
        const code = value.charCodeAt(index);
        const nibble = code > 0x7f ? -1 : nibbleOf[code]!;
        if (nibble < 0) return position;
        if (isHalf) target[position++] = (byte << 4) | nibble;
        byte = nibble;
        isHalf = !isHalf;
      }
      if (isHalf) target[position] = (byte << 4) | fillNibble;
      return -1;
    },
  };
}

/** 1 for each byte whose two nibbles are allowed. */
function pairTable(nibbles: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (nibbles >> (byte >> 4)) & (nibbles >> (byte & 0x0f)) & 1);
}

/**
 * The nibble of each ASCII character, -1 for those that a value must not contain. `=` is the separator of track 2,
 * like `D`.
 */
function nibbleTable(nibbles: number): Int8Array {
  const table = new Int8Array(128).fill(-1);
  for (let nibble = 0; nibble < 16; nibble++) {
    if (((nibbles >> nibble) & 1) === 1) table[nibble.toString(16).toUpperCase().charCodeAt(0)] = nibble;
  }
  table['='.charCodeAt(0)] = table['D'.charCodeAt(0)]!;
  return table;
}
