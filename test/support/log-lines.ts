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

/** Lines that call for action by a person. */
export function faultsIn(lines: readonly LogLine[]): LogLine[] {
  const isSlow = ({ error }: LogLine) =>
    WITHOUT_CONNECTION.test((error as { readonly place?: string } | undefined)?.place ?? '');
  return lines.filter((line) => line.level >= ERROR && !isSlow(line));
}
