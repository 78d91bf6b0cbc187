import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LoadError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import type { Slice } from './slice.ts';
import type { FromWorker, ToWorker, WorkerPlan } from './worker-messages.ts';

const ENTRY = fileURLToPath(new URL(`./load-worker.${MODULE_EXTENSION}`, import.meta.url));

/** A worker as its parent process sees it. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #done: Promise<void>;
  #onReady: () => void = () => {};
  #onDone: () => void = () => {};
  #onFault: (error: LoadError) => void = () => {};

  /** @param onSlice called for every second */
  constructor(plan: WorkerPlan, onSlice: (second: number, slice: Slice) => void) {
    const failed = new Promise<never>((_, reject) => {
      this.#onFault = reject;
    });
    failed.catch(() => {}); // `ready` and `done` reject as well
    this.#ready = Promise.race([
      new Promise<void>((resolve) => {
        this.#onReady = resolve;
      }),
      failed,
    ]);
    this.#done = Promise.race([
      new Promise<void>((resolve) => {
        this.#onDone = resolve;
      }),
      failed,
    ]);
    this.#ready.catch(() => {});
    this.#done.catch(() => {});
    this.#child = fork(ENTRY, { serialization: 'advanced', execArgv: [] });
    this.#child.on('message', (message: FromWorker) => {
      if (message.kind === 'slice') onSlice(message.second, message.slice);
      else if (message.kind === 'ready') this.#onReady();
      else if (message.kind === 'done') this.#onDone();
      else this.#onFault(new LoadError('WORKER_BROKEN', message.reason));
    });
    this.#child.on('exit', (code, signal) => {
      this.#onFault(new LoadError('WORKER_BROKEN', `a worker of the load test ended early (${signal ?? code})`));
    });
    this.#send({ kind: 'prepare', plan });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws LoadError if it cannot reach the gateway */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** Resolves when every call of its share has ended. @throws LoadError WORKER_BROKEN */
  done(): Promise<void> {
    return this.#done;
  }

  /** @param atMs the same time for all workers, in wall-clock time */
  start(atMs: number): void {
    this.#send({ kind: 'start', atMs });
  }

  stop(withinMs: number): void {
    this.#send({ kind: 'stop', withinMs });
  }

  close(): void {
    this.#child.removeAllListeners();
    this.#child.kill('SIGKILL');
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message);
  }
}
