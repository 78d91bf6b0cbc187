/**
 * How a number is written in bytes, the most significant first: each byte is one digit of `radix`. Decimal characters
 * have radix 10, packed decimals 100, plain bytes 256. One function reads them all.
 */
export interface NumberDigits {
  readonly radix: number;
  /** The digit that each byte is; -1 for a byte that is not a digit. */
  readonly values: Int16Array;
  /** The byte of each digit. */
  readonly written: Uint8Array;
}

/** `values` is by byte; `written` is the byte to write for each digit. */
export function numberDigits(written: Uint8Array, digitOf: (byte: number) => number): NumberDigits {
  return { radix: written.length, values: Int16Array.from({ length: 256 }, (_, byte) => digitOf(byte)), written };
}

/** The number from `from` to `to`, or -1. */
export function readNumber({ radix, values }: NumberDigits, bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = values[bytes[at]!]!;
    if (digit < 0) return -1;
    number = number * radix + digit;
  }
  return number;
}

/** Writes `number` from `from` to `to`; it must fit. */
export function writeNumber(
  { radix, written }: NumberDigits,
  number: number,
  target: Uint8Array,
  from: number,
  to: number,
): void {
  let rest = number;
  for (let at = to - 1; at >= from; at--) {
    // Most lengths are one digit of packed decimals, and then need no division.
    const higher = rest < radix ? 0 : (rest / radix) | 0;
    target[at] = written[rest - higher * radix]!;
    rest = higher;
  }
}
