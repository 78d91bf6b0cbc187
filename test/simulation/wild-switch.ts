import type { Random } from '../../src/tools/simulator/faults.ts';
import { DEADLINE_MS } from './simulated-tenant.ts';
import { Ledger } from './switch/ledger.ts';
import { type CodedResponse, isAmbiguous, ORDINARY_FLAWS, REVERSAL_FORMS } from './switch/responses.ts';
import {
  LONGEST_TRANSIT_MS,
  LONGEST_TRANSIT_OF_COMPLETION_MS,
  nameOf,
  type SentRequest,
} from './switch/sent-request.ts';
import { type Statement, statementOf } from './switch/statements.ts';
import type { VirtualTime } from './virtual-time.ts';

/** How reliable a switch is, as shares of its actions; each history draws one. */
interface Temper {
  /** Share of responses with an arbitrary content. */
  readonly wild: number;
  /** Share of received requests that are not processed. */
  readonly idle: number;
  /** Share of responses that arrive too late, or several times. */
  readonly late: number;
}

const TEMPERS: readonly Temper[] = [
  { wild: 0, idle: 0.05, late: 0.1 },
  { wild: 0.15, idle: 0.1, late: 0.25 },
  { wild: 0.6, idle: 0.3, late: 0.5 },
];

const REQUEST_CODES = ['00', '00', '51', '91', '96', '55', '57', '75', '94', '77', '09', '68', '70', ''];
const REVERSAL_CODES = ['00', '00', '25', '21', '57', '12', '06', '91', '96', '94', '77', ''];

/** The latest time for another response to a request that has had one for long. */
const LATEST_ECHO_MS = 120_000;

export interface Observer {
  /** Called for each occurrence that is counted. */
  readonly onSeen: (what: string) => void;
  /** For people who read the story. */
  readonly tell: (what: string) => void;
}

/** Delivers a response to any process that may receive it. */
export type Deliver = (request: SentRequest, response: CodedResponse, statement: Statement) => void;

/**
 * A switch that violates the protocol: it may respond to any earlier request with anything, any number of times, or not
 * at all. Only its ledger is true. In the calm it processes everything and reports the truth.
 */
export class WildSwitch {
  readonly ledger = new Ledger();
  readonly requests: SentRequest[] = [];
  readonly statements: Statement[] = [];
  isCalm = false;
  /** Whether approvals post only after a completion. */
  readonly wantsCompletion: boolean;
  /** Whether, in the calm, it refuses to reverse what is reversed (57), as some switches do. */
  readonly #isStrict: boolean;
  readonly #temper: Temper;
  readonly #random: Random;
  readonly #time: VirtualTime;
  readonly #deliver: Deliver;
  readonly #onSeen: Observer['onSeen'];
  readonly #tell: Observer['tell'];
  /** When the last message of each connection arrives: none overtakes another on it. */
  readonly #lastArrival = new Map<string, number>();

  constructor(time: VirtualTime, random: Random, deliver: Deliver, { onSeen, tell }: Observer) {
    this.#time = time;
    this.#random = random;
    this.#deliver = deliver;
    this.#onSeen = onSeen;
    this.#tell = tell;
    this.#temper = this.#pick(TEMPERS);
    this.#isStrict = random.next() < 0.5;
    this.wantsCompletion = random.next() < 0.3;
  }

  chance(share: number): boolean {
    return !this.isCalm && this.#random.next() < share;
  }

