import * as mti from '../iso8583/message.ts';
import type { IsoMessage } from './iso-message.ts';

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

/** Whether `response` is of the type that answers `request`. */
export function answers(response: IsoMessage, request: IsoMessage): boolean {
  return response.mti === responseMti(request.mti);
}
