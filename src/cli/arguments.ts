import { existsSync, readFileSync, statSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import type { z } from 'zod';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { DigitError, MoneyError, StartError } from '../basics/errors.ts';
import { fromHex } from '../codecs/bytes/hex.ts';
import { type Currency, findCurrency, parseAmount } from '../payments/model/money.ts';

/** Option kinds of commands, for `parseArgs`: with a value, with several values, without a value. */
export const text = { type: 'string' } as const;
export const texts = { type: 'string', multiple: true } as const;
export const flag = { type: 'boolean', default: false } as const;

/** The options of a command that takes nothing else. */
export function readOptions<const Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  return parseArgs({ args, options }).values;
}

/** The options of a command, and the words beside them. */
export function readWords<const Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  return { values, words: positionals };
}

/** The only word beside the options. @throws StartError BAD_USAGE with this usage unless there is exactly one */
export function onlyWord([word, ...others]: readonly string[], usage: string): string {
  if (word === undefined || others.length > 0) throw new StartError('BAD_USAGE', usage);
  return word;
}

/** @throws StartError BAD_CONFIG with this reason if a value is missing */
export function needed<Value>(value: Value | undefined, reason: string): Value {
  if (value === undefined) throw new StartError('BAD_CONFIG', reason);
  return value;
}

/** A number between limits. @throws StartError BAD_CONFIG */
export function numberIn(given: string, option: string, least: number, most: number): number {
  const value = Number(given);
  if (given.trim() !== '' && value >= least && value <= most) return value;
  throw new StartError('BAD_CONFIG', `${option}: ${least} to ${most}`);
}

/** A whole number from 1 on. @throws StartError BAD_CONFIG */
export function countIn(given: string, option: string, most: number): number {
  return numberIn(Number.isInteger(Number(given)) ? given : '', option, 1, most);
}

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

/** Checks an amount before anything is sent. @throws StartError BAD_CONFIG naming the option and the fault */
export function checkAmount({ amount, currency: code }: { readonly amount: string; readonly currency: string }): void {
  const currency = findCurrency(code);
  if (currency?.code !== code)
    throw new StartError('BAD_CONFIG', `--currency ${code}: expected a currency code of ISO 4217, such as ZAR`);
  try {
    if (parseAmount(amount, currency) > 0) return;
  } catch (cause) {
    if (!(cause instanceof MoneyError)) throw cause;
    throw new StartError('BAD_CONFIG', `--amount ${amount}: ${faultOf(cause, currency)}`, { cause });
  }
  throw new StartError('BAD_CONFIG', `--amount ${amount}: expected an amount greater than zero`);
}

function faultOf({ code }: MoneyError, { code: currency, exponent }: Currency): string {
  if (code === 'TOO_MANY_DECIMALS') return `${currency} has ${exponent === 0 ? 'no' : exponent} decimals`;
  if (code === 'AMOUNT_TOO_LARGE') return 'an amount has at most 12 digits';
  return 'expected an amount such as 10.00';
}

/** Content that a schema accepts. @throws StartError BAD_CONFIG with the title and the places of faults, never with values */
export function fitting<Content>(schema: z.ZodType<Content>, given: unknown, title: string): Content {
  const { data, error } = schema.safeParse(given);
  if (error === undefined) return data;
  const faults = error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
  throw new StartError('BAD_CONFIG', `${title}:\n${faults.join('\n')}`);
}

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
