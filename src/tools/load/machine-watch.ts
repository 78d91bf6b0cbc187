import { type GatewaySample, sampleGateway } from './gateway-watch.ts';
import { machineSeconds, type ProcessUsage, processUsage } from './process-usage.ts';

/** Figures other than those of the calls, at one moment of a test. */
export interface MachineSample {
  /** Since the start of the calls. */
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
