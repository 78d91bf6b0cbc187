import { StartError, TapwireError } from '../errors.ts';
import type { Processor } from '../processor-kit/processor.ts';
import type { Switch, Switches } from '../transactions/ports.ts';
import { AcquirerSwitch, type AcquirerSwitchOptions } from './acquirer-switch.ts';

/** A processor as the database has it. */
export interface StoredProcessor {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
}

/** What all switches share, the processor types that there are, and what is stored of each switch. */
export interface AcquirerSwitchesOptions
  extends Omit<AcquirerSwitchOptions, 'acquirerId' | 'processorId' | 'processor' | 'config'> {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: () => readonly StoredProcessor[];
}

interface OpenSwitch {
  readonly fingerprint: string;
  readonly line: AcquirerSwitch;
  /** Whether the switch connects to us. */
  readonly isListening: boolean;
}

/** Configuration that changed in the database is followed this often. */
const FOLLOW_EVERY_MS = 2_000;
/** A port that the switch dials is free for the next one only then: no time to wait for every answer. */
const HAND_OVER_MS = 5_000;

/** Every switch of every acquirer, connected, and kept in step with the database. */
export class AcquirerSwitches implements Switches {
  readonly #options: AcquirerSwitchesOptions;
  readonly #open = new Map<string, OpenSwitch>();
  #timer: NodeJS.Timeout | undefined;
  #reported: readonly string[] = [];
  #isClosed = false;

  private constructor(options: AcquirerSwitchesOptions) {
    this.#options = options;
  }

  /** @throws StartError BAD_PROCESSOR when a stored processor has an unknown type or a configuration that does not fit */
  static async open(options: AcquirerSwitchesOptions): Promise<AcquirerSwitches> {
    const switches = new AcquirerSwitches(options);
    const faults = await switches.#follow();
    if (faults.length > 0) {
      await switches.close(options.clock.monotonicMs());
      throw faults[0];
    }
    switches.#schedule();
    return switches;
  }

  find(acquirerId: number, processorId: number): Switch | undefined {
    return this.#open.get(`${acquirerId} ${processorId}`)?.line;
  }

  /** By name, for readiness and metrics. */
  *[Symbol.iterator](): Generator<[string, AcquirerSwitch]> {
    for (const [name, { line }] of this.#open) yield [name, line];
  }

  /** Lets what is under way finish, signs off, closes. */
  async close(deadlineAtMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#open.values()].map(({ line }) => line.close(deadlineAtMs)));
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#follow()
        .then((faults) => this.#report(faults))
        .finally(() => this.#isClosed || this.#schedule());
    }, FOLLOW_EVERY_MS).unref();
  }

  /** Each fault once, not every time that it is met again. */
  #report(faults: readonly unknown[]): void {
    const reasons = faults.map((fault) => (fault instanceof StartError ? fault.reason : nameOf(fault)));
    for (const reason of reasons) {
      if (!this.#reported.includes(reason)) this.#options.log.warn({ reason }, 'a processor cannot be opened');
    }
    this.#reported = reasons;
  }

  /** Opens what is new, closes what is gone, replaces what has changed. What cannot be opened leaves the others alone. */
  async #follow(): Promise<unknown[]> {
    const wanted = new Map(this.#options.stored().map((record) => [keyOf(record), record]));
    const faults: unknown[] = [];
    for (const [key, record] of wanted) await this.#keepOpen(key, record).catch((fault) => faults.push(fault));
    for (const [key, { line }] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      void this.#closeWhenAnswered(line);
    }
    return faults;
  }

  async #keepOpen(key: string, record: StoredProcessor): Promise<void> {
    const fingerprint = JSON.stringify([record.type, record.config]);
    const current = this.#open.get(key);
    if (current?.fingerprint === fingerprint) return;
    // A port can be listened on once: so the one before it has to go first.
    if (current?.isListening) await current.line.close(this.#options.clock.monotonicMs() + HAND_OVER_MS);
    const opened = await this.#openOne(record);
    this.#open.set(key, { fingerprint, ...opened });
    if (current && !current.isListening) void this.#closeWhenAnswered(current.line);
  }

  /** What is under way there has its whole deadline: a change of the configuration makes no tap uncertain. */
  #closeWhenAnswered(line: AcquirerSwitch): Promise<void> {
    return line.close(this.#options.clock.monotonicMs() + line.profile.deadlineMs);
  }

  async #openOne({ acquirerId, id, type, config }: StoredProcessor): Promise<Omit<OpenSwitch, 'fingerprint'>> {
    const { types, stored, ...shared } = this.#options;
    const processor = types.get(type);
    const where = `processor ${id} of acquirer ${acquirerId}`;
    if (!processor) throw new StartError('BAD_PROCESSOR', `${where}: there is no processor type ${type}`);
    const checked = processor.configSchema.safeParse(config);
    if (!checked.success) {
      const faults = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      throw new StartError('BAD_PROCESSOR', `${where} (${type}): ${faults}`);
    }
    const options = { ...shared, acquirerId, processorId: id, processor, config: checked.data };
    return { line: await AcquirerSwitch.open(options), isListening: checked.data.accept !== undefined };
  }
}

function keyOf({ acquirerId, id }: StoredProcessor): string {
  return `${acquirerId} ${id}`;
}

function nameOf(fault: unknown): string {
  return fault instanceof TapwireError ? fault.code : (fault as Error).name;
}
