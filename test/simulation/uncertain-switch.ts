import type { Outcome, ReversalAnswer } from '../../src/processor-kit/processor.ts';
import type { Random } from '../../src/simulator/random.ts';
import type { VirtualTime } from './virtual-time.ts';

export type RequestKind = 'sale' | 'sale with PIN' | 'refund';

export interface Booked {
  readonly key: string;
  readonly amountMinor: number;
  state: 'approved' | 'reversed';
}

/** What is still on its way is there within so long: before a doubtful acknowledgement is asked for again, a minute later. */
const LONGEST_TRANSIT_MS = 50_000;

/** How often a PIN is wanted, or another one. */
const WANTS_PIN: Readonly<Record<RequestKind, number>> = { sale: 0.3, 'sale with PIN': 0.5, refund: 0 };

export interface Reply<Answer> {
  readonly afterMs: number;
  readonly answer: Answer;
}

/** The far side: messages come late or never, answers come late, twice or never; but what it has booked, it has booked. */
export class UncertainSwitch {
  readonly ledger: Booked[] = [];
  /** Every request that ever came, by its key: none may come twice. */
  readonly asked: string[] = [];
  /** Every message comes and is answered at once from now on. */
  isCalm = false;
  readonly #random: Random;
  /** When the last message of each connection arrives: none overtakes another on it. */
  readonly #lastArrival = new Map<string, number>();
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  chance(share: number): boolean {
    return !this.isCalm && this.#random.next() < share;
  }

  /** When a message that is written now on this connection arrives; undefined when it is lost. */
  arrivalMs(connectionId: string): number | undefined {
    if (this.chance(0.05)) return undefined;
    const transitMs = this.chance(0.1) ? this.#random.next() * LONGEST_TRANSIT_MS : 5 + this.#random.next() * 40;
    const arrivalMs = Math.max(this.#time.nowMs + transitMs, this.#lastArrival.get(connectionId) ?? 0);
    this.#lastArrival.set(connectionId, arrivalMs);
    return arrivalMs;
  }

  /** A purchase has arrived: what is answered, and when; undefined for silence. */
  authorize(key: string, amountMinor: number, kind: RequestKind): Reply<Outcome> | undefined {
    this.asked.push(key);
    const wantsPin = this.#random.next() < WANTS_PIN[kind];
    const isApproved = !wantsPin && !(this.#random.next() < 0.2);
    if (isApproved) this.ledger.push({ key, amountMinor, state: 'approved' });
    if (this.chance(0.1)) return undefined;
    const facts = { cardTags: [], rrn: key };
    const outcome: Outcome = this.chance(0.05)
      ? { ...facts, kind: 'unknown', responseCode: '77', why: 'a code in no table' }
      : isApproved
        ? { ...facts, kind: 'approved', responseCode: '00', authorizationCode: '123456', approvedMinor: amountMinor }
        : wantsPin
          ? { ...facts, kind: 'pinRequired', responseCode: kind === 'sale' ? '65' : '55' }
          : { ...facts, kind: 'declined', responseCode: '51' };
    return { afterMs: this.#latencyMs(), answer: outcome };
  }

  /** A reversal has arrived. One that finds nothing may be acknowledged all the same: some switches do. */
  reverse(key: string): Reply<ReversalAnswer> | undefined {
    const booked = this.ledger.filter((entry) => entry.key === key);
    // What is reversed stays so, and is not refused a second time.
    const isReversed = booked.some(({ state }) => state === 'reversed');
    if (!isReversed && this.chance(0.1)) return { afterMs: 5, answer: 'refused' };
    for (const entry of booked) entry.state = 'reversed';
    if (this.chance(0.15)) return undefined;
    const isFound = booked.length > 0 || this.#random.next() < 0.5;
    return { afterMs: this.#latencyMs(), answer: isFound ? 'acknowledged' : 'unableToLocate' };
  }

  /** Around the deadline of five seconds and its grace, too. */
  #latencyMs(): number {
    return this.chance(0.2) ? this.#random.next() * 12_000 : 10 + this.#random.next() * 100;
  }
}
