import { HsmUnavailable } from '../../basics/errors.ts';
import { within } from '../../basics/limits/waits.ts';
import { type IsoMessage, isResponseTo, messageClass } from '../../kits/processor-kit/iso-fields.ts';
import { isTrusted, judgeMac, type MacVerdict, macVerdictOf } from '../../kits/processor-kit/mac-layout.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { UnmatchedResponse } from '../../payments/reversals/late-responses.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { KeyExchange } from './key-exchange.ts';
import type { ReportFault } from './key-requests.ts';
import type { BusinessDates, ProcessorKey } from './ports.ts';
import type { RecentApprovals, StandardFields } from './standard-fields.ts';
import { UnmatchedCounters, type UnmatchedResponses } from './unmatched-responses.ts';

/** Authorizations and financial requests: messages that can be approved late. */
const MONEY_CLASSES: readonly string[] = ['1', '2'];
const REVERSAL_CLASS = '4';
/**
 * Checks at once. A switch that hung for a deadline responds to everything in one moment; the taps of that moment need
 * the HSM, too.
 */
const MAX_CHECKED = 64;
/**
 * Limit of responses that wait for their check. Further ones are looked up without a check: a late approval re-arms a
 * reversal also if it is not trusted.
 */
const MAX_WAITING = 4_096;
/** Limit of the wait for checks when the switch is closed: longer than one call of the HSM. */
const LAST_CHECKS_MS = 4_000;

interface Received {
  readonly response: IsoMessage;
  readonly connectionId: string;
}

/** The unmatched responses of one switch. Those about money or reversals are looked up in the database. */
export class UnmatchedIntake {
  readonly counters = new UnmatchedCounters();
  readonly #parts;
  readonly #waiting: Received[] = [];
  readonly #checks = new Map<Received, Promise<void>>();
  #isClosed = false;

  constructor(
    parts: ProcessorKey & {
      readonly processor: Processor;
      readonly unmatchedResponses: Pick<UnmatchedResponses, 'take'>;
      readonly fieldsOf: (message: IsoMessage) => StandardFields;
      readonly approvals: Pick<RecentApprovals, 'find'>;
      /** Checks the MAC with the current keys and records the result. */
      readonly judge: (response: IsoMessage, connectionId: string) => Promise<void>;
      /** Time until every request that is in flight now will have been decided. */
      readonly decidedAfterMs: number;
      readonly reportFault: ReportFault;
    },
  ) {
    this.#parts = parts;
  }

  take(response: IsoMessage, connectionId: string): void {
    const received = { response, connectionId };
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) this.#lookUp([received]);
    else this.#waiting.push(received);
    this.#checkNext();
  }

  /** Looks up everything that was taken. Checks in progress have a moment; what still waits for one gets none. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#lookUp(this.#waiting.splice(0));
    await within(LAST_CHECKS_MS, Promise.all(this.#checks.values())).catch(() => {});
    this.#lookUp([...this.#checks.keys()]);
    this.#checks.clear();
  }

  #checkNext(): void {
    while (this.#checks.size < MAX_CHECKED) {
      const received = this.#waiting.shift();
      if (!received) return;
      this.#checks.set(received, this.#check(received));
    }
  }

  async #check(received: Received): Promise<void> {
    const { response, connectionId } = received;
    try {
      await this.#parts.judge(response, connectionId);
    } catch (error) {
      this.#parts.reportFault(error, connectionId);
      // An HSM that does not respond must not hide late approvals, neither this one nor those that wait behind it.
      if (error instanceof HsmUnavailable) this.#lookUp(this.#waiting.splice(0));
    }
    if (this.#checks.delete(received)) this.#lookUp([received]);
    this.#checkNext();
  }

  #lookUp(all: readonly Received[]): void {
    const { unmatchedResponses, decidedAfterMs, reportFault } = this.#parts;
    for (const { response, connectionId } of all) {
      try {
        const unmatched = this.#unmatchedOf(response);
        if (unmatched) unmatchedResponses.take(unmatched, this.counters, decidedAfterMs);
        else this.counters.unknown++;
      } catch (error) {
        reportFault(error, connectionId);
      }
    }
  }

  /**
   * Undefined if the response names neither a request about money nor a reversal, or is not trusted for a reversal.
   */
  #unmatchedOf(response: IsoMessage): UnmatchedResponse | undefined {
    const { acquirerId, processorId, processor, fieldsOf, approvals } = this.#parts;
    const { stan, tid, rrn, transmissionDateTime } = fieldsOf(response);
    if (stan === undefined || tid === undefined) return undefined;
    const identity = { acquirerId, processorId, stan, tid, rrn, transmissionDateTime };
    if (messageClass(response) === REVERSAL_CLASS) {
      // An untrusted response means nothing, not even a refusal.
      return isTrusted(response) ? { ...identity, response: processor.readReversalResponse(response) } : undefined;
    }
    if (!MONEY_CLASSES.includes(messageClass(response))) return undefined;
    return {
      ...identity,
      // Each look-up asks again: both responses may arrive in one read, and this one may be taken before the other is noted.
      get approved() {
        return approvals.find(identity);
      },
      read: (original) => {
        const { mti = '' } = original;
        const request: IsoMessage = { ...original, mti };
        return mti === '' || isResponseTo(response, request) ? processor.readOutcome(response, request) : undefined;
      },
    };
  }
}

/** One bad MAC is a damaged message. After three consecutive ones, the two sides no longer have the same key. */
const BAD_IN_A_ROW = 3;

/** Counts bad MACs per connection, and signs a connection on again if they continue. */
export class MacWatch {
  readonly #signOnAgain: (connectionId: string) => void;
  readonly #inARow = new Map<string, number>();
  #bad = 0;

