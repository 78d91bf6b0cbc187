import type { IsoMessage } from '../../kits/processor-kit/iso-message.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { BusinessDates, ProcessorKey } from './ports.ts';
import type { StandardFields } from './standard-fields.ts';

/**
 * A switch informs each of its connections at once. This many messages may have their MAC checked; further ones are
 * not a cut-over.
 */
const MOST_JUDGED = 64;

export interface SettlementWatchParts extends ProcessorKey {
  readonly processor: Processor;
  readonly dates: Pick<BusinessDates, 'announce'>;
  readonly fieldsOf: (message: IsoMessage) => StandardFields;
  /** Whether the MAC is valid, also with keys that have just arrived. */
  readonly isTrusted: (message: IsoMessage) => Promise<boolean>;
}

/** Reads a switch's business date from the settlement date of its responses (DE15) and from its cut-over messages. */
export class SettlementWatch {
  readonly #parts: SettlementWatchParts;
  /** The last date in a response: nearly all responses of a day name the same. */
  #lastDate: string | undefined;
  #judged = 0;

  constructor(parts: SettlementWatchParts) {
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
    if (this.#judged >= MOST_JUDGED || processor.readRequest(request).network !== 'cutOver') return;
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
