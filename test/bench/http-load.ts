import { HttpConnection, type HttpEnd } from '../../src/tools/load/connection-pool.ts';

/** The result of a run of requests. Latencies in milliseconds, unsorted. */
export interface LoadResult {
  readonly responded: number;
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
  /** Responses by status code. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Taps whose response was 200 and not an approval. */
  readonly unapproved: number;
  /** Whether the source of requests was exhausted before the end. */
  readonly ranDry: boolean;
}

/** Returns the next request, complete and ready to be written; undefined if none is left. */
export type NextRequest = () => Buffer | undefined;

/**
 * As many requests as the server accepts: each connection sends its next one as soon as it has a response.
 * @param ports of the server's processes: connections use them in rotation
 */
export async function saturate(
  ports: readonly number[],
  connections: number,
  seconds: number,
  next: NextRequest,
): Promise<LoadResult> {
  const run = new Run(seconds);
  const lines = await openAll(ports, connections);
  await Promise.all(
    lines.map(async (line) => {
      while (run.isOn()) {
        const request = next();
        if (!request) return run.runDry();
        const startedAtMs = performance.now();
        run.record(await send(line, request), performance.now() - startedAtMs);
      }
    }),
  );
  return run.finish(lines);
}

/**
 * Requests at a constant rate, regardless of the server. Latency counts from the time at which a request was due, so a
 * slow response cannot hide those that waited behind it.
 */
export async function sustain(
  ports: readonly number[],
  connections: number,
  seconds: number,
  perSecond: number,
  next: NextRequest,
): Promise<LoadResult> {
  const lines = await openAll(ports, connections);
  const idle = [...lines];
  const due: number[] = [];
  const run = new Run(seconds);
  const startedAtMs = performance.now();
  let issued = 0;
  const pending = new Set<Promise<void>>();
  const dispatch = () => {
    while (due.length > 0 && idle.length > 0) {
      const request = next();
      if (!request) return run.runDry();
      const line = idle.pop()!;
      const dueMs = due.shift()!;
      const sent = send(line, request).then((end) => {
        run.record(end, performance.now() - dueMs);
        idle.push(line);
        pending.delete(sent);
        dispatch();
      });
      pending.add(sent);
    }
  };
  while (run.isOn()) {
    const shouldBe = 1 + Math.floor(((performance.now() - startedAtMs) / 1000) * perSecond);
    for (; issued < shouldBe; issued++) due.push(startedAtMs + (issued * 1000) / perSecond);
    dispatch();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (pending.size > 0) await Promise.all(pending);
  return run.finish(lines);
}

async function openAll(ports: readonly number[], connections: number): Promise<HttpConnection[]> {
  const targets = ports.map((port) => ({ host: '127.0.0.1', port, isTls: false }));
  const lines = Array.from({ length: connections }, (_, n) => new HttpConnection(targets[n % targets.length]!));
  const faults = await Promise.all(lines.map((line) => line.connected()));
  const fault = faults.find((reason) => reason !== undefined);
  if (fault !== undefined) throw new Error(`Of ports ${ports.join(', ')} one takes no connections: ${fault}`);
  return lines;
}

function send(line: HttpConnection, request: Buffer): Promise<HttpEnd> {
  return new Promise((resolve) => line.send(request, resolve));
}

/** The start of the response to a tap, and the text in it after an approval. */
const TAP_RESPONSE = Buffer.from('{"onlineAuthorizationResponse"');
const APPROVED = Buffer.from('"type":"Approved"');

function isUnapproved({ body }: { readonly body: Buffer }): boolean {
  return body.subarray(0, TAP_RESPONSE.length).equals(TAP_RESPONSE) && !body.includes(APPROVED);
}

class Run {
  readonly #startedAtMs = performance.now();
  readonly #endMs: number;
  readonly #latenciesMs: number[] = [];
  readonly #statuses = new Map<number, number>();
  #unapproved = 0;
  #lastMs = 0;
  #isDry = false;

  constructor(seconds: number) {
    this.#endMs = this.#startedAtMs + seconds * 1000;
  }

  isOn(): boolean {
    return !this.#isDry && performance.now() < this.#endMs;
  }

  runDry(): void {
    this.#isDry = true;
  }

  record(end: HttpEnd, ms: number): void {
    this.#lastMs = performance.now();
    this.#latenciesMs.push(ms);
    const status = end.kind === 'responded' ? end.status : 0;
    if (end.kind === 'responded' && isUnapproved(end)) this.#unapproved++;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  finish(lines: readonly HttpConnection[]): LoadResult {
    for (const line of lines) line.close();
    const responded = this.#latenciesMs.length;
    return {
      responded,
      perSecond: responded / ((this.#lastMs - this.#startedAtMs) / 1000),
      latenciesMs: this.#latenciesMs,
      statuses: this.#statuses,
      unapproved: this.#unapproved,
      ranDry: this.#isDry,
    };
  }
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

/** @throws if a response was not 200, or a tap was not approved: figures of refusals are worthless */
export function checked(result: LoadResult): LoadResult {
  const wrong = [...result.statuses].filter(([status]) => status !== 200);
  if (wrong.length > 0)
    throw new Error(
      `Not every response was 200: ${wrong.map(([status, count]) => `${count} times ${status}`).join(', ')}`,
    );
  if (result.unapproved > 0) throw new Error(`${result.unapproved} of ${result.responded} taps were not approved`);
  if (result.ranDry && result.responded > 1) console.log('(the source ran dry: the round was shorter)');
  return result;
}
