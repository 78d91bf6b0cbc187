import pino from 'pino';
import { type Log, type LogLevel, safeError } from '../../src/observe/log.ts';

/** One line of a gateway's log, as it would be printed. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

const ERROR = 50;

/** A log like the gateway's that collects its lines here. */
export function logTo(lines: LogLine[], level: LogLevel = 'info'): Log {
  const write = (line: string) => void lines.push(JSON.parse(line));
  return pino({ level, serializers: { error: safeError } }, { write });
}

/** Where an error was thrown that says that the database gave no connection in time: it is slow on a busy machine. */
const WITHOUT_CONNECTION = /node_modules\/pg-pool\//;

/** The reason of a switch that was not opened in time, and is tried again: the same on a busy machine. */
const NOT_IN_TIME = /: its HSM or the database does not respond$/;

/** Lines that call for action by a person. */
export function faultsIn(lines: readonly LogLine[]): LogLine[] {
  const isSlow = ({ error, reason }: LogLine) =>
    WITHOUT_CONNECTION.test((error as { readonly place?: string } | undefined)?.place ?? '') ||
    NOT_IN_TIME.test(`${reason}`);
  return lines.filter((line) => line.level >= ERROR && !isSlow(line));
}
