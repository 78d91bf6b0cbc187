import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { faultsByName } from '../../basics/errors/issue-texts.ts';
import { StartError, StoreUnavailable, TapwireError } from '../../basics/errors.ts';
import { isTimeout, type Repetition, repeatEvery, within } from '../../basics/limits/waits.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import { identityOf, isReadAlike, type SwitchIdentity } from '../../kits/processor-kit/switch-config.ts';
import type { SwitchRevision } from '../../payments/model/switch-revision.ts';
import type { Switch, Switches } from '../../payments/ports/switch-ports.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import { type AcquirerSwitch, openAcquirerSwitch } from './acquirer-switch.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { ProcessorFault, ProcessorFaults, SwitchIdentities } from './ports.ts';

/** A processor as stored in the database. */
export interface StoredProcessor {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
  readonly revision?: SwitchRevision | undefined;
  /** What identified the switch when its type last read the configuration; null before the first time. */
  readonly identity?: SwitchIdentity | null | undefined;
}

/** Dependencies that all switches share, the known processor types, and the stored processors. */
export interface AcquirerSwitchesOptions
  extends Omit<AcquirerSwitchOptions, 'acquirerId' | 'processorId' | 'processor' | 'config' | 'log'> {
  readonly types: ReadonlyMap<string, Processor>;
  readonly stored: () => readonly StoredProcessor[];
  /** Calls back when `stored` has changed, so that the change is applied before the next interval. */
  readonly followStored?: ((onChange: () => void) => void) | undefined;
  readonly faults: ProcessorFaults;
  /** Keeps what identifies each switch. */
  readonly identities?: SwitchIdentities | undefined;
  /** In an installation of several cells: allows connections to an acquirer's switches. */
  readonly claims?: LineClaims | undefined;
  readonly times?: Partial<typeof TIMES> | undefined;
  readonly log: ConnectionLog & { error(fields: object, text: string): void };
}

export interface LineClaims {
  /**
   * @param onLost called if the connections must be closed, because another cell may serve the acquirer
   * @returns a function to call when the connections are closed and what they received is recorded; undefined if another
   * cell serves the acquirer. The end of the process ends the claim, after its last look-ups.
   */
  claim(acquirerId: number, onLost: () => void): Promise<(() => Promise<void>) | undefined>;
}

interface OpenSwitch {
  readonly fingerprint: string;
  readonly line: AcquirerSwitch;
  /** Whether the switch connects to the gateway. */
  readonly isListening: boolean;
}

const TIMES = {
  /** Interval at which a switch that could not be opened is tried again. */
  followEveryMs: 2_000,
  /** An HSM that has not responded by then delays only its own switches. */
  openWithinMs: 10_000,
  /** A failover of the database ends sooner. A switch that still waits for the database needs a person. */
  databaseWithinMs: 60_000,
};
const STORE_UNAVAILABLE = new StoreUnavailable(false).code;
/** Differs from the fingerprint of every stored processor. */
const CLOSED = '';
/** The next switch can use a dialled port only after this. It is too short to wait for every response. */
const HAND_OVER_MS = 5_000;
/** Between two tries to look up the late responses of a closed switch. */
const LOOK_UP_AGAIN_MS = 250;

/**
 * Every switch of every acquirer, connected and kept in step with the database. A switch that cannot be opened is
 * reported (log, readiness, `processor list`) and retried. Meanwhile its routes are not used, and all others work.
 */
export class AcquirerSwitches implements Switches {
  readonly #options: AcquirerSwitchesOptions;
  readonly #times: typeof TIMES;
  readonly #open = new Map<string, OpenSwitch>();
  /** Switches that are no longer stored in this form and still wait for responses. */
  readonly #leaving = new Set<AcquirerSwitch>();
  /** Keys of switches whose opening took too long and has not ended. */
  readonly #slow = new Set<string>();
  /** What to call when a switch is closed and its late responses were looked up. */
  readonly #releases = new WeakMap<AcquirerSwitch, () => Promise<void>>();
  /** Switches whose claim was lost. */
  readonly #lost = new WeakSet<AcquirerSwitch>();
  #following: Repetition | undefined;
  #faults: readonly ProcessorFault[] = [];
  /** Keys of switches that wait for the database, with the time of the first failure. Infinity after it was reported. */
  readonly #waitingSinceMs = new Map<string, number>();
  #isClosed = false;

  private constructor(options: AcquirerSwitchesOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
  }

