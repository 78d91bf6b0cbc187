import type { TapLoad } from '../basics/limits/concurrency-limit.ts';
import type {
  CommitListener,
  CommitResult,
  Commits,
  SwitchMessage,
  TransactionObserver,
} from '../payments/ports/observer.ts';
import type { AttemptName, SwitchResponse } from '../payments/ports/switch-ports.ts';
import type { Failpoints } from './failpoints.ts';
import type { Tracing } from './tracing/tracing.ts';

/** The results of commits that have stored what they write. `known`: it was stored before. */
const STORED: ReadonlySet<CommitResult> = new Set<CommitResult>([true, 'inserted', 'recorded', 'known']);

/** The parts of a process that observe its use cases. */
interface Watchers {
  /** Notified of what was stored, in this order. */
  readonly listeners: readonly CommitListener[];
  /** Called with what a listener throws. */
  readonly onError: (error: unknown) => void;
  readonly tracing: Tracing | undefined;
  readonly failpoints: Failpoints | undefined;
  /** Does not count a tap while it waits for a switch or another process. Undefined for jobs, which are no taps. */
  readonly load: TapLoad | undefined;
}

/** The observer of the use cases of one process: log, metrics, traces, load and failpoints. */
export class ProcessObserver implements TransactionObserver {
  readonly #listeners: readonly CommitListener[];
  readonly #onError: (error: unknown) => void;
  readonly #tracing: Tracing | undefined;
  readonly #failpoints: Failpoints | undefined;
  readonly #load: TapLoad | undefined;

  constructor({ listeners, onError, tracing, failpoints, load }: Watchers) {
    this.#listeners = failpoints ? [...listeners, failpoints.afterCommit] : listeners;
    this.#onError = onError;
    this.#tracing = tracing;
    this.#failpoints = failpoints;
    this.#load = load;
  }

  async commit<Name extends keyof Commits, Result extends CommitResult>(
    name: Name,
    written: Commits[Name],
    write: () => Promise<Result>,
  ): Promise<Result> {
    this.#failpoints?.beforeCommit[name]?.(written);
    const result = await (this.#tracing?.commit(name, written.transaction, write) ?? write());
    if (STORED.has(result)) this.#notify(name, written, result);
    return result;
  }

  /** What is stored stays so, whether it could be logged and counted or not. */
  #notify<Name extends keyof Commits>(name: Name, written: Commits[Name], result: CommitResult): void {
    for (const listener of this.#listeners) {
      try {
        listener[name]?.(written, result);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  async roundTrip<Value>(
    message: SwitchMessage,
    processorType: string,
    about: AttemptName,
    send: () => Promise<SwitchResponse<Value>>,
  ): Promise<SwitchResponse<Value>> {
    const responding = this.#tracing?.roundTrip(message, processorType, about, send) ?? send();
    this.#failpoints?.passAfterWrite(message);
    const response = await this.wait(() => responding);
    if (response.kind === 'responded') this.#failpoints?.passAfterResponse(message);
    return response;
  }

  wait<Result>(wait: () => Promise<Result>): Promise<Result> {
    return this.#load?.pause(wait) ?? wait();
  }
}
