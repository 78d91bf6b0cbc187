import type { JobPayloads } from '../../schemas/jobs.ts';
import type { Outcome } from '../../src/processor-kit/processor.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { refund } from '../../src/transactions/afterwards/refund.ts';
import { voidSale } from '../../src/transactions/afterwards/void.ts';
import { Disposition, dispositionName } from '../../src/transactions/disposition.ts';
import { isAwaitingPin } from '../../src/transactions/pin/pin-step.ts';
import { submitPin } from '../../src/transactions/pin/submit-pin.ts';
import type { PinRequest } from '../../src/transactions/ports/pin-ports.ts';
import type { TapRequest } from '../../src/transactions/ports.ts';
import { recordAnswer } from '../../src/transactions/reversal/overdue.ts';
import { submitTap } from '../../src/transactions/tap/submit-tap.ts';
import { type Transaction, TransactionType } from '../../src/transactions/transaction.ts';
import type { World } from '../../src/transactions/world.ts';
import { faultsOfBooks, faultsOfRequests } from './faults-of-books.ts';
import { MemoryStore, type Sabotage } from './memory-store.ts';
import { PIN_SECONDS, SimulatedProcess } from './simulated-process.ts';
import { PRINCIPAL } from './simulated-tenant.ts';
import { UncertainSwitch } from './uncertain-switch.ts';
import { VirtualTime } from './virtual-time.ts';

/** Faults end then; whatever is still open must come to its end by itself. */
const CALM_AFTER_MS = 150_000;
/** Reversals are tried for three days. */
const LONGEST_MS = 80 * 3_600_000;
const MOST_TAPS = 4;
/** Sales that somebody thinks better of. */
const MOST_GIVEN_BACK = 2;

/** What was wrong in the history of a seed; empty when nothing was. */
export async function faultsOfHistory(
  seed: number,
  { sabotage, seen }: { readonly sabotage?: Sabotage; readonly seen?: Set<string> } = {},
): Promise<string[]> {
  const history = new History(seed, sabotage);
  await history.run();
  for (const each of history.seen()) seen?.add(each);
  return history.faults();
}

class History {
  readonly #random;
  readonly #time = new VirtualTime();
  readonly #store: MemoryStore;
  readonly #switches: UncertainSwitch;
  readonly #events = new Map<string, NonNullable<JobPayloads['webhook']['outcome']>>();
  /** The last outcome that each merchantReference's phone was told. */
  readonly #told = new Map<string, string>();
  readonly #seen = new Set<string>();
  readonly #restless = new Set<string>();
  #processes: SimulatedProcess[] = [];
  #ids = 0;
  #refunds = 0;
  #isQuiet = false;

  constructor(seed: number, sabotage: Sabotage | undefined) {
    this.#random = seededRandom(seed);
    this.#store = new MemoryStore(this.#time, this.#newId, sabotage);
    this.#switches = new UncertainSwitch(this.#time, this.#random);
    this.#store.onJob = () => {
      for (const process of this.#processes) process.wake();
    };
  }

