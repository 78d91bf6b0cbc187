import { isDigits } from '../../codecs/bytes/digits.ts';

const HEX = /^[0-9A-F]*$/;

/** A field is missing, too long, or has characters that its type does not allow; never with its value. */
export class FieldFault extends Error {}

/** Reads the fields of a command or of a response in order. Every field must be complete, and none may be left. */
export class FieldReader {
  readonly #text: string;
  #at = 0;

  /** @param bytes the fields, one character for each byte */
  constructor(bytes: Uint8Array) {
    this.#text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** The next characters without moving on; fewer at the end. */
  peek(chars: number): string {
    return this.#text.substring(this.#at, this.#at + chars);
  }

  /** Type `A` of the manual: any characters. @throws FieldFault */
  text(chars: number): string {
    const end = this.#at + chars;
    if (!(chars >= 0) || end > this.#text.length) throw new FieldFault('a field is incomplete');
    const value = this.#text.substring(this.#at, end);
    this.#at = end;
    return value;
  }

  /** Type `H`: hex digits in upper case. @throws FieldFault */
  hex(chars: number): string {
    const value = this.text(chars);
    if (!HEX.test(value)) throw new FieldFault('a field has other characters than hex digits');
    return value;
  }

  /** Type `N`: decimal digits. @throws FieldFault */
  digits(chars: number): string {
    const value = this.text(chars);
    if (!isDigits(value)) throw new FieldFault('a field has other characters than digits');
    return value;
  }

  /** Type `B`. @throws FieldFault */
  bytes(count: number): Uint8Array {
    return Buffer.from(this.text(count), 'latin1');
  }

  /** @throws FieldFault if the text continues differently */
  literal(expected: string): void {
    if (this.text(expected.length) !== expected) throw new FieldFault('a field has an unexpected value');
  }

  /** @throws FieldFault if a field is left */
  end(): void {
    if (!this.isAtEnd) throw new FieldFault('unexpected fields follow');
  }
}
