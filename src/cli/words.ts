import { StartError } from '../basics/errors.ts';

/** Option kinds of commands, for `parseArgs`: with a value, with several values, without a value. */
export const text = { type: 'string' } as const;
export const texts = { type: 'string', multiple: true } as const;
export const flag = { type: 'boolean', default: false } as const;

/** Ids are integers of the database. */
const MAX_ID = 2_147_483_647;

/** An id from the arguments of a command. @throws StartError BAD_CONFIG */
export function idOf(given: string | undefined, what: string): number {
  if (given !== undefined && /^[1-9]\d{0,9}$/.test(given) && Number(given) <= MAX_ID) return Number(given);
  throw new StartError('BAD_CONFIG', `${what}: ${given === undefined ? 'is required' : 'expected a number from 1'}`);
}

/** @throws StartError BAD_CONFIG unless there is exactly one */
export function onlyOne([id, ...others]: readonly string[], what: string): string {
  if (id === undefined || others.length > 0) throw new StartError('BAD_CONFIG', `${what}: expected exactly one`);
  return id;
}

/** A number written with digits. Other text is returned unchanged, and the schema refuses it. */
export function readNumber(given: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given;
}

export function readYesOrNo(given: string): unknown {
  return { yes: true, no: false }[given] ?? given;
}

/** @throws StartError BAD_CONFIG */
export function readJsonText(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `not JSON: ${(cause as Error).message}`, { cause });
  }
}
