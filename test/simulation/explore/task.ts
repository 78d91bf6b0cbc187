import { StoreUnavailable } from '../../../src/basics/errors.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import type { Effects } from '../simulated-dependencies.ts';
import { hear } from '../switch/statements.ts';
import type { Deviation, EffectKind } from './deviations.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';
import type { Labels } from './labels.ts';
import { transactionText } from './transaction-text.ts';
import { textOf } from './whole-text.ts';

/** What a task does. It must reach everything outside of it through its parameters, so that it can be copied. */
export type Use = (deps: TransactionDependencies, task: Task, execution: Execution) => Promise<void>;

/** Commits that store a response of the switch. */
const STORES_RESPONSES: readonly string[] = ['stepReversal', 'recordLate', 'decision'];

/** No use case compares with a moment that is longer ago: after that every age is equal. */
const LONGEST_WAIT_MS = 31_000;

interface Entry {
  readonly what: string;
  readonly result: unknown;
  readonly atMs: number;
  /** Whether it belongs to the name of a state: clocks and identifiers do not. */
  readonly isNamed: boolean;
}

/**
 * One call of a use case in one process. Everything that it learns from outside, and everything that it does there, is an
 * entry of its journal. Its local state follows from that: two tasks with the same journal will do the same, and a task
 * that runs again with the journal of another one comes to the same point without any effect.
 */
export class Task implements Effects {
  readonly name: string;
  readonly process: ExploredProcess;
  readonly use: Use;
  readonly #execution: Execution;
  readonly #beganAtMs: number;
  readonly #journal: Entry[] = [];
  /** Where it is in its journal: before the end only while it runs again. */
  #at = 0;
  /** Indices of statements that it has received and not stored. */
  readonly #heard: number[] = [];

  constructor(
    name: string,
    process: ExploredProcess,
    use: Use,
    execution: Execution,
    beganAtMs = execution.time.nowMs,
  ) {
    this.name = name;
    this.process = process;
    this.use = use;
    this.#execution = execution;
    this.#beganAtMs = beganAtMs;
  }

  /** The same task in a copy of its execution, before it has run there again. */
  copyTo(execution: Execution, process: ExploredProcess): Task {
    const copy = new Task(this.name, process, this.use, execution, this.#beganAtMs);
    copy.#journal.push(...this.#journal);
    copy.#heard.push(...this.#heard);
    return copy;
  }

  get #isAgain(): boolean {
    return this.#at < this.#journal.length;
  }

  /** What was learnt or done at this point, if the task runs again; else it is learnt or done now. */
  recall<T>(what: string, learn: () => T, isNamed = false): T {
    if (this.#isAgain) {
      const entry = this.#journal[this.#at++]!;
      if (entry.what !== what) throw new Error(`${this.name} runs differently: ${what} instead of ${entry.what}`);
      return entry.result as T;
    }
    const result = learn();
    this.#journal.push({ what, result, atMs: this.#execution.time.nowMs, isNamed });
    this.#at++;
    return result;
  }

  /** Something that comes later, by a call of the function that `register` is given; now if it has come before. */
  later<T>(what: string, register: (come: (result: T) => void) => void): Promise<T> {
    if (this.#isAgain) return Promise.resolve(this.recall(what, () => undefined as T));
    return new Promise((resolve) => register((result) => resolve(this.recall(what, () => result, true))));
  }

  /** Whether it can do anything more. */
  get isGone(): boolean {
    return !this.#isAgain && !this.process.isAlive;
  }

  meet(kind: EffectKind, what: string): Deviation | undefined {
    return this.recall(`${what}?`, () => this.#execution.meet(kind, `${this.name}: ${what}`), true);
  }

  read<T>(what: string, read: () => T): Promise<T> {
    if (this.isGone) return never();
    const deviation = this.meet('read', what);
    if (deviation !== undefined) return Promise.reject(new StoreUnavailable(false));
    return Promise.resolve(this.recall(what, read, true));
  }

  commit<T>(what: string, write: () => T): Promise<T> {
    if (this.isGone) return never();
    const stored = () => this.recall(what, () => this.#store(what, write), true);
    switch (this.meet('commit', what)) {
      case undefined:
        return Promise.resolve(stored());
      case 'fails':
        return Promise.reject(new StoreUnavailable(false));
      case 'is not stored, unknown to its process':
        return Promise.reject(new StoreUnavailable(true));
      case 'is stored, unknown to its process':
        stored();
        return Promise.reject(new StoreUnavailable(true));
      case 'hangs':
        return this.park(what).then(stored);
      case 'is the last thing before the process dies':
        stored();
        break;
    }
    this.#execution.kill(this.process);
    return never();
  }

  #store<T>(what: string, write: () => T): T {
    const result = write();
    if (STORES_RESPONSES.includes(what)) {
      const { statements, time } = this.#execution;
      for (const index of this.#heard) hear(statements[index]!, time.nowMs);
    }
    this.#execution.afterCommit();
    return result;
  }

  /** It hangs until the history lets it continue. */
  park(what: string): Promise<void> {
    return this.later<void>('goes on', (come) => this.#execution.park(this, what, come));
  }

  /** It has received a statement, which counts as heard when it is stored. */
  hears(index: number): void {
    this.#execution.statements[index]!.isUnheard = true;
    this.#heard.push(index);
  }

  get wholeText(): string {
    return textOf([this.#journal, this.#heard]);
  }

  /** Everything that its next steps follow from: what it has learnt, and when it began. */
  text(labels: Labels): string {
    const learnt = this.#journal.filter(({ isNamed, result }) => isNamed && result !== undefined);
    const heard = this.#heard.map((index) => {
      const { number, meaning, isUnheard } = this.#execution.statements[index]!;
      return `${labels.request(this.#execution.requests[number - 1]!)} ${meaning} ${isUnheard}`;
    });
    const texts = learnt.map((entry) => entryText(entry, labels));
    return [this.name, labels.age(this.#beganAtMs, LONGEST_WAIT_MS), ...texts, ...heard].join(';');
  }
}

/** Times matter where something was waited for: everything else happens at once. */
function entryText({ what, result, atMs }: Entry, labels: Labels): string {
  const isWaitedFor = what === 'response' || what.endsWith('?');
  const isTransaction = typeof result === 'object' && result !== null && 'reversalState' in result;
  const text = isTransaction ? transactionText(result as Transaction, labels) : labels.text(result);
  return `${what} ${isWaitedFor ? labels.age(atMs, LONGEST_WAIT_MS) : ''} ${text}`;
}

/** What a process waits for that is dead. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
