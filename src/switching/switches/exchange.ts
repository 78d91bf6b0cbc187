import { Iso8583Error } from '../../basics/errors.ts';
import { type Masker, maskerOf } from '../../codecs/iso8583/masker.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import { type IsoMessage, messageClass } from '../../kits/processor-kit/iso-fields.ts';
import type { ProcessorProtocol } from '../../kits/processor-kit/switch-protocol.ts';
import type { PurchaseResponse, SendTiming, SwitchResponse } from '../../payments/ports/switch-ports.ts';
import type { Clock } from '../../payments/ports/transaction-dependencies.ts';
import type { RequestResult } from '../connection/pending-requests.ts';
import type { Slot } from '../connection/slot.ts';
import type { ReportFault } from './key-requests.ts';
import type { Exchange, MaskedMessage, MessageKeeper } from './ports.ts';

/** A request on its way to a slot, with the data by which people find it. */
export interface Outgoing extends Pick<Exchange, 'about' | 'kind' | 'number'> {
  readonly message: IsoMessage;
  readonly timing: SendTiming;
  /** The message is not written until what it returns has resolved; undefined if no wait is needed. */
  readonly gate?: (() => Promise<void> | undefined) | undefined;
  /** Asked right before the message is written; undefined if nothing can change meanwhile. */
  readonly mayBeSent?: (() => boolean) | undefined;
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
function recordExchange(parts: ExchangeParts, outgoing: Outgoing): (end: ExchangeEnd) => void {
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
  return typeof value === 'object' && (value as Partial<PurchaseResponse> | null)?.outcome?.kind === 'approved';
}

export interface ExchangeParts {
  readonly processorId: number;
  readonly copies: Pick<MaskedCopies, 'of'>;
  readonly messages: MessageKeeper;
  readonly clock: Clock;
  readonly reportFault: ReportFault;
  /** Puts the MAC into the message; undefined if it needs none. */
  readonly seal: ((message: IsoMessage) => Promise<void>) | undefined;
  /** Evaluates the rest of every response before its result is read. */
  readonly note: (response: IsoMessage, connectionId: string) => Promise<void>;
}

/**
 * Sends a request and reads the response.
 *
 * The result states that nothing was written only if the slot reports so. If its processor fails to read a response,
 * the response is garbled: the switch has responded, and may have approved.
 */
export async function exchange<Value>(
  parts: ExchangeParts,
  slot: Slot<IsoMessage>,
  outgoing: Outgoing,
  read: (response: IsoMessage, request: IsoMessage) => Value,
): Promise<SwitchResponse<Value>> {
  const { message, timing } = outgoing;
  const record = recordExchange(parts, outgoing);
  let result: RequestResult<IsoMessage>;
  try {
    await sealOutside(outgoing.gate, () => parts.seal?.(message));
  } catch (error) {
    slot.release();
    parts.reportFault(error, slot.connectionId);
    return { kind: 'failed', written: false, reason: 'MAC_UNAVAILABLE', connectionId: slot.connectionId };
  }
  if (outgoing.mayBeSent?.() === false) {
    slot.release();
    return { kind: 'failed', written: false, reason: 'KEY_RETIRED', connectionId: slot.connectionId };
  }
  try {
    // The deadline counts from now on, too: a message whose MAC took too long is not written.
    result = await slot.request(message, { deadlineAtMs: timing.deadlineAtMs, sendByAtMs: timing.sendByAtMs });
  } catch (error) {
    // A rejection of the slot means that nothing was written: a duplicate key, or a value that does not fit its
    // field.
    const reason = error instanceof Iso8583Error ? 'MESSAGE_INVALID' : 'REFUSED';
    return { kind: 'failed', written: false, reason, connectionId: slot.connectionId };
  }
  const { connectionId } = result;
  if (result.kind === 'failed') {
    const { written, reason } = result;
    record({ outcome: written ? reason : `not sent: ${reason}`, connectionId });
    return { kind: 'failed', written, reason, connectionId };
  }
  const response = result.kind === 'unreadable' ? undefined : result.response;
  const content = response && (await readResponse(parts, response, connectionId, () => read(response, message)));
  if (!response || !content) {
    record({ outcome: 'garbled', connectionId, came: result.kind === 'unreadable' ? result.error : response });
    return { kind: 'garbled', connectionId };
  }
  record({ outcome: 'responded', connectionId, came: response, value: content.value });
  return { kind: 'responded', value: content.value, connectionId };
}

/**
 * Seals a message while no gate is closed. A gate that closes while the HSM computes holds the message as well. The message
 * is then sealed again, because the keys may have changed behind the gate.
 */
async function sealOutside(gate: Outgoing['gate'], seal: () => Promise<void> | undefined): Promise<void> {
  do {
    for (let closed = gate?.(); closed; closed = gate?.()) await closed;
    await seal();
  } while (gate?.());
}

async function readResponse<Value>(
  parts: ExchangeParts,
  response: IsoMessage,
  connectionId: string,
  read: () => Value,
): Promise<{ readonly value: Value } | undefined> {
  try {
    await parts.note(response, connectionId);
    return { value: read() };
  } catch (error) {
    parts.reportFault(error, connectionId);
    return undefined;
  }
}

/** Sign-on, echo and keys do not belong to a transaction, so people do not search for them. */
const NETWORK_MANAGEMENT = '8';

/**
 * What people may see of each message, copied from its bytes when they are sent and received. No other part of a
 * message is held for people, however long it waits to be stored.
 */
export class MaskedCopies {
  readonly #masker: Masker | undefined;
  /** Keyed by the message, or by the error with which its bytes were refused. Removed together with these. */
  readonly #copies = new WeakMap<object, MaskedMessage>();

  /** @param spec spec of the codec; without one nothing can be masked, and only lengths are kept */
  constructor(spec: Spec | undefined) {
    this.#masker = spec && maskerOf(spec);
  }

  /** Wraps the protocol and copies everything that it reads and writes. */
  around(protocol: ProcessorProtocol): ProcessorProtocol {
    return {
      ...protocol,
      encode: (message, target, offset) => {
        const end = protocol.encode(message, target, offset);
        this.#take(message, target, offset, end);
        return end;
      },
      decode: (bytes, start, end) => {
        try {
          const message = protocol.decode(bytes, start, end);
          this.#take(message, bytes, start, end);
          return message;
        } catch (error) {
          if (error instanceof Error) this.#copies.set(error, end - start);
          throw error;
        }
      },
    };
  }

  /** The copy of a message, or of the bytes refused with that error; undefined if it was neither read nor written. */
  of(messageOrError: unknown): MaskedMessage | undefined {
    return typeof messageOrError === 'object' && messageOrError !== null ? this.#copies.get(messageOrError) : undefined;
  }

  #take(message: IsoMessage, bytes: Uint8Array, start: number, end: number): void {
    if (messageClass(message) === NETWORK_MANAGEMENT) return;
    this.#copies.set(message, this.#masked(bytes, start, end) ?? end - start);
  }

  /** A failure of this diagnostic copy must not fail a tap, even if a field table does not fit the message. */
  #masked(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
    try {
      return this.#masker?.mask(bytes, start, end);
    } catch {
      return undefined;
    }
  }
}
