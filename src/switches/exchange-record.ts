import type { IsoMessage } from '../processor-kit/iso-message.ts';
import type { Clock } from '../transactions/ports/process-ports.ts';
import type { PurchaseAnswer, SendTiming } from '../transactions/ports/switch-ports.ts';
import type { MaskedCopies } from './masked-copies.ts';
import type { Exchange, MessageKeeper } from './ports.ts';

/** A request on its way to a slot, and what people will find it by. */
export interface Outgoing extends Pick<Exchange, 'about' | 'kind' | 'number'> {
  readonly message: IsoMessage;
  readonly timing: SendTiming;
}

export interface RecordParts {
  readonly processorId: number;
  readonly copies: Pick<MaskedCopies, 'of'>;
  readonly messages: MessageKeeper;
  readonly clock: Clock;
}

/** What came of a request: the response, or the error that its bytes were refused with, and what it was read as. */
interface ExchangeEnd {
  readonly outcome: string;
  readonly connectionId: string;
  readonly came?: unknown;
  readonly value?: unknown;
}

/** Begins the record of an exchange. @returns what hands it to those who keep messages, once its end is known */
export function recordExchange(parts: RecordParts, outgoing: Outgoing): (end: ExchangeEnd) => void {
  const { processorId, copies, messages, clock } = parts;
  const { about, kind, number, message } = outgoing;
  const sentAtMs = clock.nowMs();
  return ({ outcome, connectionId, came, value }) => {
    if (!messages.isKeeping) return;
    const tookMs = Math.max(0, Math.round(clock.nowMs() - sentAtMs));
    const said = { request: copies.of(message), response: copies.of(came) };
    const isRoutine = isApproval(value);
    messages.keep({ about, kind, number, processorId, connectionId, sentAtMs, tookMs, outcome, isRoutine, ...said });
  };
}

function isApproval(value: unknown): boolean {
  return typeof value === 'object' && (value as Partial<PurchaseAnswer> | null)?.outcome?.kind === 'approved';
}
