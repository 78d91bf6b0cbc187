import type { JobPayloads } from '../../schemas/jobs.ts';
import { TapwireError } from '../../src/basics/errors.ts';
import { dispositionName } from '../../src/payments/model/disposition.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../src/payments/ports/transaction-dependencies.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { MemoryCompletions } from './memory-completions.ts';
import { MemoryLinks } from './memory-links.ts';
import { MemoryStore, type Sabotage } from './memory-store.ts';
import { faultsOf } from './rules/judge.ts';
import { SimulatedClients } from './simulated-clients.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { simulatedLink } from './simulated-tenant.ts';
import { VirtualTime } from './virtual-time.ts';
import { type Deliver, WildSwitch } from './wild-switch.ts';

/** Faults end then; everything that is still open must end without help. */
const CALM_AFTER_MS = 150_000;
/** Reversals are repeated for three days. */
const LONGEST_MS = 80 * 3_600_000;
/** Of a process that died, until its replacement. */
const LONGEST_ABSENCE_MS = 1_000;
const MAX_TAPS = 4;
const SHARE_WITH_LINK = 0.2;
/** Sales that are refunded or voided. */
const MAX_GIVEN_BACK = 2;

export interface HistoryOptions {
  readonly sabotage?: Sabotage | undefined;
  /** Counts what occurs. */
  readonly seen?: Map<string, number> | undefined;
  /** Every event is recorded here. */
  readonly story?: string[] | undefined;
}

/** The violations in the history of a seed. */
export async function faultsOfHistory(seed: number, { sabotage, seen, story }: HistoryOptions = {}): Promise<string[]> {
  const history = new History(seed, sabotage, story);
  const faults = await history.run();
  for (const each of history.seen()) seen?.set(each, (seen.get(each) ?? 0) + 1);
  return faults;
}

class History {
  readonly #random;
  readonly #time = new VirtualTime();
  readonly #store: MemoryStore;
  readonly #links: MemoryLinks;
  readonly #completions: MemoryCompletions;
  readonly #switches: WildSwitch;
  readonly #clients: SimulatedClients;
  readonly #events = new Map<string, NonNullable<JobPayloads['webhook']['outcome']>>();
  readonly #alarms = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #faults = new Set<string>();
  readonly #story: string[] | undefined;
  readonly #startedAtMs = this.#time.nowMs;
  #processes: SimulatedProcess[] = [];
  #ids = 0;

