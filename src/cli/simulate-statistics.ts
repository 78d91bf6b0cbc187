import { isDeepStrictEqual } from 'node:util';
import type { Simulator } from '../simulator/start-simulator.ts';
import { cutTo, type Output } from './output.ts';
import { tableOf } from './table.ts';

type Counters = ReturnType<Simulator['counters']>;

const EVERY_MS = 1_000;
/** Into a file or a pipe: often enough to follow a load test, rarely enough to read its log. */
const EVERY_MS_IN_A_FILE = 10_000;

/**
 * What the switches do, a line for each. On a terminal the lines are renewed in their place each second; elsewhere lines are
 * added now and then, when there is something new.
 */
export class Statistics {
  readonly #output: Output;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #read: () => Counters = () => [];
  #before: Counters = [];
  #beforeMs = 0;
  /** The lines that stand at the end of the terminal. */
  #shown: readonly string[] = [];

  constructor(output: Output) {
    this.#output = output;
    this.#everyMs = output.isTTY ? EVERY_MS : EVERY_MS_IN_A_FILE;
  }

  start(read: () => Counters): void {
    this.#read = read;
    this.#before = read();
    this.#beforeMs = performance.now();
    this.#timer = setInterval(() => this.#renew(), this.#everyMs).unref();
  }

  /** Lets somebody else write lines, which then stand above those of statistics. */
  aside(write: () => void): void {
    const shown = this.#shown;
    this.#clear();
    write();
    this.#show(shown);
  }

  /** What happened since the last lines is told, too; they stay. */
  stop(): void {
    clearInterval(this.#timer);
    this.#renew();
    this.#shown = [];
  }

  #renew(): void {
    const counters = this.#read();
    const nowMs = performance.now();
    const isNew = !isDeepStrictEqual(counters, this.#before);
    const lines = statisticsLines(counters, this.#before, (nowMs - this.#beforeMs) / 1_000);
    this.#before = counters;
    this.#beforeMs = nowMs;
    if (this.#output.isTTY) {
      this.#clear();
      this.#show(lines.map((line) => cutTo(this.#output, line)));
    } else if (isNew) this.#output.write(`${lines.join('\n')}\n`);
  }

  #show(lines: readonly string[]): void {
    if (lines.length > 0) this.#output.write(`${lines.join('\n')}\n`);
    this.#shown = lines;
  }

  /** Back to the first of the lines, and everything below erased (ECMA-48: CPL, ED). */
  #clear(): void {
    if (this.#shown.length > 0) this.#output.write(`\u001b[${this.#shown.length}F\u001b[J`);
    this.#shown = [];
  }
}

/** `type-1  2 lines  120/s  1200 approved  30 declined  2 reversals  1 refused`, for each switch. */
export function statisticsLines(now: Counters, before: Counters, seconds: number): string[] {
  const rows = now.map(({ processor, lines, requests, approved, declined, reversals, refused }, at) => [
    processor,
    `${lines} ${lines === 1 ? 'line' : 'lines'}`,
    `${Math.round((requests - (before[at]?.requests ?? 0)) / seconds)}/s`,
    `${approved} approved`,
    `${declined} declined`,
    `${reversals} reversals`,
    `${refused} refused`,
  ]);
  return tableOf(rows).split('\n');
}
