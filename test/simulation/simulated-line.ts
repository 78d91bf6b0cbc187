import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { PinData } from '../../src/kits/processor-kit/processor.ts';
import type { TransactionKey } from '../../src/payments/model/transaction.ts';
import type {
  SendTiming,
  Switch,
  SwitchResponse,
  SwitchSlot,
  TakenStan,
} from '../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../src/payments/use-cases.ts';
import { PROFILE } from './simulated-tenant.ts';
import {
  completionMessage,
  type DialectRequest,
  isCompletionTaken,
  prepareRefund,
  prepareSale,
  readOutcome,
  readReversalResponse,
  reversalMessage,
  unmatchedOf,
} from './switch/dialect.ts';
import { type CodedResponse, isReversalForm, responseTo } from './switch/responses.ts';
import type { SentRequest } from './switch/sent-request.ts';
import { hear, type Statement } from './switch/statements.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { WildSwitch } from './wild-switch.ts';

/** Repeats as in src/switching/switches/unmatched-responses.ts: soon, and after every possible request is decided. */
const STRAYS_AGAIN_MS = [1_000, PROFILE.deadlineMs + 2_100 + 2_000];
const PIN = { block: new Uint8Array(8) } as PinData;

export interface LineParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly switches: WildSwitch;
  /** Dependencies that mark the statement as heard when they store it. */
  readonly worldHearing: (statement: Statement) => TransactionDependencies;
  readonly isAlive: () => boolean;
  readonly nextStan: () => Promise<TakenStan>;
  /** An effect begins or ends: the process may die here, or freeze for a while. */
  readonly moment: () => Promise<void>;
}

interface Outgoing {
  readonly kind: SentRequest['kind'];
  readonly message: IsoMessage;
  readonly about: TransactionKey;
  readonly reversalAttempt: number;
  readonly connectionId: string;
  readonly hears: Hears;
}

type Hears = (statement: Statement) => void;

/** Whether a purchase received a response does not matter while its outcome is not stored: then it is reversed. */
const hearAtOnce: Hears = (statement) => {
  statement.isUnheard = false;
};

/**
 * The connections of one process to the switch: one at a time, which may be closed, and the requests that wait on them.
 */
export class SimulatedLine {
  readonly #parts: LineParts;
  readonly #waiting = new Map<SentRequest, (response: IsoMessage | undefined, statement: Statement) => void>();
  #connection = 1;

  constructor(parts: LineParts) {
    this.#parts = parts;
  }

  get connectionId(): string {
    return `${this.#parts.name}.${this.#connection}`;
  }

