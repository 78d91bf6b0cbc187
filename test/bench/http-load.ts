import { connect, type Socket } from 'node:net';

/** What a run of requests came to. Latencies in milliseconds, unsorted. */
export interface LoadResult {
  readonly answered: number;
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
  /** Answers by status code. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Whether the source of requests ran dry before the time was over. */
  readonly ranDry: boolean;
}

/** Gives the next request, whole and ready to be written; undefined when there is none left. */
export type NextRequest = () => Buffer | undefined;

/**
 * One HTTP/1.1 connection, kept alive, one request at a time. It parses no more than it needs to know where an answer
 * ends, so that the generator takes as little of the machine as it can.
 */
class LoadConnection {
  readonly #socket: Socket;
  #waiting: ((status: number) => void) | undefined;
  #received: Buffer[] = [];
  #missing = -1;
  #status = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', () => this.#finish(0));
    socket.on('close', () => this.#finish(0));
  }

  static open(port: number): Promise<LoadConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => resolve(new LoadConnection(socket)));
      socket.once('error', reject);
    });
  }

  send(request: Buffer): Promise<number> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    if (this.#missing < 0) {
      const whole = this.#received.length === 0 ? chunk : Buffer.concat([...this.#received, chunk]);
      const headEnd = whole.indexOf('\r\n\r\n');
      if (headEnd < 0) {
        this.#received.push(chunk);
        return;
      }
      const head = whole.toString('latin1', 0, headEnd);
      this.#received = [];
      this.#status = Number(head.slice(9, 12));
      this.#missing = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - (whole.length - headEnd - 4);
    } else {
      this.#missing -= chunk.length;
    }
    if (this.#missing <= 0) this.#finish(this.#status);
  }

  #finish(status: number): void {
    this.#missing = -1;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(status);
  }
}

/** As many requests as the server takes: each connection sends its next one as soon as it has an answer. */
export async function saturate(
  port: number,
  connections: number,
  seconds: number,
  next: NextRequest,
): Promise<LoadResult> {
  const run = new Run(seconds);
  const lines = await openAll(port, connections);
  await Promise.all(
    lines.map(async (line) => {
      while (run.isOn()) {
        const request = next();
        if (!request) return run.runDry();
        const startMs = performance.now();
        run.record(await line.send(request), performance.now() - startMs);
      }
    }),
  );
  return run.finish(lines);
}

/**
 * Requests at a constant rate, whatever the server does: latency counts from when a request was due, so a slow answer
 * cannot hide the ones that waited behind it.
 */
export async function sustain(
  port: number,
  connections: number,
  seconds: number,
  perSecond: number,
  next: NextRequest,
): Promise<LoadResult> {
  const lines = await openAll(port, connections);
  const idle = [...lines];
  const due: number[] = [];
  const run = new Run(seconds);
  const startMs = performance.now();
  let issued = 0;
  const pending = new Set<Promise<void>>();
  const dispatch = () => {
    while (due.length > 0 && idle.length > 0) {
      const request = next();
      if (!request) return run.runDry();
      const line = idle.pop()!;
      const dueMs = due.shift()!;
      const sent = line.send(request).then((status) => {
        run.record(status, performance.now() - dueMs);
        idle.push(line);
        pending.delete(sent);
        dispatch();
      });
      pending.add(sent);
    }
  };
  while (run.isOn()) {
    const shouldBe = Math.floor(((performance.now() - startMs) / 1000) * perSecond);
    for (; issued < shouldBe; issued++) due.push(startMs + (issued * 1000) / perSecond);
    dispatch();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (pending.size > 0) await Promise.all(pending);
  return run.finish(lines);
}

function openAll(port: number, connections: number): Promise<LoadConnection[]> {
  return Promise.all(Array.from({ length: connections }, () => LoadConnection.open(port)));
}

class Run {
  readonly #startMs = performance.now();
  readonly #endMs: number;
  readonly #latenciesMs: number[] = [];
  readonly #statuses = new Map<number, number>();
  #lastMs = 0;
  #isDry = false;

  constructor(seconds: number) {
    this.#endMs = this.#startMs + seconds * 1000;
  }

  isOn(): boolean {
    return !this.#isDry && performance.now() < this.#endMs;
  }

  runDry(): void {
    this.#isDry = true;
  }

  record(status: number, ms: number): void {
    this.#lastMs = performance.now();
    this.#latenciesMs.push(ms);
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  finish(lines: readonly LoadConnection[]): LoadResult {
    for (const line of lines) line.close();
    const answered = this.#latenciesMs.length;
    return {
      answered,
      perSecond: answered / ((this.#lastMs - this.#startMs) / 1000),
      latenciesMs: this.#latenciesMs,
      statuses: this.#statuses,
      ranDry: this.#isDry,
    };
  }
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

/** @throws when not every answer was a 200: figures of refusals are worth nothing */
export function checked(result: LoadResult): LoadResult {
  const wrong = [...result.statuses].filter(([status]) => status !== 200);
  if (wrong.length > 0)
    throw new Error(
      `Not every answer was 200: ${wrong.map(([status, count]) => `${count} times ${status}`).join(', ')}`,
    );
  if (result.ranDry && result.answered > 1) console.log('(the source ran dry: the round was shorter)');
  return result;
}
