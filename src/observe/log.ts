import pino, { type Logger } from 'pino';
import { TapwireError } from '../basics/errors.ts';
import { type LogScreen, readableLog } from './readable-log.ts';

export type Log = Logger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * JSON lines on standard output, and readable lines on a terminal. Only explicitly named fields are logged. Errors are reduced to class and code, and
 * foreign errors also to their origin, because a message may quote input.
 *
 * @param number of the process in its group: 0 for the primary; undefined for a process that is alone
 */
export function createLog(level: LogLevel, name = 'tapwire', number?: number, screen: LogScreen = process.stdout): Log {
  const options = {
    name,
    level,
    base: { name, pid: process.pid, ...(number !== undefined && { process: number }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: safeError },
  };
  return screen.isTTY ? pino(options, readableLog(screen)) : pino(options);
}

/** The parts of an error that may be logged. */
export function safeError(error: unknown): object {
  if (error instanceof TapwireError) return { class: error.name, code: error.code };
  if (!(error instanceof Error)) return { class: typeof error };
  const { code } = error as { code?: unknown };
  const place = error.stack
    ?.split('\n')
    .find((line) => line.trimStart().startsWith('at '))
    ?.trim();
  return { class: error.constructor.name, ...(typeof code === 'string' && { code }), ...(place && { place }) };
}
