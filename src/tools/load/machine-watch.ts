import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { z } from 'zod';
import { createClient, NoResponseError } from '#schemas/client';
import { LoadError } from '../../basics/errors.ts';

/** Clock ticks per second in /proc: 100 on every common Linux. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;

/** What a process and its children have used. */
interface ProcessUsage {
  /** Processor time since its start. Unlike throughput, it is not affected by other programs on the machine. */
  readonly seconds: number;
  /**
   * Unshared memory. Of pages shared between a parent and its children, such as Postgres' buffers, the largest share is
   * counted once.
   */
  readonly memoryBytes: number;
}

const MS_PER_SECOND = 1_000;

/**
 * Processor time that all programs on this machine have used since it started, in seconds; 0 if the system does not
 * report it.
 */
function machineSeconds(): number {
  const busy = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return busy.reduce((sum, ms) => sum + ms, 0) / MS_PER_SECOND;
}

interface ListedProcess {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/**
 * What these processes have used so far, each with its children that are not parts themselves. Ended processes are
 * missing; empty without /proc.
 *
 * @param parts process ids by name
 */
export function processUsage(parts: Readonly<Record<string, number>>): Record<string, ProcessUsage> {
  const processes = listProcesses();
  const named = new Set(Object.values(parts));
  const familyOf = (pid: number): ListedProcess[] => {
    const own = processes.filter((process) => process.pid === pid);
    const children = processes.filter((child) => child.parent === pid && !named.has(child.pid));
    return [...own, ...children.flatMap((child) => familyOf(child.pid))];
  };
  const usages = Object.entries(parts).map(([name, pid]) => [name, usageOf(familyOf(pid))] as const);
  return Object.fromEntries(usages.filter((entry): entry is [string, ProcessUsage] => entry[1] !== undefined));
}

function usageOf(family: readonly ListedProcess[]): ProcessUsage | undefined {
  if (family.length === 0) return undefined;
  const memories = family.map(({ pid }) => memoryOf(pid));
  const shared = Math.max(...memories.map((memory) => memory.shared));
  const own = memories.reduce((sum, memory) => sum + memory.own, 0);
  const ticks = family.reduce((sum, process) => sum + process.ticks, 0);
  return { seconds: ticks / TICKS_PER_SECOND, memoryBytes: (own + shared) * PAGE_BYTES };
}

/** Memory of a process, in pages. */
function memoryOf(pid: number): { readonly own: number; readonly shared: number } {
  try {
    const [, resident, shared] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number);
    return { own: resident! - shared!, shared: shared! };
  } catch {
    return { own: 0, shared: 0 }; // it has just ended
  }
}

function listProcesses(): ListedProcess[] {
  let names: string[];
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // The command's name, in parentheses, may contain anything: fields are counted after it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      // utime, stime, and those of ended children (proc_pid_stat(5)), because their usage still counts.
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
      return [{ pid: Number(name), parent: Number(fields[1]), ticks }];
    } catch {
      return []; // it has just ended
    }
  });
}

/** Figures other than those of the calls, at one moment of a test. */
export interface MachineSample {
  /** Seconds since the start of the calls. */
  readonly second: number;
  readonly gateway: GatewaySample | undefined;
  /** By process: cores in use since the last sample, and memory. */
  readonly processes: Readonly<Record<string, { readonly cores: number; readonly memoryBytes: number }>>;
  /** Cores in use by all programs on this machine, those processes included. */
  readonly machineCores: number;
}

const EVERY_MS = 1_000;
/** Half a day of seconds; later samples are dropped. */
const MAX_SAMPLES = 50_000;

/** Samples the gateway's connections and the processes of this machine once a second. */
export class MachineWatch {
  readonly samples: MachineSample[] = [];
  readonly #url: string;
  readonly #parts: Readonly<Record<string, number>>;
  #before: Record<string, ProcessUsage> = {};
  #machineBefore = 0;
  #previousAtMs = 0;
  #startedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  /** @param parts process ids by name of the part */
  constructor(url: string, parts: Readonly<Record<string, number>>) {
    this.#url = url;
    this.#parts = parts;
  }

