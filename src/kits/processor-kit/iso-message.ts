import * as mti from '../../codecs/iso8583/message.ts';
import type { OriginalData } from './purchase.ts';

/** A decoded ISO 8583 message: fields by name, text or bytes, composites nested. Its spec gives the exact type. */
export type IsoMessage = { mti: string } & Record<string, unknown>;

/** A message while it is being built. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Digit of the class: `1` authorization, `2` financial, `4` reversal, `8` network management. */
export function messageClass(message: IsoMessage): string {
  return message.mti.charAt(1);
}

export function isResponse(message: IsoMessage): boolean {
  return mti.isResponse(message.mti);
}

/** The MTI of the response to a request or its repeats; a type outside the standard is handled like a request. */
export function responseMti(requestMti: string): string {
  return mti.responseMti(requestMti) ?? `${requestMti.slice(0, 2)}10`;
}

/** Whether `response` has the message type of a response to `request`. */
export function isResponseTo(response: IsoMessage, request: IsoMessage): boolean {
  return response.mti === responseMti(request.mti);
}

/** The named text fields that the message contains: what a processor keeps of a request for its reversal. */
export function keepFields(message: IsoMessage, names: readonly string[]): OriginalData {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = message[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}