  constructor(signOnAgain: (connectionId: string) => void) {
    this.#signOnAgain = signOnAgain;
  }

  /** Number of bad MACs. */
  get bad(): number {
    return this.#bad;
  }

  /** @param verdict undefined on a connection without MACs */
  note(connectionId: string, verdict: MacVerdict | undefined): void {
    if (verdict === undefined) return;
    if (verdict === 'good') {
      this.#inARow.delete(connectionId);
      return;
    }
    this.#bad++;
    const inARow = (this.#inARow.get(connectionId) ?? 0) + 1;
    this.#inARow.set(connectionId, inARow % BAD_IN_A_ROW);
    if (inARow === BAD_IN_A_ROW) this.#signOnAgain(connectionId);
  }

  forget(connectionId: string): void {
    this.#inARow.delete(connectionId);
  }
}

/**
 * A switch informs each of its connections at once. This many messages may have their MAC checked; further ones are
 * not a cut-over.
 */
const MAX_JUDGED = 64;

/** Reads a switch's business date from the settlement date of its responses (DE15) and from its cut-over messages. */
export class SettlementWatch {
  readonly #parts;
  /** The last date in a response: nearly all responses of a day name the same. */
  #lastDate: string | undefined;
  #judged = 0;

  constructor(
    parts: ProcessorKey & {
      readonly processor: Processor;
      readonly dates: Pick<BusinessDates, 'announce'>;
      readonly fieldsOf: (message: IsoMessage) => StandardFields;
      /** Whether the MAC is valid, also with keys that have just arrived. */
      readonly isTrusted: (message: IsoMessage) => Promise<boolean>;
    },
  ) {
    this.#parts = parts;
  }

  /** @param response with a valid MAC */
  noteResponse(response: IsoMessage): void {
    const { settlementDate } = this.#parts.fieldsOf(response);
    if (settlementDate === undefined || settlementDate === this.#lastDate) return;
    this.#lastDate = settlementDate;
    this.#announce(settlementDate);
  }

  /** @param request that the switch sent on its own initiative */
  async noteRequest(request: IsoMessage): Promise<void> {
    const { processor, isTrusted, fieldsOf } = this.#parts;
    if (this.#judged >= MAX_JUDGED || processor.readRequest(request).network !== 'cutOver') return;
    this.#judged++;
    try {
      if (await isTrusted(request)) this.#announce(fieldsOf(request).settlementDate);
    } finally {
      this.#judged--;
    }
  }

  #announce(settlementDate: string | undefined): void {
    const { acquirerId, processorId, dates } = this.#parts;
    dates.announce({ acquirerId, processorId }, settlementDate);
  }
}

/**
 * A phone waits for this response. One check can need several calls of the HSM, one for each key, and key announcements that
 * are being imported. The limit leaves a second of `RESPONSE_SLACK_SECONDS` for the commit.
 */
const CHECKED_WITHIN_MS = 4_000;

/**
 * What the messages of one switch report besides outcomes: whether the keys still match, the switch's business date,
 * and late responses. No request waits for any of it.
 */
export class ReceivedMessages {
  readonly #parts;
  readonly #macs: MacWatch;
  readonly #settlement: SettlementWatch;
  readonly #unmatched: UnmatchedIntake;

  constructor(
    parts: AcquirerSwitchOptions & {
      readonly keys: KeyExchange | undefined;
      readonly fieldsOf: (message: IsoMessage) => StandardFields;
      readonly approvals: RecentApprovals;
      /** Time until every request that is in flight now will have been decided. */
      readonly decidedAfterMs: number;
      readonly signOnAgain: (connectionId: string) => void;
      readonly reportFault: ReportFault;
    },
  ) {
    this.#parts = parts;
    this.#macs = new MacWatch((connectionId) => {
      parts.keys?.distrust();
      parts.signOnAgain(connectionId);
    });
    this.#settlement = new SettlementWatch({ ...parts, isTrusted: (message) => this.#isTrustedNow(message) });
    this.#unmatched = new UnmatchedIntake({
      ...parts,
      judge: (response, connectionId) => this.#judge(response, connectionId),
    });
  }

  /** Only increases. */
  get badMacs(): number {
    return this.#macs.bad;
  }

  get unmatchedCounters(): Readonly<UnmatchedCounters> {
    return { ...this.#unmatched.counters };
  }

  /** A response to a request in flight. Rejects if its MAC is not checked in time: it then decides nothing. */
  async noteResponse(response: IsoMessage, connectionId: string): Promise<void> {
    const judged = this.#judge(response, connectionId);
    await (this.#parts.config.macKeys === undefined ? judged : within(CHECKED_WITHIN_MS, judged));
    if (isTrusted(response)) this.#settlement.noteResponse(response);
  }

  /** A response to no request in flight. */
  takeUnmatched(response: IsoMessage, connectionId: string): void {
    this.#unmatched.take(response, connectionId);
  }

  /** A request that the switch sent on its own initiative. */
  noteRequest(request: IsoMessage): void {
    this.#settlement.noteRequest(request).catch(this.#parts.reportFault);
  }

  /** Resolves when late responses whose MAC was being checked are on their way to the database. */
  close(): Promise<void> {
    return this.#unmatched.close();
  }

  forget(connectionId: string): void {
    this.#macs.forget(connectionId);
  }

  async #judge(response: IsoMessage, connectionId: string): Promise<void> {
    await this.#isTrustedNow(response);
    if (this.#parts.config.macKeys !== undefined) this.#macs.note(connectionId, macVerdictOf(response));
  }

  /** Also checks keys that arrived after the message was read. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    const { keys } = this.#parts;
    if (keys) return keys.isTrusted(message);
    await judgeMac(message);
    return isTrusted(message);
  }
}