  start(): void {
    this.#before = processUsage(this.#parts);
    this.#machineBefore = machineSeconds();
    this.#startedAtMs = performance.now();
    this.#previousAtMs = this.#startedAtMs;
    this.#timer = setInterval(() => void this.#look(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.samples.length >= MAX_SAMPLES) return;
    this.#isLooking = true;
    const nowMs = performance.now();
    const usage = processUsage(this.#parts);
    const machine = machineSeconds();
    const seconds = (nowMs - this.#previousAtMs) / 1_000;
    const processes = Object.fromEntries(
      Object.entries(usage).map(([name, now]) => {
        const used = now.seconds - (this.#before[name]?.seconds ?? now.seconds);
        // A child that has ended and was not reaped yet is briefly missing.
        return [name, { cores: Math.max(0, used) / seconds, memoryBytes: now.memoryBytes }];
      }),
    );
    const machineCores = Math.max(0, machine - this.#machineBefore) / seconds;
    this.#before = usage;
    this.#machineBefore = machine;
    this.#previousAtMs = nowMs;
    const gateway = await sampleGateway(this.#url);
    this.samples.push({ second: (nowMs - this.#startedAtMs) / 1_000, gateway, processes, machineCores });
    this.#isLooking = false;
  }
}

/** If a gateway does not respond within this time, this second has no figures of it. */
const SAMPLED_WITHIN_MS = 2_000;
/**
 * Before the test a longer wait is acceptable: a gateway may write its description at the first request, on a busy
 * machine.
 */
const DESCRIBED_WITHIN_MS = 20_000;

/** What a gateway reports of its switch connections, summed, at one moment. */
interface GatewaySample {
  /** Requests in flight to a switch. */
  readonly inFlight: number;
  /** Requests that wait for a slot on a connection. */
  readonly pending: number;
  /** Waiting jobs, if the gateway reports them. */
  readonly queued: number | undefined;
}

/**
 * Why an installation is not for taps with test cards, by the environment that it reports (`/openapi.json`, servers);
 * undefined for dev and qa.
 *
 * @throws LoadError UNREACHABLE
 */
export async function whyNotForTests(url: string): Promise<string | undefined> {
  const client = createClient({ baseUrl: url, timeoutMs: DESCRIBED_WITHIN_MS, repeats: 0 });
  const description = await client.getApiDescription().catch((cause) => {
    if (!(cause instanceof NoResponseError)) return undefined;
    throw new LoadError('UNREACHABLE', `No response from ${url}. Check that the gateway is running (npm start).`, {
      cause,
    });
  });
  const environment = DESCRIPTION.safeParse(description).data?.servers[0].variables.env.default;
  if (environment === 'dev' || environment === 'qa') return undefined;
  return `${url} ${environment === undefined ? 'does not say which environment it is' : `says it is ${environment}`}`;
}

const DESCRIPTION = z.object({
  servers: z.tuple([z.object({ variables: z.object({ env: z.object({ default: z.string() }) }) })]).rest(z.unknown()),
});

/** Undefined if the gateway reports no figures. */
async function sampleGateway(url: string): Promise<GatewaySample | undefined> {
  const client = createClient({ baseUrl: url, timeoutMs: SAMPLED_WITHIN_MS, repeats: 0 });
  const { switches = {} } = await client.getHealth().catch(() => ({ switches: {} }));
  const all = LINES.safeParse(Object.values(switches)).data ?? [];
  if (all.length === 0) return undefined;
  const sum = (key: 'inFlight' | 'pending') => all.reduce((total, each) => total + each[key], 0);
  return { inFlight: sum('inFlight'), pending: sum('pending'), queued: await queuedJobs(url) };
}

const LINES = z.array(z.object({ inFlight: z.number().default(0), pending: z.number().default(0) }));

/** The job queues in a Prometheus text. `/metrics` is not an operation of the API. */
async function queuedJobs(url: string): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(SAMPLED_WITHIN_MS);
    const response = await fetch(`${url.replace(/\/$/, '')}/metrics`, { signal });
    if (!response.ok) return undefined;
    const gauges = [...(await response.text()).matchAll(QUEUED)].map((match) => Number(match[1]));
    return gauges.length === 0 ? undefined : gauges.reduce((sum, value) => sum + value, 0);
  } catch {
    return undefined;
  }
}

/** Jobs that are due; jobs that wait for their time are timers. */
const QUEUED = /^tapwire_jobs\{[^}]*state="(?:ready|active|retry)"[^}]*\} (\d+)/gm;
