import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { HsmUnavailable, TokenError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import { RoundTrips } from '../../switching/connection/pool-stats.ts';
import type { HsmDeviceState, HsmDeviceStatus, HsmDevices } from '../../switching/hsm/hsm-calls.ts';
import { isRefusalOfPin, type TokenOperation, type TokenRequest, type TokenResponse } from './token-operation.ts';

/** A token on the network needs milliseconds. */
const LIMIT_MS = 2_000;
/** At the 0.2 ms of a fast token, an eighth of a second of work. */
const MAX_OUTSTANDING = 512;
/** The state is known to be true within this time. */
const CHECK_EVERY_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A thread that hangs in the library cannot be ended. After this many, no more are started before one of them ended. */
const MAX_STUCK = 4;
const THREAD = new URL(`./token-thread.${MODULE_EXTENSION}`, import.meta.url);

interface Waiting {
  readonly startedAtMs: number;
  readonly timer: NodeJS.Timeout;
  resolve(result: Uint8Array): void;
  reject(error: Error): void;
}

/** One thread with its port, until it hangs or ends. */
interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly waiting: Map<number, Waiting>;
  /** Requests without a response, those included whose callers wait no longer. */
  withoutResponse: number;
  respondedAtMs: number;
}

/**
 * A PKCS #11 token in a thread of its own. Every call has a time limit. If the thread responds to nothing for that long, it
 * is given up and another one started, after a pause that grows; until then calls fail at once. A thread that only has too
 * much to do stays: the calls that it does not reach in time fail alone. After the token has refused the PIN, calls fail
 * until the process is started again, because more logins would lock the token.
 */
export class Token implements HsmDevices {
  readonly #options;
  readonly #roundTrips = new RoundTrips();
  readonly #failures: Record<string, number> = {};
  readonly #refusals: Record<string, number> = {};
  readonly #checks: NodeJS.Timeout;
  #thread: Thread | undefined;
  #status: HsmDeviceStatus = 'starting';
  #number = 0;
  #succeeded = 0;
  #lost = 0;
  #stuck = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #pauseEndsAtMs = 0;
  #lastFailure: string | undefined;
  #firmware: string | undefined;
  #refusalOfPin: string | undefined;
  #isClosed = false;

  constructor(options: {
    /** Path of the PKCS #11 library. */
    readonly modulePath: string;
    readonly label: string;
    readonly pin: string;
    readonly limitMs?: number | undefined;
    /** Tests replace it by one that hangs. */
    readonly thread?: URL | undefined;
  }) {
    this.#options = options;
    this.#checks = setInterval(() => void this.check().catch(() => {}), CHECK_EVERY_MS).unref();
  }

  /** @throws HsmUnavailable, TokenError */
  async check(): Promise<void> {
    this.#firmware = Buffer.from(await this.call({ do: 'check' })).toString();
  }