  /** A response arrives at this process: for the request that waits for it, or as an unmatched one. */
  take(request: SentRequest, response: CodedResponse, statement: Statement): void {
    if (!this.#parts.isAlive()) return;
    const message = responseTo(request.message, response);
    const responded = this.#requestOfResponse(request, response, message);
    const end = responded && this.#waiting.get(responded);
    // An unreadable message has no known request, unless it names one that waits.
    if (end) end(message, statement);
    // A statement that only the waiting reversal could have heard is not heard by a lookup of others.
    else if (message) this.#lookUp(message, responded === request ? statement : { ...statement }, STRAYS_AGAIN_MS);
  }

  /**
   * A response is matched with its request by the class of its MTI, STAN, terminal and DE7; without DE7, on one
   * connection.
   */
  #requestOfResponse(
    request: SentRequest,
    { flaw }: CodedResponse,
    message: IsoMessage | undefined,
  ): SentRequest | undefined {
    if (flaw === 'other terminal') return undefined;
    if (!message || !isReversalForm(flaw)) return request;
    const { stan, tid, transmissionDateTime: sent } = message;
    return [...this.#waiting.keys()].find((waiting) => {
      const { kind, message: asked, connectionId } = waiting;
      const isNamed = kind === 'reversal' && asked.stan === stan && asked.tid === tid;
      return (
        isNamed && (sent === undefined ? connectionId === request.connectionId : asked.transmissionDateTime === sent)
      );
    });
  }

  /** @param hears called for each response to requests that are sent through it */
  asSwitch(hears: Hears = hearAtOnce): Switch {
    const { switches, moment } = this.#parts;
    return {
      type: 'type-1',
      profile: PROFILE,
      isSignedOn: true,
      isFull: false,
      takesPin: true,
      takesMandates: false,
      nextStan: () => this.#parts.nextStan(),
      takeSlot: async (connectionId?: string) => {
        await moment();
        if (switches.chance(0.03)) this.#connection++; // the connection was closed and replaced
        if (switches.chance(0.05)) return undefined;
        return connectionId === undefined || connectionId === this.connectionId ? this.#slot(hears) : undefined;
      },
      hasConnection: (connectionId) => connectionId === this.connectionId,
      prepare: (purchase) => ({ ...prepareSale(purchase), wantsCompletion: switches.wantsCompletion }),
      prepareRefund,
      translatePin: async () => PIN,
      providerId: () => ({}),
    } satisfies Partial<Switch> as Partial<Switch> as Switch;
  }

  /** Of the current connection, and of no other. */
  #slot(hears: Hears): SwitchSlot {
    const { connectionId } = this;
    return {
      authorize: (request, timing, about) => {
        const { message, kind } = request as DialectRequest;
        const outgoing = { kind, message, about, reversalAttempt: 0, connectionId, hears };
        return this.#ask(outgoing, timing, (response) => ({
          outcome: readOutcome(response, message),
          providerFields: {},
        }));
      },
      reverse: (reversal, timing, about) => {
        const sent = { kind: 'reversal', about, reversalAttempt: reversal.attempt, connectionId, hears } as const;
        return this.#ask({ ...sent, message: reversalMessage(reversal) }, timing, readReversalResponse);
      },
      complete: (completion, timing, about) => {
        const sent = { kind: 'completion', about, reversalAttempt: 0, connectionId, hears } as const;
        return this.#ask({ ...sent, message: completionMessage(completion) }, timing, isCompletionTaken);
      },
      release: () => {},
    };
  }

  /** Writes a message; its response counts until the deadline. A later one is unmatched. */
  async #ask<Value>(
    outgoing: Outgoing,
    { deadlineAtMs, sendByAtMs }: SendTiming,
    read: (response: IsoMessage) => Value | undefined,
  ): Promise<SwitchResponse<Value>> {
    const { time, switches, moment } = this.#parts;
    const { connectionId } = outgoing;
    await moment();
    const isCut = connectionId !== this.connectionId;
    if (isCut || time.nowMs > sendByAtMs || switches.chance(0.03))
      return { connectionId, kind: 'failed', written: false, reason: 'down' };
    const responded = this.#write(outgoing, deadlineAtMs, read);
    await moment(); // the bytes were sent
    const response = await responded;
    await moment(); // the response has arrived
    return response;
  }

  #write<Value>(
    { message, kind, about, reversalAttempt, connectionId, hears }: Outgoing,
    deadlineAtMs: number,
    read: (response: IsoMessage) => Value | undefined,
  ): Promise<SwitchResponse<Value>> {
    const { time, switches, name } = this.#parts;
    const request: SentRequest = {
      number: switches.requests.length + 1,
      kind,
      key: String(message.rrn),
      transactionId: about.id,
      reversalAttempt,
      message,
      processName: name,
      connectionId,
      writtenAtMs: time.nowMs,
      isTaken: false,
    };
    return new Promise((resolve) => {
      const end = (response: SwitchResponse<Value>) => {
        this.#waiting.delete(request);
        resolve(response);
      };
      this.#waiting.set(request, (response, statement) => {
        hears(statement);
        const value = response && read(response);
        end(value === undefined ? { connectionId, kind: 'garbled' } : { connectionId, kind: 'responded', value });
      });
      time.at(deadlineAtMs, () => end({ connectionId, kind: 'failed', written: true, reason: 'deadline' }));
      switches.send(request);
    });
  }

  #lookUp(response: IsoMessage, statement: Statement, againMs: readonly number[]): void {
    const [nextMs, ...laterMs] = againMs;
    const { time, worldHearing, isAlive } = this.#parts;
    const unmatched = unmatchedOf(response);
    if (!isAlive() || !unmatched) return;
    createUseCases(worldHearing(statement))
      .lateResponses.recordUnmatched([unmatched])
      .then(
        ([kind]) => {
          if (kind === 'unknown' && nextMs !== undefined)
            time.after(nextMs, () => this.#lookUp(response, statement, laterMs));
          else hear(statement, time.nowMs);
        },
        // The database was unavailable: a failed lookup does not count.
        () => time.after(STRAYS_AGAIN_MS[0]!, () => this.#lookUp(response, statement, againMs)),
      );
  }
}
