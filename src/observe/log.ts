import { styleText } from 'node:util';
import type { Logger } from 'pino';
import pino from 'pino';
import { TapwireError } from '../basics/errors.ts';
import { LogBudget } from '../basics/limits/log-budget.ts';

/** The fields that have their own place in a line, or none. */
const PLACED = new Set(['level', 'time', 'msg', 'name', 'pid', 'process']);
type Style = Parameters<typeof styleText>[0];
/** Names and styles of the levels, by pino's number. */
const LEVELS: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
};

/** A place that shows logs to a person. */
export interface LogScreen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** Takes the JSON lines of pino and shows them to a person: `10:20:30.456 WARN  switch is down  processorId=1`. */
function readableLog(screen: LogScreen): { write(line: string): void } {
  return { write: (line) => void screen.write(`${readableLine(line, screen)}\n`) };
}

function readableLine(line: string, screen: LogScreen): string {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const [level, style] = LEVELS[Number(entry.level)] ?? ['?', 'dim'];
  const styled = (how: Style, text: string) => styleText(how, text, { stream: screen as NodeJS.WriteStream });
  const time = String(entry.time).slice('2026-03-01T'.length, -1);
  const number = entry.process === undefined ? '' : `[${entry.process}] `;
  const fields = Object.entries(entry).filter(([name]) => !PLACED.has(name));
  const rest = fields.map(([name, value]) => `${name}=${shown(value)}`).join(' ');
  return `${styled('dim', time)} ${styled(style, level.padEnd(5))} ${number}${entry.msg ?? ''}${rest && `  ${styled('dim', rest)}`}`;
}

/** Quotes what a terminal could interpret, or what would look like several fields. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : escaped(JSON.stringify(value));
}

/** JSON leaves DEL and the control characters after it as they are. */
function escaped(json: string): string {
  return json.replace(/[\x7f-\x9f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export type Log = Logger;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const MS_PER_MINUTE = 60_000;

/** The level of a running process, which a person may change for a while. */
export class ChangedLevel {
  readonly #log: Log;
  readonly #usual: string;
  #ending: NodeJS.Timeout | undefined;

  constructor(log: Log) {
    this.#log = log;
    this.#usual = log.level;
  }

  change(level: LogLevel, minutes: number): void {
    clearTimeout(this.#ending);
    this.#log.warn({ level, minutes }, 'log level changed for a while');
    this.#log.level = level;
    this.#ending = setTimeout(() => this.end(), minutes * MS_PER_MINUTE).unref();
  }

  end(): void {
    clearTimeout(this.#ending);
    this.#log.level = this.#usual;
  }
}

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

/** An outage of the database is one event, and would otherwise be hundreds of equal lines a minute. */
const REPEAT_MS = 10_000;
/** Limit of remembered kinds of faults: there are about thirty texts with a few codes each. Above it, they are logged again. */
const MAX_KINDS = 200;

/**
 * Writes faults that can occur with every tap and poll. The first one of a kind is logged at once, and then one line
 * for each ten seconds, with the number of those that were omitted before it (`suppressed`).
 */
export class FaultLines {
  readonly #log: Pick<Log, 'error'>;
  readonly #monotonicMs: () => number;
  readonly #budgets = new Map<string, LogBudget>();

  constructor(log: Pick<Log, 'error'>, monotonicMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
  }

  /** @param about further fields; they do not distinguish kinds */
  write(what: string, error: unknown, about: Readonly<Record<string, unknown>> = {}): void {
    const { class: name, code } = safeError(error) as { class: string; code?: string };
    const kind = `${what} ${name} ${code}`;
    this.#budgetOf(kind).spend(this.#monotonicMs(), (suppressed) =>
      this.#log.error({ error, ...about, ...(suppressed > 0 && { suppressed }) }, what),
    );
  }

  #budgetOf(kind: string): LogBudget {
    const known = this.#budgets.get(kind);
    if (known) return known;
    if (this.#budgets.size >= MAX_KINDS) this.#budgets.clear();
    const budget = new LogBudget(1, REPEAT_MS);
    this.#budgets.set(kind, budget);
    return budget;
  }
}
