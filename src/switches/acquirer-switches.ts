import { isDeepStrictEqual } from 'node:util';
import type { ConnectionLog } from '../connection/pool-options.ts';
import { StartError, TapwireError } from '../errors.ts';
import type { Processor } from '../processor-kit/processor.ts';
import type { Switch, Switches } from '../transactions/ports/switch-ports.ts';
import { AcquirerSwitch } from './acquirer-switch.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { ProcessorFault, ProcessorFaults } from './ports.ts';
import { isTimeout, within } from './within.ts';

/** A processor as the database has it. */
export interface StoredProcessor {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
}

/** What all switches share, the processor types that there are, and what is stored of each switch. */
export interface AcquirerSwitchesOptions
  extends Omit<AcquirerSwitchOptions, 'acquirerId' | 'processorId' | 'processor' | 'config' | 'log'> {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: () => readonly StoredProcessor[];
  readonly faults: ProcessorFaults;
  readonly times?: Partial<typeof TIMES> | undefined;
  readonly log: ConnectionLog & { error(fields: object, text: string): void };
}

interface OpenSwitch {
  readonly fingerprint: string;
  readonly line: AcquirerSwitch;
  /** Whether the switch connects to us. */
  readonly isListening: boolean;
}

const TIMES = {
  /** Configuration that changed in the database is followed this often. */
  followEveryMs: 2_000,
  /** An HSM that has not answered by then keeps its own switches waiting, and no others. */
  openWithinMs: 10_000,
};
/** What no stored processor is like. */
const CLOSED = '';
/** A port that the switch dials is free for the next one only then: no time to wait for every answer. */
const HAND_OVER_MS = 5_000;

/**
 * Every switch of every acquirer, connected, and kept in step with the database. One that cannot be opened is told (log,
 * readiness, `processor list`) and tried again; its routes lead nowhere meanwhile, and all others work.
 */
export class AcquirerSwitches implements Switches {
  readonly #options: AcquirerSwitchesOptions;
  readonly #times: typeof TIMES;
  readonly #open = new Map<string, OpenSwitch>();
  /** Those that are no longer stored so, whose answers are waited for. */
  readonly #leaving = new Set<AcquirerSwitch>();
  /** Those whose opening has taken too long, and is not over. */
  readonly #slow = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #faults: readonly ProcessorFault[] = [];
  #isClosed = false;

  private constructor(options: AcquirerSwitchesOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
  }

  static async open(options: AcquirerSwitchesOptions): Promise<AcquirerSwitches> {
    const switches = new AcquirerSwitches(options);
    switches.#tell(await switches.#follow());
    switches.#schedule();
    return switches;
  }

  /** By name, those that are not open as they are stored, and why. */
  get faults(): ReadonlyMap<string, string> {
    return new Map(this.#faults.map(({ acquirerId, processorId: id, reason }) => [keyOf({ acquirerId, id }), reason]));
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
    const open = [...this.#open.values()].map(({ line }) => line);
    await Promise.all([...open, ...this.#leaving].map((line) => line.close(deadlineAtMs)));
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#follow()
        .then((faults) => this.#tell(faults))
        .finally(() => this.#isClosed || this.#schedule());
    }, this.#times.followEveryMs).unref();
  }

  /** Each fault once in the log, not every time that it is met again; and what is mended, too. */
  #tell(faults: readonly ProcessorFault[]): void {
    const { log, faults: shared } = this.#options;
    const isAmong = (known: readonly ProcessorFault[]) => (fault: ProcessorFault) =>
      known.some((other) => isDeepStrictEqual(other, fault));
    for (const fault of faults) if (!isAmong(this.#faults)(fault)) log.error(fault, 'a processor cannot be opened');
    for (const { acquirerId, processorId } of this.#faults.filter((fault) => !isAmong(faults)(fault)))
      log.info({ acquirerId, processorId }, 'what kept a processor from being opened is over, or another fault');
    this.#faults = faults;
    // That nobody is told is no reason to stop: the log has it.
    if (faults.length > 0) shared.tell(faults).catch(() => {});
  }

  /** Opens what is new, closes what is gone, replaces what has changed. What cannot be opened leaves the others alone. */
  async #follow(): Promise<ProcessorFault[]> {
    const wanted = new Map(this.#options.stored().map((record) => [keyOf(record), record]));
    const faults: ProcessorFault[] = [];
    for (const [key, record] of wanted) {
      const { acquirerId, id: processorId } = record;
      const note = (fault: unknown) => faults.push({ acquirerId, processorId, reason: reasonOf(fault) });
      await this.#keepOpen(key, record).catch(note);
    }
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
    if (current?.isListening) {
      // Closed it is like nothing that is stored, should that come back because the next one cannot be opened.
      this.#open.set(key, { ...current, fingerprint: CLOSED });
      await current.line.close(this.#options.clock.monotonicMs() + HAND_OVER_MS);
    }
    const opened = await this.#openInTime(key, record);
    if (this.#isClosed) return opened.line.close(this.#options.clock.monotonicMs()); // nobody else would
    this.#open.set(key, { fingerprint, ...opened });
    if (current && !current.isListening) void this.#closeWhenAnswered(current.line);
  }

  /** What is under way there has its whole deadline: a change of the configuration makes no tap uncertain. */
  async #closeWhenAnswered(line: AcquirerSwitch): Promise<void> {
    this.#leaving.add(line);
    await line.close(this.#options.clock.monotonicMs() + line.profile.deadlineMs);
    this.#leaving.delete(line);
  }

  /** One whose opening comes to an end after all is closed, and opened anew as it is stored by then. */
  async #openInTime(key: string, record: StoredProcessor): Promise<Omit<OpenSwitch, 'fingerprint'>> {
    const late = () => new StartError('BAD_PROCESSOR', `${nameOf(record)}: its HSM or the database does not answer`);
    if (this.#slow.has(key)) throw late();
    const opening = this.#openOne(record);
    try {
      return await within(this.#times.openWithinMs, opening);
    } catch (fault) {
      if (!isTimeout(fault)) throw fault;
      this.#slow.add(key);
      const closeLate = ({ line }: Pick<OpenSwitch, 'line'>) => line.close(this.#options.clock.monotonicMs());
      opening.then(closeLate, () => {}).finally(() => this.#slow.delete(key));
      throw late();
    }
  }

  async #openOne(record: StoredProcessor): Promise<Omit<OpenSwitch, 'fingerprint'>> {
    const { acquirerId, id, type, config } = record;
    const { types, stored, times, ...shared } = this.#options;
    const processor = types.get(type);
    const where = nameOf(record);
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

function keyOf({ acquirerId, id }: Pick<StoredProcessor, 'acquirerId' | 'id'>): string {
  return `${acquirerId} ${id}`;
}

function nameOf({ acquirerId, id }: StoredProcessor): string {
  return `processor ${id} of acquirer ${acquirerId}`;
}

function reasonOf(fault: unknown): string {
  if (fault instanceof StartError) return fault.reason;
  return fault instanceof TapwireError ? fault.code : (fault as Error).name;
}
