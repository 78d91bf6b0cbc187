import { HsmUnavailable } from '../../basics/errors.ts';
import { within } from '../../basics/limits/waits.ts';
import { type IsoMessage, isResponseTo, messageClass } from '../../kits/processor-kit/iso-message.ts';
import { isTrusted } from '../../kits/processor-kit/mac-verdict.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { UnmatchedResponse } from '../../payments/reversals/late-response.ts';
import type { ReportFault } from './key-faults.ts';
import type { ProcessorKey } from './ports.ts';
import type { RecentApprovals } from './recent-approvals.ts';
import type { StandardFields } from './standard-fields.ts';
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

export interface UnmatchedIntakeParts extends ProcessorKey {
  readonly processor: Processor;
  readonly unmatchedResponses: Pick<UnmatchedResponses, 'take'>;
  readonly fieldsOf: (message: IsoMessage) => StandardFields;
  readonly approvals: Pick<RecentApprovals, 'find'>;
  /** Checks the MAC with the current keys and records the result. */
  readonly judge: (response: IsoMessage, connectionId: string) => Promise<void>;
  /** Time until every request that is in flight now will have been decided. */
  readonly decidedAfterMs: number;
  readonly reportFault: ReportFault;
}

interface Received {
  readonly response: IsoMessage;
  readonly connectionId: string;
}

/** The unmatched responses of one switch. Those about money or reversals are looked up in the database. */
export class UnmatchedIntake {
  readonly counters = new UnmatchedCounters();
  readonly #parts: UnmatchedIntakeParts;
  readonly #waiting: Received[] = [];
  readonly #checks = new Map<Received, Promise<void>>();
  #isClosed = false;

  constructor(parts: UnmatchedIntakeParts) {
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
