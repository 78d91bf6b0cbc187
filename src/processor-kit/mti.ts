import type { IsoMessage } from './processor.ts';

/**
 * The message type indicator (ISO 8583:1987 4.1): version, class, function, origin. An odd function digit answers the
 * even one before it: 0210 answers 0200, 0430 answers 0420.
 */
const CLASS = 1;
const FUNCTION = 2;

/** Digit of the class: `1` authorization, `2` financial, `4` reversal, `8` network management. */
export function messageClass(message: IsoMessage): string {
  return message.mti.charAt(CLASS);
}

export function isResponse(message: IsoMessage): boolean {
  return (message.mti.charCodeAt(FUNCTION) & 1) === 1;
}

/** The MTI that answers `mti`; a repeat (0421) is answered like its original (0430). */
export function responseMti(mti: string): string {
  return `${mti.slice(0, FUNCTION)}${Number(mti.charAt(FUNCTION)) + 1}0`;
}

/** Whether `response` is of the type that answers `request`. */
export function answers(response: IsoMessage, request: IsoMessage): boolean {
  return response.mti === responseMti(request.mti);
}
