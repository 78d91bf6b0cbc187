import type { IsoMessage, Processor } from '../processor-kit/processor.ts';
import type { Clock, PurchaseAnswer, SendTiming } from '../transactions/ports.ts';
import type { Exchange, MessageKeeper } from './ports.ts';

/** A request on its way to a slot, and what people will find it by. */
export interface Outgoing extends Pick<Exchange, 'about' | 'kind' | 'number'> {
  readonly message: IsoMessage;
  readonly timing: SendTiming;
}

export interface RecordParts {
  readonly processorId: number;
  readonly processor: Pick<Processor, 'spec'>;
  readonly messages: MessageKeeper;
  readonly clock: Clock;
}

/** What came of a request: `response` and what it was read as, where there was one. */
interface ExchangeEnd {
  readonly outcome: string;
  readonly connectionId: string;
  readonly response?: IsoMessage;
  readonly value?: unknown;
}

/** Begins the record of an exchange. @returns what hands it to those who keep messages, once its end is known */
export function recordExchange(parts: RecordParts, outgoing: Outgoing): (end: ExchangeEnd) => void {
  const { processorId, processor, messages, clock } = parts;
  const { about, kind, number, message: request } = outgoing;
  const sentAtMs = clock.nowMs();
  return ({ outcome, connectionId, response, value }) => {
    const tookMs = Math.max(0, Math.round(clock.nowMs() - sentAtMs));
    const isRoutine = isApproval(value);
    const where = { processorId, connectionId, spec: processor.spec };
    messages.keep({ about, kind, number, ...where, sentAtMs, tookMs, outcome, isRoutine, request, response });
  };
}

function isApproval(value: unknown): boolean {
  return typeof value === 'object' && (value as Partial<PurchaseAnswer> | null)?.outcome?.kind === 'approved';
}