  constructor(seed: number, sabotage: Sabotage | undefined, story: string[] | undefined) {
    this.#random = seededRandom(seed);
    this.#story = story;
    this.#store = new MemoryStore(this.#time, this.#newId, sabotage);
    this.#links = new MemoryLinks(this.#store, this.#time);
    this.#completions = new MemoryCompletions(this.#store, this.#time);
    const onSeen = (what: string) => void this.#seen.add(what);
    const tell = (what: string) => this.#tell(what);
    const onError = (error: unknown) => this.#noteError(error);
    this.#switches = new WildSwitch(this.#time, this.#random, (...said) => this.#deliver(...said), {
      onSeen,
      tell,
    });
    const parts = { time: this.#time, random: this.#random, store: this.#store, onSeen, tell, onError };
    this.#clients = new SimulatedClients({ ...parts, anyWorld: () => this.#anyWorld() });
    this.#store.onJob = () => {
      for (const process of this.#processes) process.wake();
    };
  }

  async run(): Promise<string[]> {
    for (const name of ['a', 'b']) this.#keepAlive(name);
    const taps = 1 + Math.floor(this.#random.next() * MAX_TAPS);
    for (let n = 0; n < taps; n++) {
      const request = {
        merchantReference: `order-${n}`,
        deviceInstallationId: `device-${n}`,
        paymentCardData: 'tap',
      } as TapRequest;
      this.#time.after(this.#random.next() * 10_000, () => void this.#clients.phone(request));
    }
    if (this.#random.next() < SHARE_WITH_LINK) this.#payLink();
    for (let n = 0; n < MAX_GIVEN_BACK; n++) {
      this.#time.after(this.#random.next() * CALM_AFTER_MS, () => void this.#clients.merchant());
    }
    this.#time.after(CALM_AFTER_MS, () => {
      this.#switches.isCalm = true;
    });
    await this.#rest();
    const faults = this.#judge();
    if (faults.length > 0) return faults;
    this.#tell('a refund of everything is requested');
    // Requests a refund of everything that seems refundable.
    void this.#clients.refundEverything();
    await this.#rest();
    return this.#judge();
  }

  /** Two customers use one link, and a till takes a card for the same order. */
  #payLink(): void {
    const id = this.#newId();
    const link = simulatedLink(id, this.#time.nowMs);
    this.#links.create(link);
    for (const device of ['phone-1', 'phone-2'])
      this.#time.after(this.#random.next() * 10_000, () => void this.#clients.customer(link, device));
    const till = { merchantReference: link.paymentReference, deviceInstallationId: 'till', paymentCardData: 'tap' };
    this.#time.after(this.#random.next() * 30_000, () => void this.#clients.phone(till as TapRequest));
  }

  async #rest(): Promise<void> {
    const isQuiet = await this.#time.run(this.#time.nowMs + LONGEST_MS);
    if (!isQuiet) this.#faults.add('the history does not come to its end');
    if (this.#store.jobs.size > 0) this.#faults.add(`${this.#store.jobs.size} jobs are left`);
  }

  #judge(): string[] {
    const { ledger, requests, statements } = this.#switches;
    return [
      ...this.#faults,
      ...faultsOf({
        rows: this.#store.rows,
        bookings: [...ledger.bookings.values()],
        requests,
        statements,
        reported: this.#clients.reported,
        events: [...this.#events.values()],
        alarms: this.#alarms,
        hadFaults: true,
        wantsCompletion: this.#switches.wantsCompletion,
      }),
    ];
  }

  #tell(what: string): void {
    this.#story?.push(`${((this.#time.nowMs - this.#startedAtMs) / 1_000).toFixed(3).padStart(11)} ${what}`);
  }

  readonly #newId = () => `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`;

  /** A supervisor: a process that died is replaced within a second. */
  #keepAlive(name: string, generation = 1): void {
    const { store, switches, events, time, random } = {
      ...{ store: this.#store, switches: this.#switches, events: this.#events, time: this.#time, random: this.#random },
    };
    const process = new SimulatedProcess(
      {
        ...{ time, random, store, links: this.#links, completions: this.#completions, switches, events },
        alarms: this.#alarms,
        newId: this.#newId,
        onCommit: () => {
          for (const id of store.restless()) this.#faults.add(`${id} rested where it must not`);
        },
        onSeen: (what) => void this.#seen.add(what),
        tell: (what) => this.#tell(what),
        onBug: (error) => this.#noteError(error),
        onDeath: (dead) => time.after(random.next() * LONGEST_ABSENCE_MS, () => this.#replace(dead, name, generation)),
      },
      `${name}${generation}`,
    );
    this.#processes.push(process);
  }

  #replace(dead: SimulatedProcess, name: string, generation: number): void {
    this.#seen.add('a process killed');
    this.#processes = this.#processes.filter((each) => each !== dead);
    this.#keepAlive(name, generation + 1);
  }

  /** Delivers to the process that sent the request. Some switches use any other connection if that one is closed. */
  #deliver(...[request, response, statement]: Parameters<Deliver>): void {
    const asked = this.#processes.find(({ name }) => name === request.processName);
    const isAstray = this.#switches.chance(0.1);
    if (asked?.isAlive && !isAstray) {
      asked.line.take(request, response, statement);
      return;
    }
    const other = this.#processes[Math.floor(this.#random.next() * this.#processes.length)];
    if (!other?.isAlive) return;
    const isSuccessor = other.name.charAt(0) === request.processName.charAt(0);
    this.#seen.add(isSuccessor ? 'a response after a restart' : 'a response to another worker');
    other.line.take(request, response, statement);
  }

  /** An error with a status code for the client is not a fault; every other error is a bug. */
  #noteError(error: unknown): void {
    if (!(error instanceof TapwireError)) this.#faults.add(`a use case threw ${String(error)}`);
  }

  #anyWorld(): TransactionDependencies | undefined {
    return this.#processes[Math.floor(this.#random.next() * this.#processes.length)]?.deps;
  }

  /** What occurred in it. */
  seen(): Set<string> {
    const seen = new Set(this.#seen);
    const completions = this.#switches.requests.filter(({ kind }) => kind === 'completion');
    if (new Set(completions.map(({ key }) => key)).size < completions.length)
      seen.add('a completion that was repeated');
    for (const { transaction, trail } of this.#store.rows.values()) {
      if (transaction.disposition !== null) seen.add(dispositionName(transaction.disposition));
      if (transaction.attempt > 1) seen.add('a second attempt');
      if (transaction.needsReview) seen.add('a review');
      if (transaction.consumerId !== null) seen.add('a tap on a link');
      for (const entry of trail.flatMap(({ auditEntries }) => auditEntries)) {
        if ('reversal' in entry) seen.add(`reversal ${entry.reversal}`);
        if ('late' in entry) seen.add(`late ${entry.late}`);
        if ('pin' in entry) seen.add(`PIN ${entry.pin}`);
      }
    }
    return seen;
  }
}
