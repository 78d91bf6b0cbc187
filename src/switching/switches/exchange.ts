import { Iso8583Error } from '../../basics/errors.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-message.ts';
import type { SwitchAnswer } from '../../payments/ports/switch-ports.ts';
import type { RequestResult } from '../connection/pending-requests.ts';
import type { Slot } from '../connection/slot.ts';
import { type Outgoing, type RecordParts, recordExchange } from './exchange-record.ts';
import type { ReportFault } from './fault-log.ts';

export interface ExchangeParts extends RecordParts {
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
): Promise<SwitchAnswer<Value>> {
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
  const { connectionId = slot.connectionId } = result;
  if (result.kind === 'failed') {
    const { written, reason } = result;
    record({ outcome: written ? reason : `not sent: ${reason}`, connectionId });
    return { kind: 'failed', written, reason, connectionId };
  }
  const response = result.kind === 'unreadable' ? undefined : result.response;
  const answer = response && (await readAnswer(parts, response, connectionId, () => read(response, message)));
  if (!response || !answer) {
    record({ outcome: 'garbled', connectionId, came: result.kind === 'unreadable' ? result.error : response });
    return { kind: 'garbled', connectionId };
  }
  record({ outcome: 'answered', connectionId, came: response, value: answer.value });
  return { kind: 'answered', value: answer.value, connectionId };
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

async function readAnswer<Value>(
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
