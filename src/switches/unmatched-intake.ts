import { answers, type IsoMessage, messageClass } from '../processor-kit/iso-message.ts';
import { isTrusted } from '../processor-kit/mac-verdict.ts';
import type { Processor } from '../processor-kit/processor.ts';
import type { UnmatchedResponse } from '../transactions/reversal/late-response.ts';
import type { ReportFault } from './fault-log.ts';
import type { ProcessorKey } from './ports.ts';
import type { StandardFields } from './standard-fields.ts';
import { UnmatchedCounters, type UnmatchedResponses } from './unmatched-responses.ts';

/** Authorizations and financial requests: messages that can be approved late. */
const MONEY_CLASSES: readonly string[] = ['1', '2'];
const REVERSAL_CLASS = '4';
/**
 * Limit of responses whose MAC is being checked. The check reads the database if keys are exchanged, so a switch
 * could fill the memory with bad responses while the database is unavailable. Responses above the limit are counted
 * and dropped.
 */
const MOST_JUDGED = 4_096;

export interface UnmatchedIntakeParts extends ProcessorKey {
  readonly processor: Processor;
  readonly unmatchedResponses: Pick<UnmatchedResponses, 'take'>;
  readonly fieldsOf: (message: IsoMessage) => StandardFields;
  /** Checks the MAC with the current keys and records the result. */
  readonly judge: (response: IsoMessage, connectionId: string) => Promise<void>;
  /** By then every request that is in flight now will have been decided. */
  readonly decidedAfterMs: number;
  readonly reportFault: ReportFault;
}

/** The unmatched responses of one switch. Those about money or reversals are looked up in the database. */
export class UnmatchedIntake {
  readonly counters = new UnmatchedCounters();
  readonly #parts: UnmatchedIntakeParts;
  #judged = 0;

  constructor(parts: UnmatchedIntakeParts) {
    this.#parts = parts;
  }

  take(response: IsoMessage, connectionId: string): void {
    if (this.#judged >= MOST_JUDGED) {
      this.counters.dropped++;
      return;
    }
    this.#judged++;
    this.#parts
      .judge(response, connectionId)
      // An HSM that does not respond must not hide a late approval, which re-arms a reversal also if it is not trusted.
      .catch((error: unknown) => this.#parts.reportFault(error, connectionId))
      .then(() => this.#lookUp(response))
      .catch((error: unknown) => this.#parts.reportFault(error, connectionId))
      .finally(() => {
        this.#judged--;
      });
  }

  #lookUp(response: IsoMessage): void {
    const { unmatchedResponses, decidedAfterMs } = this.#parts;
    const unmatched = this.#unmatchedOf(response);
    if (unmatched) unmatchedResponses.take(unmatched, this.counters, decidedAfterMs);
    else this.counters.unknown++;
  }

  /**
   * Undefined if the response names neither a request about money nor a reversal, or is not trusted for a reversal.
   */
  #unmatchedOf(response: IsoMessage): UnmatchedResponse | undefined {
    const { acquirerId, processorId, processor, fieldsOf } = this.#parts;
    const { stan, tid, rrn, transmissionDateTime } = fieldsOf(response);
    if (stan === undefined || tid === undefined) return undefined;
    const identity = { acquirerId, processorId, stan, tid, rrn, transmissionDateTime };
    if (messageClass(response) === REVERSAL_CLASS) {
      // An untrusted response means nothing, not even a refusal.
      return isTrusted(response) ? { ...identity, answer: processor.readReversalAnswer(response) } : undefined;
    }
    if (!MONEY_CLASSES.includes(messageClass(response))) return undefined;
    return {
      ...identity,
      read: (original) => {
        const { mti = '' } = original;
        const request: IsoMessage = { ...original, mti };
        return mti === '' || answers(response, request) ? processor.readOutcome(response, request) : undefined;
      },
    };
  }
}