  /** A message was written: it arrives, late or never or twice. */
  send(request: SentRequest): void {
    this.requests.push(request);
    const longestMs = request.kind === 'completion' ? LONGEST_TRANSIT_OF_COMPLETION_MS : LONGEST_TRANSIT_MS;
    if (request.kind === 'sale' || request.kind === 'refund')
      this.ledger.expect(request.key, request.transactionId, Number(request.message.amount));
    if (this.chance(0.05)) {
      this.#onSeen('a request lost');
      return;
    }
    const transitMs = this.chance(0.1) ? this.#random.next() * longestMs : 5 + this.#random.next() * 40;
    const atMs = Math.max(this.#time.nowMs + transitMs, this.#lastArrival.get(request.connectionId) ?? 0);
    if (atMs > request.writtenAtMs + longestMs) return;
    this.#lastArrival.set(request.connectionId, atMs);
    this.#time.at(atMs, () => this.#receive(request));
    // A duplicated completion could arrive after the void that waited for the first: no gateway can wait for that.
    if (request.kind === 'completion' || !this.chance(0.05)) return;
    this.#onSeen('a request doubled');
    const againMs = Math.min(atMs + this.#random.next() * 20_000, request.writtenAtMs + longestMs);
    this.#time.at(againMs, () => this.#receive(request));
  }

  #receive(request: SentRequest): void {
    const before = this.ledger.stateOf(request.key);
    const works = !this.chance(this.#temper.idle);
    if (works) this.#workOn(request);
    this.#tell(`${nameOf(request)} has come, ${request.key} is ${this.ledger.stateOf(request.key)}`);
    if (this.chance(0.1)) {
      this.#onSeen('a response lost');
      return;
    }
    const truth = works ? this.#truthAbout(request, before) : this.#excuseFor(request);
    this.#sayLater(request, this.chance(this.#temper.wild) ? this.#anything(request) : truth, this.#latencyMs());
    while (this.chance(this.#temper.late)) {
      this.#onSeen('a response doubled');
      const response = this.chance(0.5) ? truth : this.#anything(request);
      this.#sayLater(request, response, this.#random.next() * LATEST_ECHO_MS);
    }
  }

  #workOn(request: SentRequest): void {
    request.isTaken = true;
    if (request.kind === 'reversal') this.ledger.reverse(request.key);
    else if (request.kind === 'completion') this.ledger.complete(request.key);
    else if (this.#random.next() < (request.message.pinBlock === undefined ? 0.7 : 0.4)) this.#book(request);
  }

  #book(request: SentRequest): void {
    const amountMinor = Number(request.message.amount);
    const isPartial = request.kind === 'sale' && this.chance(0.05);
    this.ledger.book(request.key, isPartial ? amountMinor / 2 : amountMinor);
  }

  /** The truth about a processed request. */
  #truthAbout({ kind, key, message }: SentRequest, before: string): CodedResponse {
    if (kind === 'completion') return { code: '00' };
    if (kind !== 'reversal') {
      const { state, amountMinor, bookedMinor } = this.ledger.bookings.get(key)!;
      if (state === 'booked')
        return bookedMinor === amountMinor ? { code: '00' } : { code: '10', amountMinor: bookedMinor };
      // A wrong PIN is wrong again, often enough to use up the attempts.
      if (message.pinBlock !== undefined && this.#random.next() < 0.7) return { code: this.#pick(['55', '55', '75']) };
      return { code: this.#pick(kind === 'sale' ? ['51', '57', '55', '91', '94'] : ['51', '57', '91']) };
    }
    if (before === 'unknown') return { code: this.#pick(['25', '21']) };
    if (before === 'booked') return { code: '00' };
    return { code: this.isCalm && !this.#isStrict ? '00' : this.#pick(['00', '57', '94', '12']) };
  }

  #excuseFor({ kind }: SentRequest): CodedResponse {
    return {
      code: this.#pick(
        kind === 'reversal' || kind === 'completion' ? ['57', '12', '06', '91', '96'] : ['91', '96', '51', '06'],
      ),
    };
  }

  #anything({ kind, message }: SentRequest): CodedResponse {
    const isForMoney = kind === 'sale' || kind === 'refund';
    if (isForMoney && this.chance(0.1)) return { code: this.#pick(REVERSAL_CODES), flaw: this.#pick(REVERSAL_FORMS) };
    const code = this.#pick(isForMoney ? REQUEST_CODES : REVERSAL_CODES);
    if (this.chance(0.15)) return { code, flaw: this.#pick(ORDINARY_FLAWS) };
    const isPartial = isForMoney && this.chance(0.1);
    return isPartial ? { code: '10', amountMinor: Math.ceil(Number(message.amount) / 2) } : { code };
  }

  #sayLater(request: SentRequest, response: CodedResponse, afterMs: number): void {
    this.#time.after(afterMs, () => {
      // Until a process has received it.
      const about = (isAmbiguous(response) && this.#reversalBehind(request)) || request;
      const statement = { ...statementOf(about, response, this.ledger, this.#time.nowMs), isUnheard: true };
      this.statements.push(statement);
      const how = response.flaw ? ` with ${response.flaw}` : '';
      this.#tell(`${nameOf(request)}, ${statement.stateThen}, is got ${response.code}${how} (${statement.meaning})`);
      this.#onSeen(`${statement.about} got ${response.flaw ?? (response.code || 'without a code')}`);
      this.#deliver(request, response, statement);
    });
  }

  /** The reversal of a request that may receive a response on its connection now. */
  #reversalBehind({ key, connectionId }: SentRequest): SentRequest | undefined {
    return this.requests.findLast(
      (sent) =>
        sent.kind === 'reversal' &&
        sent.key === key &&
        sent.connectionId === connectionId &&
        this.#time.nowMs < sent.writtenAtMs + DEADLINE_MS,
    );
  }

  /** Also close to the deadline of five seconds and its grace. */
  #latencyMs(): number {
    return this.chance(0.2) ? this.#random.next() * 12_000 : 10 + this.#random.next() * 100;
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random.next() * choices.length)]!;
  }
}
