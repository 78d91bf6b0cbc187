import { readFileSync } from 'node:fs';
import { StartError } from '../errors.ts';

/** The text of a file, or of standard input for `-`. @throws StartError BAD_CONFIG naming `what` requires the file */
export function readText(what: string, path: string | undefined): string {
  return read(what, path, (text) => text);
}

/** Like `readText`, for JSON. Not for card data: the error message quotes the characters around a fault. */
export function readJson(what: string, path: string | undefined): unknown {
  return read(what, path, JSON.parse);
}

function read<Content>(what: string, path: string | undefined, parse: (text: string) => Content): Content {
  if (path === undefined) throw new StartError('BAD_CONFIG', `${what}: expected a file, or - for standard input`);
  try {
    return parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `${what} ${path}: ${(cause as Error).message}`, { cause });
  }
}
