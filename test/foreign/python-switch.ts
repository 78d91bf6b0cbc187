import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const DUPLICATE_RULES = ['stan-terminal', 'rrn', '127.2', 'de90', 'none'] as const;
export const REVERSAL_RULES = ['first-match', 'exact', 'none-for-refunds'] as const;

export interface SwitchRules {
  readonly duplicates: (typeof DUPLICATE_RULES)[number];
  readonly reversal: (typeof REVERSAL_RULES)[number];
}

/** One line of the books of `switch.py`. */
export interface BookEntry {
  readonly entry: number;
  readonly what: 'sale' | 'refund' | 'verification' | 'reversal' | 'duplicate';
  readonly acquirer: string;
  readonly mid: string;
  readonly tid: string;
  readonly card: string;
  readonly amount: number;
  readonly rrn: string;
  readonly fault?: string;
  /** Of a booking: the entry of the reversal that cancelled it. */
  readonly reversedBy?: number | null;
  /** Of a refund: the entry of the sale that 127.11 names. */
  readonly sale?: number | null;
  /** Of a reversal: the entry that it cancelled. Of a duplicate: the entry that it was taken for. */
  readonly original?: number | null;
  readonly response?: string | null;
}

export interface SwitchBooks {
  readonly entries: readonly BookEntry[];
  /** Requests that broke a rule of the README. */
  readonly refused: readonly { readonly mti: string; readonly reason: string }[];
  /** Responses that it will send late. */
  readonly waiting: number;
}

export const hasPython = spawnSync('python3', ['--version']).status === 0;

/** A process of `switch.py`. */
export class PythonSwitch {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #http: number;

  private constructor(child: ChildProcess, ports: { readonly port: number; readonly http: number }) {
    this.#process = child;
    this.port = ports.port;
    this.#http = ports.http;
  }

  static async open(...options: string[]): Promise<PythonSwitch> {
    const path = join(import.meta.dirname, 'switch.py');
    const child = spawn('python3', [path, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface(child.stdout);
    const [line] = await Promise.race([
      once(lines, 'line'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`switch.py ended with ${code}`))),
    ]);
    return new PythonSwitch(child, JSON.parse(line));
  }

  async books(): Promise<SwitchBooks> {
    return (await (await fetch(`http://127.0.0.1:${this.#http}/books`)).json()) as SwitchBooks;
  }

  /** Begins empty books, kept by these rules. */
  async beginBooks(rules: SwitchRules): Promise<void> {
    await fetch(`http://127.0.0.1:${this.#http}/books?${new URLSearchParams({ ...rules })}`, { method: 'DELETE' });
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exited;
  }
}
