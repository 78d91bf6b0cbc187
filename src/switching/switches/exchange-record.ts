import type { IsoMessage } from '../../kits/processor-kit/iso-message.ts';
import type { Clock } from '../../payments/ports/process-ports.ts';
import type { PurchaseAnswer, SendTiming } from '../../payments/ports/switch-ports.ts';
import type { MaskedCopies } from './masked-copies.ts';
import type { Exchange, MessageKeeper } from './ports.ts';

/** A request on its way to a slot, with the data by which people find it. */
export interface Outgoing extends Pick<Exchange, 'about' | 'kind' | 'number'> {
  readonly message: IsoMessage;
  readonly timing: SendTiming;
  /** The message is not written until what it returns has resolved; undefined if no wait is needed. */
  readonly gate?: (() => Promise<void> | undefined) | undefined;
  /** Asked right before the message is written; undefined if nothing can change meanwhile. */
  readonly mayBeSent?: (() => boolean) | undefined;
}

export interface RecordParts {
  readonly processorId: number;
  readonly copies: Pick<MaskedCopies, 'of'>;
  readonly messages: MessageKeeper;
  readonly clock: Clock;
}

/** Result of a request: the response, or the error with which its bytes were refused, and how it was read. */
interface ExchangeEnd {
  readonly outcome: string;
  readonly connectionId: string;
  readonly came?: unknown;
  readonly value?: unknown;
}

/**
 * Starts the record of an exchange. @returns a function that passes it to the message keeper when its end is known
 */
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
