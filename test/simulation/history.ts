import { faultOfTrail } from '../../src/ops/verify-ledger/fault-of-trail.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { Disposition, dispositionName } from '../../src/transactions/disposition.ts';
import { recordAnswer } from '../../src/transactions/overdue.ts';
import type { TapRequest } from '../../src/transactions/ports.ts';
import { submitTap } from '../../src/transactions/submit-tap.ts';
import { ReversalState } from '../../src/transactions/transaction.ts';
import { MemoryStore, type Row, type Sabotage } from './memory-store.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { PRINCIPAL } from './simulated-tenant.ts';
import { UncertainSwitch } from './uncertain-switch.ts';
import { VirtualTime } from './virtual-time.ts';

/** Faults end then; whatever is still open must come to its end by itself. */
const CALM_AFTER_MS = 150_000;
/** Reversals are tried for three days. */
const LONGEST_MS = 80 * 3_600_000;
const MOST_TAPS = 4;

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
  readonly #events = new Map();
  readonly #told = new Map<string, string[]>();
  readonly #restless = new Set<string>();
  #processes: SimulatedProcess[] = [];
  #ids = 0;
  #stans = 0;
  #isQuiet = false;
  #hasKilled = false;

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
        nextStan: () => String(++this.#stans).padStart(6, '0'),
        onCommit: () => {
          for (const id of store.restless()) this.#restless.add(id);
        },
      },
      `${name}${generation}`,
    );
    this.#processes.push(process);
    const watch = () => {
      if (process.isAlive) {
        if (!switches.isCalm) this.#time.after(1_000, watch);
        return;
      }
      this.#hasKilled = true;
      this.#processes = this.#processes.filter((each) => each !== process);
      this.#keepAlive(name, generation + 1);
    };
    this.#time.after(1_000, watch);
  }

  /**
   * Submits, and asks again with the same request while it has no answer; may be gone when one comes. The card is tapped again
   * when nothing was sent.
   */
  async #phone(asks: TapRequest): Promise<void> {
    let request = asks;
    for (let tries = 0; tries < 5; tries++) {
      const { world } = this.#processes[Math.floor(this.#random.next() * this.#processes.length)] ?? {};
      const asked = world && submitTap(world, PRINCIPAL, request).catch(() => undefined);
      const patience = this.#time.pass(60_000);
      const answer = await Promise.race([asked, patience]);
      if (world && answer) {
        const isFlushed = this.#random.next() < 0.9;
        recordAnswer(world, answer, isFlushed);
        if (isFlushed) {
          const told = this.#told.get(request.merchantReference) ?? [];
          this.#told.set(request.merchantReference, [...told, dispositionName(answer.disposition!)]);
          if (answer.disposition === Disposition.UnableToGoOnline) {
            request = { ...request, paymentCardData: `tap again ${tries}` };
            this.#told.delete(request.merchantReference);
          } else if (this.#random.next() < 0.8) return;
        }
      }
      await this.#time.pass(500 + this.#random.next() * 20_000);
    }
  }

  /** What came up in it. */
  seen(): Set<string> {
    const seen = new Set<string>(this.#hasKilled ? ['a process killed'] : []);
    for (const { transaction, trail } of this.#store.rows.values()) {
      if (transaction.disposition !== null) seen.add(dispositionName(transaction.disposition));
      if (transaction.attempt > 1) seen.add('a second attempt');
      for (const entry of trail.flatMap(({ moves }) => moves)) {
        if ('reversal' in entry) seen.add(`reversal ${entry.reversal}`);
        if ('late' in entry) seen.add(`late ${entry.late}`);
      }
    }
    return seen;
  }

  faults(): string[] {
    const faults = [...this.#restless].map((id) => `${id} rested where it must not`);
    if (!this.#isQuiet) faults.push('the history does not come to its end');
    if (this.#store.jobs.size > 0) faults.push(`${this.#store.jobs.size} jobs are left`);
    for (const row of this.#store.rows.values()) faults.push(...this.#faultsOfRow(row));
    for (const { key } of this.#switches.ledger) {
      const isKnown = [...this.#store.rows.values()].some((row) => row.transaction.rrn === key);
      if (!isKnown && this.#switches.ledger.some((entry) => entry.key === key && entry.state === 'approved'))
        faults.push(`${key} is approved, and in no transaction`);
    }
    return faults;
  }

  #faultsOfRow({ transaction, trail }: Row): string[] {
    const { id, rrn, disposition, reversalState, status, approvedMinor, merchantReference, attempt } = transaction;
    const booked = this.#switches.ledger.filter(({ key }) => key === rrn);
    const standing = booked.some(({ state }) => state === 'approved');
    const faults: string[] = [];
    const fault = (what: string) => faults.push(`${id}: ${what}`);
    if (disposition === null) fault('has no outcome');
    if (booked.length > 1) fault('was authorized twice');
    if (standing && disposition !== Disposition.Approved && reversalState !== ReversalState.needsReview)
      fault(`stands at the switch, and is ${disposition === null ? 'open' : dispositionName(disposition)}`);
    if (disposition === Disposition.Approved && !standing) fault('is Approved, and not at the switch');
    if (disposition === Disposition.Approved && approvedMinor !== booked[0]?.amountMinor) fault('is of another amount');
    if (disposition === Disposition.Indeterminate && reversalState !== ReversalState.needsReview)
      fault('is Indeterminate for good');
    const wrong = faultOfTrail(trail, status);
    if (wrong !== undefined) fault(wrong);
    if (disposition !== null) {
      const final = dispositionName(disposition);
      for (const told of this.#told.get(merchantReference)?.slice(-1) ?? []) {
        const mayBe = final === 'Voided' ? ['Voided', 'Indeterminate'] : [final];
        if (!mayBe.includes(told)) fault(`is ${final}, and the phone was told ${told}`);
      }
      const sequence = attempt * 2 - (disposition === Disposition.Voided ? 0 : 1);
      const events = [...this.#events.values()].filter(
        (event) => event.transactionId === id && event.sequence === sequence && event.disposition === final,
      );
      if (events.length !== 1) fault(`${events.length} events tell that it is ${final}`);
    }
    return faults;
  }
}
