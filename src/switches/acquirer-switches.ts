import type { ConnectionLog } from '../connection/pool-options.ts';
import { StartError } from '../errors.ts';
import type { Processor } from '../processor-kit/processor.ts';
import type { Switch, Switches } from '../transactions/ports.ts';
import { AcquirerSwitch, type Stans } from './acquirer-switch.ts';

/** A processor as the database has it. */
export interface StoredProcessor {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
}

export interface AcquirerSwitchesOptions {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: () => readonly StoredProcessor[];
  readonly stans: Stans;
  readonly monotonicMs: () => number;
  readonly nowMs: () => number;
  readonly log: ConnectionLog;
}

interface OpenSwitch {
  readonly fingerprint: string;
  readonly line: AcquirerSwitch;
}

/** Configuration that changed in the database is followed this often. */
const FOLLOW_EVERY_MS = 2_000;
const DRAIN_MS = 5_000;

/** Every switch of every acquirer, connected, and kept in step with the database. */
export class AcquirerSwitches implements Switches {
  readonly #options: AcquirerSwitchesOptions;
  readonly #open = new Map<string, OpenSwitch>();
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: AcquirerSwitchesOptions) {
    this.#options = options;
  }

  /** @throws StartError BAD_PROCESSOR when a stored processor has an unknown type or a configuration that does not fit */
  static async open(options: AcquirerSwitchesOptions): Promise<AcquirerSwitches> {
    const switches = new AcquirerSwitches(options);
    await switches.#follow();
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
    clearTimeout(this.#timer);
    await Promise.all([...this.#open.values()].map(({ line }) => line.close(deadlineAtMs)));
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#follow()
        .catch((error) => this.#options.log.warn({ error: (error as Error).message }, 'a processor cannot be opened'))
        .finally(() => this.#schedule());
    }, FOLLOW_EVERY_MS).unref();
  }

  async #follow(): Promise<void> {
    const { stored } = this.#options;
    const wanted = new Map(stored().map((record) => [`${record.acquirerId} ${record.id}`, record]));
    for (const [key, record] of wanted) {
      const fingerprint = JSON.stringify([record.type, record.config]);
      const current = this.#open.get(key);
      if (current?.fingerprint === fingerprint) continue;
      this.#open.set(key, { fingerprint, line: await this.#openOne(record) });
      if (current) void current.line.close(this.#options.monotonicMs() + DRAIN_MS);
    }
    for (const [key, { line }] of this.#open) {
      if (wanted.has(key)) continue;
      this.#open.delete(key);
      void line.close(this.#options.monotonicMs() + DRAIN_MS);
    }
  }

  #openOne({ acquirerId, id, type, config }: StoredProcessor): Promise<AcquirerSwitch> {
    const processor = this.#options.types.get(type);
    const where = `processor ${id} of acquirer ${acquirerId}`;
    if (!processor) throw new StartError('BAD_PROCESSOR', `${where}: there is no processor type ${type}`);
    const checked = processor.configSchema.safeParse(config);
    if (!checked.success) {
      const faults = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      throw new StartError('BAD_PROCESSOR', `${where} (${type}): ${faults}`);
    }
    const { stans, monotonicMs, nowMs, log } = this.#options;
    return AcquirerSwitch.open({
      acquirerId,
      processorId: id,
      processor,
      config: checked.data,
      stans,
      monotonicMs,
      nowMs,
      log,
    });
  }
}
