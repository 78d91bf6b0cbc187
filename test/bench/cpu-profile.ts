import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Node's inspector, which SIGUSR1 opens. */
const INSPECTOR = 'http://127.0.0.1:9229/json';
const TRIES = 50;
const BETWEEN_TRIES_MS = 100;
/** Between two samples: 4,000 in a second cost the process a few percent. */
const INTERVAL_US = 250;
const TICK_US = 10_000;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function as V8 names it, and its file; the file of a native function is empty. */
export interface Sampled {
  readonly name: string;
  readonly file: string;
  /** Processor time of the main thread in this function itself, without those that it called. */
  readonly microseconds: number;
}

/** Samples what the main thread of another Node process executes. */
export class Profiler {
  readonly #pid: number;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #sent = 0;
  #startedAtUs = 0;

  private constructor(pid: number, socket: WebSocket) {
    this.#pid = pid;
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
      this.#waiting.get(id)?.(result);
    };
  }

  static async attach(pid: number): Promise<Profiler> {
    process.kill(pid, 'SIGUSR1');
    const socket = new WebSocket(await inspectorUrl());
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    const profiler = new Profiler(pid, socket);
    await profiler.#send('Profiler.enable');
    await profiler.#send('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    return profiler;
  }

  async start(): Promise<void> {
    await this.#send('Profiler.start');
    this.#startedAtUs = mainThreadUs(this.#pid);
  }

  /**
   * A sample says where the thread was, also while it waited for a core. So the processor time is divided in the
   * proportion of the samples that are not idle.
   */
  async stop(): Promise<readonly Sampled[]> {
    const usedUs = mainThreadUs(this.#pid) - this.#startedAtUs;
    const { profile } = (await this.#send('Profiler.stop')) as { profile: Profile };
    const busy = selfTimes(profile).filter(({ name }) => name !== '(idle)');
    const sampledUs = busy.reduce((sum, { microseconds }) => sum + microseconds, 0);
    return busy.map((each) => ({ ...each, microseconds: (each.microseconds * usedUs) / sampledUs }));
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#sent;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}

async function inspectorUrl(): Promise<string> {
  for (let tries = 0; tries < TRIES; tries++) {
    const response = await fetch(INSPECTOR).catch(() => undefined);
    const targets = (await response?.json()) as { readonly webSocketDebuggerUrl: string }[] | undefined;
    if (targets?.[0]) return targets[0].webSocketDebuggerUrl;
    await sleep(BETWEEN_TRIES_MS);
  }
  throw new Error('the inspector did not open: does another process have port 9229?');
}

function selfTimes({ nodes, samples, timeDeltas }: Profile): Sampled[] {
  const ofNode = new Map<number, number>();
  for (const [at, node] of samples.entries()) ofNode.set(node, (ofNode.get(node) ?? 0) + timeDeltas[at]!);
  const byFunction = new Map<string, Sampled>();
  for (const { id, callFrame } of nodes) {
    const { functionName, url, lineNumber } = callFrame;
    const key = `${functionName} ${url}:${lineNumber}`;
    const known = byFunction.get(key)?.microseconds ?? 0;
    byFunction.set(key, { name: functionName, file: url, microseconds: known + (ofNode.get(id) ?? 0) });
  }
  return [...byFunction.values()];
}

/** Processor time of the thread that has the id of its process. */
function mainThreadUs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}