  async run(): Promise<void> {
    for (const name of ['a', 'b']) this.#keepAlive(name);
    const taps = 1 + Math.floor(this.#random.next() * MOST_TAPS);
    for (let n = 0; n < taps; n++) {
      const request = {
        merchantReference: `order-${n}`,
        deviceInstallationId: `device-${n}`,
        paymentCardData: 'tap',
      } as TapRequest;
      this.#time.after(this.#random.next() * 10_000, () => void this.#phone(request));
    }
    for (let n = 0; n < MOST_GIVEN_BACK; n++) {
      this.#time.after(this.#random.next() * CALM_AFTER_MS, () => void this.#merchant());
    }
    this.#time.after(CALM_AFTER_MS, () => {
      this.#switches.isCalm = true;
    });
    this.#isQuiet = await this.#time.run(this.#time.nowMs + LONGEST_MS);
  }

  readonly #newId = () => `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`;

  /** A supervisor: a process that died is replaced within seconds, until the calm. */
  #keepAlive(name: string, generation = 1): void {
    const { store, switches, events } = { store: this.#store, switches: this.#switches, events: this.#events };
    const process = new SimulatedProcess(
      {
        time: this.#time,
        random: this.#random,
        store,
        switches,
        events,
        newId: this.#newId,
        onCommit: () => {
          for (const id of store.restless()) this.#restless.add(id);
        },
        onSeen: (what) => void this.#seen.add(what),
        deliverElsewhere: (rrn, outcome) => this.#deliverElsewhere(name, rrn, outcome),
      },
      `${name}${generation}`,
    );
    this.#processes.push(process);
    const watch = () => {
      if (process.isAlive) {
        if (!switches.isCalm) this.#time.after(1_000, watch);
        return;
      }
      this.#seen.add('a process killed');
      this.#processes = this.#processes.filter((each) => each !== process);
      this.#keepAlive(name, generation + 1);
    };
    this.#time.after(1_000, watch);
  }

  /** Some switches send what they could not send on whatever line there is; after a restart that is all that comes. */
  #deliverElsewhere(from: string, rrn: string, outcome: Outcome): void {
    if (this.#random.next() < 0.5) return;
    const process = this.#processes[Math.floor(this.#random.next() * this.#processes.length)];
    if (!process?.isAlive) return;
    this.#seen.add(process.name.startsWith(from) ? 'late after a restart' : 'late on another worker');
    process.takeStray(rrn, outcome);
  }

  /**
   * Submits, and asks again with the same request while it has no answer; may be gone when one comes. The card is tapped again
   * when nothing was sent.
   */
  async #phone(asks: TapRequest): Promise<void> {
    let request = asks;
    for (let tries = 0; tries < 5; tries++) {
      const answer = await this.#ask((world) => submitTap(world, PRINCIPAL, request));
      if (answer?.disposition === Disposition.UnableToGoOnline) {
        request = { ...request, paymentCardData: `tap again ${tries}` };
        this.#told.delete(request.merchantReference);
      } else if (answer && isAwaitingPin(answer)) {
        await this.#enterPins(answer, request);
        return;
      } else if (answer && this.#random.next() < 0.8) return;
      await this.#time.pass(500 + this.#random.next() * 20_000);
    }
  }

  /** Enters PINs as long as one is wanted: in time or not, and now and then two different ones at once. */
  async #enterPins(awaiting: Transaction, tap: TapRequest): Promise<void> {
    for (let tries = 0; tries < 6; tries++) {
      await this.#time.pass(this.#random.next() * PIN_SECONDS * 1_200);
      const enter = (pin: string) =>
        this.#ask((world) => submitPin(world, PRINCIPAL, awaiting.id, pinRequest(tap, pin)));
      const isTwice = this.#random.next() < 0.2;
      const answers = await Promise.all([enter(`${tries}1`), ...(isTwice ? [enter(`${tries}2`)] : [])]);
      if (isTwice) this.#seen.add('two PINs at once');
      if (answers.some((answer) => answer && !isAwaitingPin(answer))) return;
    }
  }

  /** A request to some process, as a phone makes it: undefined when no answer came, or nobody is there for it. */
  async #ask(use: (world: World) => Promise<Transaction>): Promise<Transaction | undefined> {
    const world = this.#anyWorld();
    const answer = await Promise.race([world && use(world).catch(() => undefined), this.#time.pass(60_000)]);
    if (!world || !answer) return undefined;
    const isFlushed = this.#random.next() < 0.9;
    recordAnswer(world, answer, isFlushed);
    if (!isFlushed) return undefined;
    if (answer.disposition !== null) this.#told.set(answer.merchantReference, dispositionName(answer.disposition));
    return answer;
  }

  /** Gives sales back, in parts or whole; what one process does not answer is asked of another. */
  async #merchant(): Promise<void> {
    const sales = [...this.#store.rows.values()].filter(({ transaction: { disposition, type } }) => {
      return disposition === Disposition.Approved && type === TransactionType.Tap;
    });
    const sale = sales[Math.floor(this.#random.next() * sales.length)]?.transaction;
    if (!sale) return;
    const wants = Array.from({ length: 1 + Math.floor(this.#random.next() * 3) }, (_, index) => ({
      isVoid: this.#random.next() < 0.4,
      amount: `${1 + Math.floor(this.#random.next() * 9)}.00`,
      refundReference: `${sale.merchantReference} back ${this.#refunds++} ${index}`,
    }));
    await Promise.all(wants.map((wanted) => this.#giveBack(sale, wanted)));
  }

  async #giveBack(
    { acquirerId, id }: Transaction,
    { isVoid, ...request }: { isVoid: boolean; amount: string; refundReference: string },
  ): Promise<void> {
    for (let tries = 0; tries < 2; tries++) {
      const world = this.#anyWorld();
      const asked = world?.store.find({ acquirerId, id }).then(async (sale) => {
        if (!sale) return;
        const given = await (isVoid ? voidSale(world, sale) : refund(world, sale, request));
        if (!isVoid) recordAnswer(world, given, true);
        this.#seen.add(isVoid ? 'a void' : 'a refund');
      });
      await Promise.race([asked?.catch(() => {}), this.#time.pass(60_000)]);
      if (this.#random.next() < 0.7) return;
    }
  }

  #anyWorld(): World | undefined {
    return this.#processes[Math.floor(this.#random.next() * this.#processes.length)]?.world;
  }

  /** What came up in it. */
  seen(): Set<string> {
    const seen = new Set(this.#seen);
    for (const { transaction, trail } of this.#store.rows.values()) {
      if (transaction.disposition !== null) seen.add(dispositionName(transaction.disposition));
      if (transaction.attempt > 1) seen.add('a second attempt');
      for (const entry of trail.flatMap(({ moves }) => moves)) {
        if ('reversal' in entry) seen.add(`reversal ${entry.reversal}`);
        if ('late' in entry) seen.add(`late ${entry.late}`);
        if ('pin' in entry) seen.add(`PIN ${entry.pin}`);
      }
    }
    return seen;
  }

  faults(): string[] {
    const faults = [...this.#restless].map((id) => `${id} rested where it must not`);
    if (!this.#isQuiet) faults.push('the history does not come to its end');
    const { rows, jobs } = this.#store;
    if (jobs.size > 0) faults.push(`${jobs.size} jobs are left`);
    const books = { rows, ledger: this.#switches.ledger, events: [...this.#events.values()], told: this.#told };
    return [...faults, ...faultsOfBooks(books), ...faultsOfRequests(this.#switches.asked)];
  }
}

function pinRequest(tap: TapRequest, pin: string): PinRequest {
  return { ...tap, pinToken: 'token', pinBlock: `${pin}00000000000000`, ksn: '00000000000000000000' };
}
