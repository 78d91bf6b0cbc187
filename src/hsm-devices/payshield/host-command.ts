import type { FieldReader } from './field-reader.ts';

/**
 * A host command: its code and fields, and how its response is read. No command here changes a device, so each can be
 * repeated on another device.
 *
 * The layouts are those of the payShield 9000 and 10K manuals as far as they are public: field tables of the manuals that
 * are cited on web pages, and open codecs and clients (README.md lists them).
 */
export interface HostCommand<Result> {
  /** Two characters. The code of the response has the next letter or digit as its second character. */
  readonly code: string;
  /** The fields after the code. */
  readonly body: Uint8Array;
  /** Error codes other than 00 with which `read` is called: a warning, or a negative result. */
  readonly readableErrors?: readonly string[];
  /**
   * Reads every field after the error code.
   *
   * @throws FieldFault
   */
  read(fields: FieldReader, errorCode: string): Result;
}

/** Sends a command to a device, or to any device of a group. */
export type SendCommand = <Result>(command: HostCommand<Result>) => Promise<Result>;

/** How the local master key protects keys, and which of several it is. */
export interface Lmk {
  /** `variant`: bare cryptograms, a variant of the key for each use. `keyBlock`: key blocks that name the use. */
  readonly form: 'variant' | 'keyBlock';
  /** Two digits; undefined for the default of the device. */
  readonly id?: string | undefined;
}

/** @param parts texts with one byte for each character, or bytes */
export function commandBody(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
}

/** Delimiter `%` and LMK Identifier (2 N), the last fields of every command that uses keys. */
export function lmkField({ id }: Lmk): string {
  return id === undefined ? '' : `%${id}`;
}

export function responseCodeOf(code: string): string {
  return code[0]! + String.fromCharCode(code.charCodeAt(1) + 1);
}
