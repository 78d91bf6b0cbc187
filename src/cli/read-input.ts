import { existsSync, readFileSync, statSync } from 'node:fs';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { DigitError, StartError } from '../basics/errors.ts';
import { fromHex } from '../codecs/bytes/hex.ts';

/** The text of a file, or of standard input for `-`. @throws StartError BAD_CONFIG naming the option, if it is one, that requires the file */
export function readText(what: string, path: string | undefined): string {
  return read(what, path, (text) => text);
}

/** Reads JSON, from the same places as `readText`. */
export function readJson(what: string | undefined, path: string | undefined): unknown {
  return read(what, path, JSON.parse);
}

function read<Content>(what: string | undefined, path: string | undefined, parse: (text: string) => Content): Content {
  if (path === undefined)
    throw new StartError('BAD_CONFIG', `${what ?? 'FILE'}: expected a file, or - for standard input`);
  try {
    return parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (cause) {
    throw new StartError(
      'BAD_CONFIG',
      `${what === undefined ? '' : `${what} `}${path}: ${describeSystemError(cause)}`,
      { cause },
    );
  }
}

/** Enough for a trace of a few messages. */
const MAX_INPUT_BYTES = 1_048_576;

/**
 * Bytes given as `HEX`, as a file, or as `-` for standard input. Files and standard input can contain hex (with
 * blanks and line breaks) or the bytes themselves.
 *
 * @throws StartError BAD_USAGE without an argument, BAD_CONFIG when the argument is invalid
 */
export function readHexInput(word: string | undefined, usage: string): Uint8Array {
  if (word === undefined) throw new StartError('BAD_USAGE', usage);
  if (word === '-') return hexOrBytes(readFileSync(0));
  if (existsSync(word)) {
    if (statSync(word).size > MAX_INPUT_BYTES)
      throw new StartError('BAD_CONFIG', `${word} is larger than ${MAX_INPUT_BYTES} bytes`);
    return hexOrBytes(readBytes(word));
  }
  return hexOf(word) ?? fail();
}

/** @throws StartError BAD_CONFIG naming the path */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `${path}: ${describeSystemError(cause)}`, { cause });
  }
}

function fail(): never {
  throw new StartError('BAD_CONFIG', 'The input must be hex, an existing file, or - for standard input.');
}

function hexOrBytes(input: Buffer): Uint8Array {
  return hexOf(input.toString('latin1')) ?? new Uint8Array(input);
}

function hexOf(text: string): Uint8Array | undefined {
  try {
    return fromHex(text.replace(/\s+/g, ''));
  } catch (error) {
    if (error instanceof DigitError) return undefined;
    throw error;
  }
}
