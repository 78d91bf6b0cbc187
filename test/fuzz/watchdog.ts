import { createHash } from 'node:crypto';
import { writeFileSync, writeSync } from 'node:fs';
import { Worker, workerData } from 'node:worker_threads';
import { HANG_MS, MAX_INPUT_BYTES } from './fuzz-target.ts';

/** Shared with the watching thread: how many runs began, how many ended, the input's length, then the input. */
const HEAD_WORDS = 3;
const [BEGUN, ENDED, LENGTH] = [0, 1, 2];

/** A parser that hangs cannot report it. A separate thread does: it writes the input to a file and ends the process. */
export class Watchdog {
  readonly #head: Int32Array;
  readonly #input: Uint8Array;
  readonly #worker: Worker;

  /** @param findings prefix of the path of a hanging input */
  constructor(findings: string) {
    const shared = new SharedArrayBuffer(HEAD_WORDS * 4 + MAX_INPUT_BYTES);
    this.#head = new Int32Array(shared, 0, HEAD_WORDS);
    this.#input = new Uint8Array(shared, HEAD_WORDS * 4);
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { shared, findings } });
    this.#worker.unref();
  }

  begin(input: Uint8Array): void {
    this.#input.set(input);
    this.#head[LENGTH] = input.length;
    Atomics.add(this.#head, BEGUN, 1);
  }

  end(): void {
    Atomics.add(this.#head, ENDED, 1);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

if (workerData?.shared instanceof SharedArrayBuffer) watch(workerData.shared, workerData.findings);

function watch(shared: SharedArrayBuffer, findings: string): void {
  const head = new Int32Array(shared, 0, HEAD_WORDS);
  let lastBegun = -1;
  setInterval(() => {
    const begun = Atomics.load(head, BEGUN);
    const hangs = begun === lastBegun && Atomics.load(head, ENDED) < begun;
    lastBegun = begun;
    if (!hangs) return;
    const input = new Uint8Array(shared, HEAD_WORDS * 4, head[LENGTH]).slice();
    const path = `${findings}hang-${createHash('sha1').update(input).digest('hex')}`;
    writeFileSync(path, input);
    writeSync(2, `an input hangs for more than ${HANG_MS} ms: ${path}\n`);
    process.kill(process.pid, 'SIGKILL');
  }, HANG_MS);
}
