import { isDeepStrictEqual } from 'node:util';
import type { Simulator } from '../tools/simulator/start-simulator.ts';
import { cutTo, type Output } from './output.ts';
import { tableOf } from './table.ts';

type Counters = ReturnType<Simulator['counters']>;

const EVERY_MS = 1_000;
/** In a file or a pipe: frequent enough to follow a load test, rare enough to read. */
const EVERY_MS_IN_A_FILE = 10_000;

/**
 * Statistics of the switches, one line each. On a terminal the lines are rewritten each second. Elsewhere new lines
 * are added every few seconds when the figures changed.
 */
export class Statistics {
  readonly #output: Output;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #read: () => Counters = () => [];
  #before: Counters = [];
  #previousAtMs = 0;
  /** The lines at the end of the terminal. */
  #shown: readonly string[] = [];

  constructor(output: Output) {
    this.#output = output;
    this.#everyMs = output.isTTY ? EVERY_MS : EVERY_MS_IN_A_FILE;
  }

  start(read: () => Counters): void {
    this.#read = read;
    this.#before = read();
    this.#previousAtMs = performance.now();
    this.#timer = setInterval(() => this.#renew(), this.#everyMs).unref();
  }

  /** Lets other code write lines, which then appear above the statistics. */
  aside(write: () => void): void {
    const shown = this.#shown;
    this.#clear();
    write();
    this.#show(shown);
  }

  /** Writes the figures since the last lines and leaves them in place. */
  stop(): void {
    clearInterval(this.#timer);
    this.#renew();
    this.#shown = [];
  }

  #renew(): void {
    const counters = this.#read();
    const nowMs = performance.now();
    const isNew = !isDeepStrictEqual(counters, this.#before);
    const lines = statisticsLines(counters, this.#before, (nowMs - this.#previousAtMs) / 1_000);
    this.#before = counters;
    this.#previousAtMs = nowMs;
    if (this.#output.isTTY) {
      this.#clear();
      this.#show(lines.map((line) => cutTo(this.#output, line)));
    } else if (isNew) this.#output.write(`${lines.join('\n')}\n`);
  }

  #show(lines: readonly string[]): void {
    if (lines.length > 0) this.#output.write(`${lines.join('\n')}\n`);
    this.#shown = lines;
  }

  /** Returns to the first of the lines and erases everything below (ECMA-48: CPL, ED). */
  #clear(): void {
    if (this.#shown.length > 0) this.#output.write(`\u001b[${this.#shown.length}F\u001b[J`);
    this.#shown = [];
  }
}

/** `type-1  2 connections  120/s  1200 approved  30 declined  2 reversals  1 refused`, for each switch. */
export function statisticsLines(now: Counters, before: Counters, seconds: number): string[] {
  const rows = now.map(({ processor, lines, requests, approved, declined, reversals, refused }, at) => [
    processor,
    `${lines} ${lines === 1 ? 'connection' : 'connections'}`,
    `${Math.round((requests - (before[at]?.requests ?? 0)) / seconds)}/s`,
    `${approved} approved`,
    `${declined} declined`,
    `${reversals} reversals`,
    `${refused} refused`,
  ]);
  return tableOf(rows).split('\n');
}