  static async open(options: AcquirerSwitchesOptions): Promise<AcquirerSwitches> {
    const switches = new AcquirerSwitches(options);
    const follow = async () => switches.#tell(await switches.#follow());
    await follow();
    const following = repeatEvery(switches.#times.followEveryMs, follow);
    switches.#following = following;
    options.followStored?.(following.runSoon);
    return switches;
  }

  /** By name: the switches that are not open as stored, with the reason. */
  get faults(): ReadonlyMap<string, string> {
    return new Map(this.#faults.map(({ acquirerId, processorId: id, reason }) => [keyOf({ acquirerId, id }), reason]));
  }

  find(acquirerId: number, processorId: number): Switch | undefined {
    return this.#open.get(`${acquirerId} ${processorId}`)?.line;
  }

  /** The open switches with their names, for readiness and metrics. */
  *[Symbol.iterator](): Generator<[string, AcquirerSwitch]> {
    for (const [name, { line }] of this.#open) yield [name, line];
  }

  /** Lets requests in flight finish, signs off, and closes. */
  async close(deadlineAtMs: number): Promise<void> {
    this.#isClosed = true;
    void this.#following?.stop(); // an opening in progress closes its switch itself
    const open = [...this.#open.values()].map(({ line }) => line);
    await Promise.all([...open, ...this.#leaving].map((line) => this.#close(line, deadlineAtMs)));
  }

  async #close(line: AcquirerSwitch, deadlineAtMs: number): Promise<void> {
    await line.close(deadlineAtMs);
    void this.#releases.get(line)?.();
  }

  /**
   * Waits until the late responses of the acquirer that this process holds were looked up. Another cell may have its rows
   * when the claim has ended, and here they can then not be recorded. A process that stops has its last look-ups and
   * keeps its claims until then.
   */
  async #release(acquirerId: number, line: AcquirerSwitch, release: () => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      const isDone = await this.#options.unmatchedResponses.lookUpAll(acquirerId);
      if (this.#isClosed) return;
      if (isDone || this.#lost.has(line)) return release();
      await sleep(LOOK_UP_AGAIN_MS, undefined, { ref: false });
    }
  }

  /** Logs each fault once, not at every retry, and logs when it is fixed. */
  #tell(faults: readonly ProcessorFault[]): void {
    const { log, faults: shared } = this.#options;
    const isAmong = (known: readonly ProcessorFault[]) => (fault: ProcessorFault) =>
      known.some((other) => isDeepStrictEqual(other, fault));
    for (const fault of faults.filter((each) => !isAmong(this.#faults)(each))) {
      // No fault of the processor: readiness reports the database, and the switch is tried again.
      if (fault.reason === STORE_UNAVAILABLE) log.warn(fault, 'processor cannot be opened until the database responds');
      else log.error(fault, 'processor cannot be opened');
    }
    this.#tellLongWaits(faults.filter(({ reason }) => reason === STORE_UNAVAILABLE));
    for (const { acquirerId, processorId } of this.#faults.filter((fault) => !isAmong(faults)(fault)))
      log.info({ acquirerId, processorId }, 'processor fault changed or cleared');
    this.#faults = faults;
    // A failed report does not stop the switches; the log has the fault.
    if (faults.length > 0) shared.tell(faults).catch(() => {});
  }

  /** The database may respond to others, and to readiness, but not to this switch: its taps are not sent. */
  #tellLongWaits(waiting: readonly ProcessorFault[]): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    const keys = new Set(waiting.map(({ acquirerId, processorId: id }) => keyOf({ acquirerId, id })));
    for (const key of this.#waitingSinceMs.keys()) if (!keys.has(key)) this.#waitingSinceMs.delete(key);
    for (const fault of waiting) {
      const key = keyOf({ acquirerId: fault.acquirerId, id: fault.processorId });
      const sinceMs = this.#waitingSinceMs.get(key) ?? nowMs;
      const isLong = nowMs - sinceMs >= this.#times.databaseWithinMs;
      this.#waitingSinceMs.set(key, isLong ? Number.POSITIVE_INFINITY : sinceMs);
      if (isLong) log.error(fault, 'processor has waited too long for the database, its taps are not sent');
    }
  }

  /**
   * Opens new switches, closes removed ones, and replaces changed ones. A switch that cannot be opened does not
   * affect the others.
   */
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
      void this.#closeWhenResponded(line);
    }
    return faults;
  }

  async #keepOpen(key: string, record: StoredProcessor): Promise<void> {
    const fingerprint = JSON.stringify([record.type, record.config, record.revision]);
    const current = this.#open.get(key);
    if (current?.fingerprint === fingerprint) return;
    // Only one server can listen on a port, so the previous one must close first.
    if (current?.isListening) {
      // After the close it matches no stored processor. If the next one cannot be opened and the old configuration
      // returns, the switch is opened again.
      this.#open.set(key, { ...current, fingerprint: CLOSED });
      await this.#close(current.line, this.#options.clock.monotonicMs() + HAND_OVER_MS);
    }
    const opened = await this.#openInTime(key, record);
    if (this.#isClosed) return this.#close(opened.line, this.#options.clock.monotonicMs()); // no other code would close it
    this.#open.set(key, { fingerprint, ...opened });
    this.#forgetLost(); // while it was opened
    if (current && !current.isListening) void this.#closeWhenResponded(current.line);
  }

  /**
   * Requests in flight keep their whole deadline, so a change of the configuration makes no transaction uncertain.
   */
  async #closeWhenResponded(line: AcquirerSwitch): Promise<void> {
    this.#leaving.add(line);
    await this.#close(line, this.#options.clock.monotonicMs() + line.profile.deadlineMs);
    this.#leaving.delete(line);
  }

  /**
   * If an opening that took too long still succeeds, the switch is closed and opened again with the configuration
   * stored by then.
   */
  async #openInTime(key: string, record: StoredProcessor): Promise<Omit<OpenSwitch, 'fingerprint'>> {
    const late = () => new StartError('BAD_PROCESSOR', `${nameOf(record)}: its HSM or the database does not respond`);
    if (this.#slow.has(key)) throw late();
    const opening = this.#openOne(record);
    try {
      return await within(this.#times.openWithinMs, opening);
    } catch (fault) {
      if (!isTimeout(fault)) throw fault;
      this.#slow.add(key);
      const closeLate = ({ line }: Pick<OpenSwitch, 'line'>) => this.#close(line, this.#options.clock.monotonicMs());
      opening.then(closeLate, () => {}).finally(() => this.#slow.delete(key));
      throw late();
    }
  }

  async #openOne(record: StoredProcessor): Promise<Omit<OpenSwitch, 'fingerprint'>> {
    const { acquirerId, id, type, config, revision } = record;
    const { types, stored, followStored, identities, claims, times, ...shared } = this.#options;
    const processor = types.get(type);
    const where = nameOf(record);
    if (!processor) throw new StartError('BAD_PROCESSOR', `${where}: there is no processor type ${type}`);
    const checked = processor.configSchema.safeParse(config);
    if (!checked.success) {
      throw new StartError('BAD_PROCESSOR', `${where} (${type}): ${faultsByName(checked.error).join('; ')}`);
    }
    await this.#checkIdentity(record, identityOf(checked.data));
    const options = { ...shared, acquirerId, processorId: id, processor, config: checked.data, revision };
    const isListening = checked.data.accept !== undefined;
    if (!claims) return { line: await openAcquirerSwitch(options), isListening };
    let onLost: () => void = () => {
      isLost = true;
    };
    let isLost = false;
    const release = await claims.claim(acquirerId, () => onLost());
    if (!release) throw new StartError('BAD_PROCESSOR', `${where}: its acquirer is served by another cell`);
    try {
      const line = await openAcquirerSwitch(options);
      this.#releases.set(line, () => this.#release(acquirerId, line, release));
      onLost = () => void this.#closeLost(line, record);
      if (isLost) onLost();
      return { line, isListening };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /**
   * A new version of a type, or another cell, may read the same configuration as another switch. It is then not opened,
   * because transactions of the former switch may be open, until an administrator has changed the processor.
   */
  async #checkIdentity({ identity = null, ...record }: StoredProcessor, read: SwitchIdentity): Promise<void> {
    if (identity === null) await this.#options.identities?.adopt(record, read);
    else if (!isReadAlike(identity, read)) {
      const what = `${nameOf(record)} (${record.type}): the type reads the configuration as that of another switch than before`;
      throw new StartError('BAD_PROCESSOR', `${what}; change it, with --same-switch if it is the same one`);
    }
  }

  /** Another cell may serve the acquirer. The switch is opened again when a claim succeeds. */
  async #closeLost(line: AcquirerSwitch, { acquirerId, id: processorId }: StoredProcessor): Promise<void> {
    this.#lost.add(line);
    const fields = { acquirerId, processorId };
    this.#options.log.warn(fields, 'lock of the cell is lost, connections to the switch are closed');
    this.#forgetLost();
    await this.#close(line, this.#options.clock.monotonicMs() + HAND_OVER_MS);
  }

  #forgetLost(): void {
    for (const [key, { line }] of this.#open) if (this.#lost.has(line)) this.#open.delete(key);
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
