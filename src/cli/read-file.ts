import { readFileSync } from 'node:fs';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { StartError } from '../basics/errors.ts';

/** The text of a file, or of standard input for `-`. @throws StartError BAD_CONFIG naming the option, if it is one, that requires the file */
export function readText(what: string, path: string | undefined): string {
  return read(what, path, (text) => text);
}

/** Like `readText`, for JSON. */
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
