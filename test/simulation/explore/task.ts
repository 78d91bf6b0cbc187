import { StoreUnavailable } from '../../../src/errors.ts';
import type { Transaction } from '../../../src/transactions/model/transaction.ts';
import type { Effects } from '../simulated-dependencies.ts';
import type { Statement } from '../switch/statements.ts';
import type { Deviation, EffectKind } from './deviations.ts';
import type { ExploredProcess } from './explored-process.ts';
import { transactionText } from './transaction-text.ts';

/** What a task requires of its execution. */
export interface TaskHost {
  /** Counts the effect, and returns what it does instead of succeeding. */
  meet(kind: EffectKind, what: string): Deviation | undefined;
  park(task: Task, what: string, go: () => void): void;
  kill(process: ExploredProcess): void;
  afterCommit(): void;
}

/** Commits that store a response of the switch. */
const STORES_ANSWERS: readonly string[] = ['stepReversal', 'recordLate'];

/**
 * One call of a use case in one process. `log` contains everything that it has read from outside. Its local state
 * follows from that, so two tasks with the same log behave identically.
 */
export class Task implements Effects {
  readonly name: string;
  readonly process: ExploredProcess;
  readonly #log: { readonly what: string; readonly result: unknown }[] = [];
  readonly #host: TaskHost;
  readonly #heard: Statement[] = [];

  constructor(name: string, process: ExploredProcess, host: TaskHost) {
    this.name = name;
    this.process = process;
    this.#host = host;
  }

  read<T>(what: string, read: () => T): Promise<T> {
    if (!this.process.isAlive) return never();
    const deviation = this.#host.meet('read', `${this.name}: ${what}`);
    if (deviation !== undefined) return this.#fail(what, false);
    return Promise.resolve(this.note(what, read()));
  }

  commit<T>(what: string, write: () => T): Promise<T> {
    if (!this.process.isAlive) return never();
    const stored = () => {
      const result = this.note(what, write());
      if (STORES_ANSWERS.includes(what)) this.#hear();
      this.#host.afterCommit();
      return result;
    };
    const deviation = this.#host.meet('commit', `${this.name}: ${what}`);
    switch (deviation) {
      case undefined:
        return Promise.resolve(stored());
      case 'fails':
        return this.#fail(what, false);
      case 'is not stored, unknown to its process':
        return this.#fail(what, true);
      case 'is stored, unknown to its process':
        stored();
        return this.#fail(what, true);
      case 'hangs':
        return new Promise((resolve) => this.#host.park(this, what, () => resolve(stored())));
      case 'is the last thing before the process dies':
        stored();
        break;
    }
    this.#host.kill(this.process);
    return never();
  }

  /** It has received a statement, which counts as heard when it is stored. */
  hears(statement: Statement): void {
    statement.isUnheard = true;
    this.#heard.push(statement);
  }

  #hear(): void {
    for (const statement of this.#heard) statement.isUnheard = false;
  }

  /** Everything that it has read. Values are never modified, so they are converted to text only on request. */
  get log(): string {
    return this.#log.map(({ what, result }) => `${what} ${textOf(result)}`).join(';');
  }

  note<T>(what: string, result: T): T {
    this.#log.push({ what, result });
    return result;
  }

  #fail(what: string, mayBeStored: boolean): Promise<never> {
    this.note(what, `failed ${mayBeStored}`);
    return Promise.reject(new StoreUnavailable(mayBeStored));
  }
}

/** A process that waits for this is dead. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

function textOf(result: unknown): string {
  if (typeof result !== 'object' || result === null) return String(result);
  if (Array.isArray(result)) return result.map(textOf).join();
  return 'reversalState' in result ? transactionText(result as Transaction) : JSON.stringify(result);
}
