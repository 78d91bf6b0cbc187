import { transmissionDateTime } from '../../../src/kits/processor-kit/field-values.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Execution } from './execution.ts';

/** Names for what has arbitrary identifiers and absolute times: two executions that differ only in those get the same. */
export class Labels {
  readonly #execution: Execution;
  readonly #stans = new Map<string, string>();
  readonly #requests = new Map<number, string>();
  readonly #connections = new Map<string, string>();
  readonly nowMs: number;

  /** Nothing is due: only what the rules look at matters. */
  readonly isAtRest: boolean;

  constructor(execution: Execution, isAtRest = false) {
    this.#execution = execution;
    this.isAtRest = isAtRest;
    this.nowMs = execution.time.nowMs;
  }

  /** Whether a job still exists. */
  hasJob(id: string | null): boolean {
    return id !== null && this.#execution.store.jobs.has(id);
  }

  stan(stan: string): string {
    let label = this.#stans.get(stan);
    if (label === undefined) {
      label = `#${this.#stans.size}`;
      this.#stans.set(stan, label);
    }
    return label;
  }

  /** A STAN is the end of DE37. */
  ofKey(key: string): string {
    return this.stan(key.slice(-6));
  }

  connection({ connectionId, processName }: SentRequest): string {
    let label = this.#connections.get(connectionId);
    if (label === undefined) {
      const isCurrent = this.#execution.processNamed(processName).connectionId === connectionId;
      label = isCurrent ? processName : `old ${this.#connections.size}`;
      this.#connections.set(connectionId, label);
    }
    return label;
  }

  request(request: SentRequest): string {
    let label = this.#requests.get(request.number);
    if (label === undefined) {
      label = this.#describe(request);
      this.#requests.set(request.number, label);
    }
    return label;
  }

  #describe({ kind, key, transactionId, message, processName }: SentRequest): string {
    if (kind !== 'reversal') return `${processName} ${kind} ${this.ofKey(key)}`;
    const row = this.#execution.store.rows.get(transactionId);
    const at = row?.reversals.findIndex((each) => transmissionDateTime(each.sentAtMs) === message.transmissionDateTime);
    return `${processName} ${kind} ${this.ofKey(key)} ${at}`;
  }

  /** `00 to request 3` */
  response(name: string): string {
    const number = Number(name.slice(name.lastIndexOf(' ') + 1));
    return `${name.split(' ')[0]} ${this.request(this.#execution.requests[number - 1]!)}`;
  }

  /** The time that is left until a moment. */
  left(atMs: number): string {
    return String(Math.max(atMs - this.nowMs, 0));
  }

  /** The same, negative afterwards, until no decision depends on it. */
  until(atMs: number, mostMs: number): string {
    return String(Math.max(atMs - this.nowMs, -mostMs));
  }

  age(atMs: number, mostMs = Number.POSITIVE_INFINITY): string {
    return String(Math.min(this.nowMs - atMs, mostMs));
  }

  /** A value that a task has learnt. */
  text(value: unknown): string {
    if (typeof value !== 'object') return String(value);
    return JSON.stringify(value, (name, each) => {
      if (typeof each === 'number' && each > 1e12) return `t${each - this.nowMs}`;
      if (typeof each === 'string' && (name === 'stan' || name === 'rrn')) return this.stan(each.slice(-6));
      if (name === 'connectionId') return this.#execution.processes.some((process) => process.connectionId === each);
      return name === 'nextJob' ? undefined : each;
    });
  }
}
