import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadMix } from '#schemas/load';
import { LoadError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import type { ArrivalPlan } from './arrival-plan.ts';
import type { LoadProfile } from './load-profile.ts';
import { emptySlice, type Slice, Tally } from './tally.ts';

/** Messages between a load test and its worker processes. */

/** The part of a test that one worker runs. */
export interface WorkerPlan {
  readonly url: string;
  readonly profile: Pick<LoadProfile, 'issuer' | 'merchants' | 'shortDeadlineTerminal' | 'apiKey'>;
  readonly arrivals: ArrivalPlan;
  readonly seconds: number;
  readonly mix: LoadMix;
  readonly seed: number;
  /** Its number among all workers, from 0: it takes every nth call of the test. */
  readonly worker: number;
  readonly workers: number;
  /** Number of phones of this worker. */
  readonly phones: number;
  readonly connections: { readonly kept: number; readonly most: number; readonly isNewEach: boolean };
  readonly responseWithinMs: number;
  /** The folder in which each worker writes a file of responses to clients; if absent, none is written. */
  readonly responsesFolder?: string | undefined;
}

export type ToWorker =
  | { readonly kind: 'prepare'; readonly plan: WorkerPlan }
  | { readonly kind: 'start'; readonly atMs: number }
  /** Calls in progress may end within this time. */
  | { readonly kind: 'stop'; readonly withinMs: number };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly reason: string }
  /** What the worker recorded until the end of this second of the test. */
  | { readonly kind: 'slice'; readonly second: number; readonly slice: Slice }
  | { readonly kind: 'done' };

const ENTRY = fileURLToPath(new URL(`./load-worker.${MODULE_EXTENSION}`, import.meta.url));

/** A worker as its parent process sees it. */
class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<void>();

  /** @param onSlice called for every second */
  constructor(plan: WorkerPlan, onSlice: (second: number, slice: Slice) => void) {
    const fail = (reason: string) => {
      for (const { promise, reject } of [this.#ready, this.#done]) {
        promise.catch(() => {}); // it may not be awaited yet
        reject(new LoadError('WORKER_BROKEN', reason));
      }
    };
    this.#child = fork(ENTRY, { serialization: 'advanced', execArgv: [] });
    this.#child.on('message', (message: FromWorker) => {
      if (message.kind === 'slice') onSlice(message.second, message.slice);
      else if (message.kind === 'broken') fail(message.reason);
      else (message.kind === 'ready' ? this.#ready : this.#done).resolve();
    });
    this.#child.on('exit', (code, signal) => fail(`a worker of the load test ended early (${signal ?? code})`));
    this.#send({ kind: 'prepare', plan });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws LoadError if it cannot reach the gateway */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves when every call of its share has ended. @throws LoadError WORKER_BROKEN */
  done(): Promise<void> {
    return this.#done.promise;
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

/** One test, for all workers together. */
export interface LoadPlan extends Omit<WorkerPlan, 'worker'> {
  /** Number of phones of the whole test. */
  readonly phones: number;
}

/** What a test recorded. */
export interface LoadRecord {
  readonly startedAtMs: number;
  /** One slice per second, including the final seconds of waiting for responses. */
  readonly seconds: readonly Slice[];
  readonly total: Slice;
  /** How long calls were sent. */
  readonly sendingSeconds: number;
}

/** Time between the start message and the first call: enough for all workers to receive it. */
const START_IN_MS = 200;

/** Runs the workers of a test and combines their reports. */
export class LoadRun {
  readonly #plan: LoadPlan;
  readonly #onSecond: (second: number, slice: Slice, total: Slice) => void;
  readonly #workers: readonly WorkerProcess[];
  readonly #total = new Tally();
  readonly #seconds: Slice[] = [];
  /** Seconds that not all workers have reported. */
  readonly #open = new Map<number, { readonly tally: Tally; reports: number }>();
  #startedAtMs = 0;
  #sendingSeconds: number;

  /** @param onSecond called once for each second, in order, when all workers have reported it */
  constructor(plan: LoadPlan, onSecond: (second: number, slice: Slice, total: Slice) => void) {
    this.#plan = plan;
    this.#onSecond = onSecond;
    this.#sendingSeconds = plan.seconds;
    const share = (total: number) => Math.max(1, Math.ceil(total / plan.workers));
    const { kept, most, isNewEach } = plan.connections;
    const connections = { kept: share(kept), most: share(most), isNewEach };
    this.#workers = Array.from({ length: plan.workers }, (_, worker) => {
      const own = { ...plan, worker, phones: share(plan.phones), connections };
      return new WorkerProcess(own, (second, slice) => this.#add(second, slice));
    });
  }

  /** Their process ids. */
  get pids(): readonly number[] {
    return this.#workers.flatMap(({ pid }) => pid ?? []);
  }

  /** Resolves when all phones have their tokens and all connections are open. @throws LoadError */
  async ready(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ready()));
  }

  /** Runs the test to its end. @throws LoadError WORKER_BROKEN */
  async run(): Promise<LoadRecord> {
    this.#startedAtMs = Date.now() + START_IN_MS;
    for (const worker of this.#workers) worker.start(this.#startedAtMs);
    await Promise.all(this.#workers.map((worker) => worker.done()));
    for (const second of [...this.#open.keys()].sort((a, b) => a - b)) this.#close(second);
    return {
      startedAtMs: this.#startedAtMs,
      seconds: this.#seconds,
      total: this.#total.sum(),
      sendingSeconds: this.#sendingSeconds,
    };
  }

  /** Sends no further calls. Calls in progress may receive a response within this time; `run` resolves soon after. */
  stop(withinMs: number): void {
    const seconds = (Date.now() - this.#startedAtMs) / 1_000;
    this.#sendingSeconds = Math.min(this.#sendingSeconds, Math.max(0.001, seconds));
    for (const worker of this.#workers) worker.stop(withinMs);
  }

  close(): void {
    for (const worker of this.#workers) worker.close();
  }

  #add(second: number, slice: Slice): void {
    const open = this.#open.get(second) ?? { tally: new Tally(), reports: 0 };
    open.tally.add(slice);
    open.reports++;
    this.#open.set(second, open);
    // A worker that skips a second, or ends before the others, must not delay the following seconds permanently.
    const isPast = [...this.#open.keys()].some((other) => other > second + 2);
    if (open.reports >= this.#plan.workers || isPast) this.#closeUpTo(second);
  }

  #closeUpTo(second: number): void {
    for (const each of [...this.#open.keys()].sort((a, b) => a - b)) if (each <= second) this.#close(each);
  }

  #close(second: number): void {
    const slice = this.#open.get(second)!.tally.sum();
    this.#open.delete(second);
    this.#total.add({ ...slice, inFlight: 0, waiting: 0, connections: 0 });
    while (this.#seconds.length < second) this.#seconds.push(emptySlice());
    this.#seconds[second] = merged(this.#seconds[second], slice);
    this.#onSecond(second, slice, this.#total.sum());
  }
}

/** A second that a worker reports twice: the last part arrives with the end of the run. */
function merged(before: Slice | undefined, slice: Slice): Slice {
  if (before === undefined) return slice;
  const tally = new Tally();
  tally.add({ ...before, inFlight: 0, waiting: 0, connections: 0 });
  tally.add(slice);
  return tally.sum();
}
