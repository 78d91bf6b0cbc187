import type { IsoMessage } from '../processor-kit/iso-message.ts';
import type { Processor } from '../processor-kit/processor.ts';
import type { BusinessDates, ProcessorKey } from './ports.ts';
import type { StandardFields } from './standard-fields.ts';

/** A switch tells each of its lines, at once: so many may have their MAC judged, and what is beyond is not a cut-over. */
const MOST_JUDGED = 64;

export interface SettlementWatchParts extends ProcessorKey {
  readonly processor: Processor;
  readonly dates: Pick<BusinessDates, 'announce'>;
  readonly fieldsOf: (message: IsoMessage) => StandardFields;
  /** Whether the MAC is good, also by keys that have just come. */
  readonly isTrusted: (message: IsoMessage) => Promise<boolean>;
}

/** Hears of a switch's business date: in the settlement date of its answers (DE15), and when it says that it cuts over. */
export class SettlementWatch {
  readonly #parts: SettlementWatchParts;
  /** The last one that an answer named: nearly all of a day name the same. */
  #lastDate: string | undefined;
  #judged = 0;

  constructor(parts: SettlementWatchParts) {
    this.#parts = parts;
  }

  /** @param response whose MAC is good */
  noteResponse(response: IsoMessage): void {
    const { settlementDate } = this.#parts.fieldsOf(response);
    if (settlementDate === undefined || settlementDate === this.#lastDate) return;
    this.#lastDate = settlementDate;
    this.#announce(settlementDate);
  }

  /** @param request that the switch sent by itself */
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
