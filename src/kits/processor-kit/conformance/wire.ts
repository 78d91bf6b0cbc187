import type { IsoMessage } from '../iso-message.ts';
import type { MessageCodec, Outcome } from '../processor.ts';
import { meaningOf } from '../profile.ts';
import type { SimulatedAnswer } from '../simulation.ts';
import type { Subject } from './check.ts';

/** The message as bytes. */
export function bytesOf(codec: MessageCodec, message: IsoMessage, maxBytes: number): Uint8Array {
  const target = new Uint8Array(maxBytes);
  return target.slice(0, codec.encode(message, target, 0));
}

/** The message as the other side receives it: encoded and decoded again. */
export function overTheWire({ processor, codec }: Subject, message: IsoMessage): IsoMessage {
  return codec.decode(bytesOf(codec, message, processor.framing.maxFrameBytes));
}

/** The switch's response to a request, both over the wire. */
export function respond(subject: Subject, request: IsoMessage, answer: SimulatedAnswer): IsoMessage {
  const received = overTheWire(subject, request);
  return overTheWire(subject, subject.processor.simulate(received, answer));
}

/** The response with this code of the switch in DE39, whether or not a scenario can ask for it. */
export function respondWith(
  subject: Subject,
  request: IsoMessage,
  switchCode: string,
  answer: Partial<SimulatedAnswer> = {},
): IsoMessage {
  const { spec, profile } = subject.processor;
  const response = respond(subject, request, { responseCode: meaningOf(profile.codes, switchCode), ...answer });
  const field = spec.fields[39]?.name;
  return field === undefined ? response : overTheWire(subject, { ...response, [field]: switchCode });
}

/** The outcome that the processor reads from the switch's response to a request. */
export function outcomeOf(subject: Subject, request: IsoMessage, answer: SimulatedAnswer): Outcome {
  return subject.processor.readOutcome(respond(subject, request, answer), request);
}

/** The outcome of a response with this code of the switch. */
export function outcomeWith(
  subject: Subject,
  request: IsoMessage,
  switchCode: string,
  answer?: Partial<SimulatedAnswer>,
): Outcome {
  return subject.processor.readOutcome(respondWith(subject, request, switchCode, answer), request);
}