  /**
   * @throws HsmUnavailable if the token does not respond in time, or too many calls wait for it; TokenError with the name
   * of the return value if it refuses
   */
  call(operation: TokenOperation): Promise<Uint8Array> {
    const thread = this.#openThread();
    if (thread.withoutResponse >= MAX_OUTSTANDING) throw this.#failed('BUSY');
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#expire(thread, number), this.#limitMs);
      thread.waiting.set(number, { startedAtMs: performance.now(), timer, resolve, reject });
      thread.withoutResponse++;
      thread.port.postMessage({ ...operation, number } satisfies TokenRequest);
    });
  }

  /**
   * As `call`, for a caller that cannot wait in the event loop: the key ring, when its file has new keys. It stops the
   * process for as long as the token takes.
   */
  callNow(operation: TokenOperation): Uint8Array {
    const thread = this.#openThread();
    const number = this.#number++;
    const startedAtMs = performance.now();
    const done = new SharedArrayBuffer(4);
    thread.withoutResponse++;
    thread.port.postMessage({ ...operation, number, done } satisfies TokenRequest);
    Atomics.wait(new Int32Array(done), 0, 0, this.#limitMs);
    for (let received = receiveMessageOnPort(thread.port); received; received = receiveMessageOnPort(thread.port)) {
      const response = received.message as TokenResponse;
      if (response.number !== number) this.#settle(thread, response);
      else {
        this.#noteResponse(thread);
        return this.#resultOf(response, startedAtMs);
      }
    }
    throw thread.respondedAtMs < startedAtMs ? this.#giveUp(thread, 'TIMEOUT') : this.#failed('TIMEOUT');
  }

  deviceStates(): readonly HsmDeviceState[] {
    const isReady = this.#status === 'ready';
    return [
      {
        kind: 'token',
        name: this.#options.label,
        address: this.#options.modulePath,
        status: this.#status,
        connectionsReady: isReady ? 1 : 0,
        connections: 1,
        outstanding: this.#thread?.waiting.size ?? 0,
        queued: 0,
        succeeded: this.#succeeded,
        failures: this.#failures,
        refusals: this.#refusals,
        connectionsLost: this.#lost,
        circuitOpenings: this.#lost,
        lastFailure: this.#lastFailure,
        firmware: this.#firmware,
        lmkCheckValue: undefined,
        roundTrips: this.#roundTrips.snapshot(),
      },
    ];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#checks);
    const thread = this.#thread;
    if (thread) this.#abandon(thread, new HsmUnavailable());
  }

  get #limitMs(): number {
    return this.#options.limitMs ?? LIMIT_MS;
  }

  #openThread(): Thread {
    if (this.#refusalOfPin !== undefined) throw this.#failed(this.#refusalOfPin);
    if (this.#thread) return this.#thread;
    if (this.#isClosed || this.#stuck >= MAX_STUCK || performance.now() < this.#pauseEndsAtMs)
      throw this.#failed('CIRCUIT_OPEN');
    const { modulePath, label, pin, thread: program = THREAD } = this.#options;
    const { port1: port, port2 } = new MessageChannel();
    const worker = new Worker(program, { workerData: { modulePath, label, pin, port: port2 }, transferList: [port2] });
    const thread: Thread = { worker, port, waiting: new Map(), withoutResponse: 0, respondedAtMs: 0 };
    port.on('message', (response: TokenResponse) => this.#settle(thread, response));
    worker.on('error', (error: Error) => {
      this.#lastFailure = `the thread of the token ended: ${error.message}`;
    });
    worker.on('exit', () => {
      if (this.#thread === thread) this.#giveUp(thread, 'THREAD_ENDED');
      this.#stuck--;
    });
    worker.unref();
    port.unref();
    this.#thread = thread;
    return thread;
  }

  /** The call was not reached in time. */
  #expire(thread: Thread, number: number): void {
    const { startedAtMs, reject } = thread.waiting.get(number)!;
    if (thread.respondedAtMs < startedAtMs) {
      this.#giveUp(thread, 'TIMEOUT');
      return;
    }
    thread.waiting.delete(number);
    reject(this.#failed('TIMEOUT'));
  }

  #noteResponse(thread: Thread): void {
    thread.withoutResponse--;
    thread.respondedAtMs = performance.now();
  }

  #settle(thread: Thread, response: TokenResponse): void {
    this.#noteResponse(thread);
    const waiting = thread.waiting.get(response.number);
    if (waiting === undefined) return;
    thread.waiting.delete(response.number);
    clearTimeout(waiting.timer);
    try {
      waiting.resolve(this.#resultOf(response, waiting.startedAtMs));
    } catch (error) {
      waiting.reject(error as Error);
    }
  }

  #resultOf(response: TokenResponse, startedAtMs: number): Uint8Array {
    this.#roundTrips.record(performance.now() - startedAtMs);
    if (response.result !== undefined) {
      this.#succeeded++;
      this.#status = 'ready';
      this.#pauseMs = FIRST_PAUSE_MS;
      return response.result;
    }
    const { code, isAbsent } = response;
    this.#refusals[code] = (this.#refusals[code] ?? 0) + 1;
    this.#lastFailure = code;
    if (isAbsent) {
      if (isRefusalOfPin(code)) this.#refusalOfPin = code;
      this.#status = 'unreachable';
      throw new HsmUnavailable({ cause: new TokenError(code) });
    }
    throw new TokenError(code);
  }

  /** The thread hangs, or has ended. Its calls fail, and the next thread is started after a pause. */
  #giveUp(thread: Thread, code: string): HsmUnavailable {
    const error = this.#failed(code);
    if (this.#thread !== thread) return error;
    this.#lost++;
    this.#status = 'circuitOpen';
    this.#pauseEndsAtMs = performance.now() + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    if (code === 'TIMEOUT') killAtExitUnlessEnded(thread.worker);
    this.#abandon(thread, error);
    return error;
  }

  #abandon(thread: Thread, error: HsmUnavailable): void {
    this.#thread = undefined;
    this.#stuck++;
    for (const { timer, reject } of thread.waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    thread.waiting.clear();
    thread.port.close();
    void thread.worker.terminate();
    // `terminate` keeps the event loop alive until the thread has ended.
    thread.worker.unref();
  }

  #failed(code: string): HsmUnavailable {
    this.#failures[code] = (this.#failures[code] ?? 0) + 1;
    this.#lastFailure = code;
    return new HsmUnavailable({ cause: new TokenError(code) });
  }
}

/**
 * Node waits at its end for every thread, so a process with a thread that hangs in a library would never end, and would keep
 * its connections. The process has done everything else when it exits.
 */
function killAtExitUnlessEnded(worker: Worker): void {
  const kill = () => {
    process.stderr.write('The library of the PKCS #11 token hangs, so the process ends itself with SIGKILL.\n');
    process.kill(process.pid, 'SIGKILL');
  };
  process.once('exit', kill);
  worker.once('exit', () => process.off('exit', kill));
}
