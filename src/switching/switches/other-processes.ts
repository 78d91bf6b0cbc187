import { randomUUID } from 'node:crypto';
import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import type { Handover, OtherProcesses } from '../../payments/ports/switch-ports.ts';

/** A change of the own connections is reported at the latest after this time. */
const LOOK_EVERY_MS = 250;
/** Interval of reports. One without a change shows that the process lives. */
const REPORT_EVERY_MS = 2_000;

/** Where processes report to which switches they are signed on: by name, `<acquirer> <processor>`. */
export interface ReportedLines {
  /** Replaces the report of this process. @returns the names that other processes report */
  report(processId: string, lines: readonly string[]): Promise<readonly string[]>;
  forget(processId: string): Promise<void>;
}

/** The switches of this process by name. */
type OwnSwitches = Iterable<readonly [string, { readonly isSignedOn: boolean }]>;

export interface OtherProcessesOptions {
  readonly reported: ReportedLines;
  readonly switches: OwnSwitches;
  /** Present if this process hands a tap over to a process that has the connection. */
  readonly handover: Handover | undefined;
  /** Called when a report fails; the next one follows. */
  readonly onError: (error: unknown) => void;
}

/**
 * Knows to which switches the other processes of the installation are signed on. A switch may accept fewer sessions
 * than there are processes. Without this knowledge a worker without a session would win most taps of the queue,
 * because failing is fast.
 */
export class SharedLines implements OtherProcesses {
  readonly handover: Handover | undefined;
  readonly #id = randomUUID();
  readonly #options: OtherProcessesOptions;
  readonly #looking: Repetition;
  #others: ReadonlySet<string> = new Set();
  #leftToOthers: readonly string[] = [];
  #reported = '';
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  /** The last report that was asked for; never rejected. */
  #running: Promise<void> = Promise.resolve();
  /** the report after it, if a caller waits for one. */
  #next: Promise<void> | undefined;

  private constructor(options: OtherProcessesOptions) {
    this.#options = options;
    this.handover = options.handover;
    this.#looking = repeatEvery(LOOK_EVERY_MS, () => this.#look(), options.onError);
  }

  /** Reports for the first time and reads the other reports. */
  static async open(options: OtherProcessesOptions): Promise<SharedLines> {
    const lines = new SharedLines(options);
    await lines.#report(lines.#own());
    return lines;
  }

  leftToOthers(): readonly string[] {
    return this.#leftToOthers;
  }

  reaching(acquirerId: number, processorIds: readonly number[]): number | undefined {
    return processorIds.find((id) => this.#others.has(`${acquirerId} ${id}`));
  }

  async lookFor(acquirerId: number, processorIds: readonly number[]): Promise<number | undefined> {
    await this.#reportAgain();
    return this.reaching(acquirerId, processorIds);
  }

  /**
   * Reports after this call, together with all that ask until then: while a switch is down, every tap asks, and each
   * report is a commit on the same row.
   */
  #reportAgain(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const report = this.#report(this.#own());
      this.#running = report.catch(() => {}); // its callers receive the fault
      return report;
    });
    return this.#next;
  }

  /** The other processes take over what this one would have taken. */
  async withdraw(): Promise<void> {
    await this.#looking.stop();
    await this.#options.reported.forget(this.#id).catch(this.#options.onError);
  }

  #own(): string[] {
    return [...this.#options.switches].filter(([, { isSignedOn }]) => isSignedOn).map(([name]) => name);
  }

  async #look(): Promise<void> {
    const own = this.#own();
    const isDue = performance.now() - this.#reportedAtMs >= REPORT_EVERY_MS;
    if (isDue || own.join() !== this.#reported) await this.#reportAgain();
    else this.#compare(own);
  }

  async #report(own: readonly string[]): Promise<void> {
    this.#reportedAtMs = performance.now();
    this.#others = new Set(await this.#options.reported.report(this.#id, own));
    this.#reported = own.join();
    this.#compare(own);
  }

  #compare(own: readonly string[]): void {
    const names = new Set(own);
    this.#leftToOthers = [...this.#others].filter((name) => !names.has(name));
  }
}
