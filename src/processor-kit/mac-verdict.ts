import type { IsoMessage } from './iso-message.ts';

/**
 * The result of checking the MAC of a received message. `unverifiable`: no key of the gateway can check the MAC, or
 * an agreed MAC is missing. Only `good` messages, and those of a connection without MACs, may decide anything about
 * money.
 */
export type MacVerdict = 'good' | 'bad' | 'unverifiable';

/** A symbol, so that no codec takes the verdict for a field. */
const MAC_VERDICT = Symbol('MAC verdict');
const JUDGE_AGAIN = Symbol('judges the MAC again');

/** @param judgeAgain checks with the keys that exist when it is called; absent if keys do not change */
export function recordMacVerdict(message: IsoMessage, verdict: MacVerdict, judgeAgain?: () => MacVerdict): void {
  Object.defineProperty(message, MAC_VERDICT, { value: verdict, configurable: true });
  if (judgeAgain) Object.defineProperty(message, JUDGE_AGAIN, { value: judgeAgain, configurable: true });
}

/** Checks a message again, because keys have arrived since it was decoded. */
export function judgeMacAgain(message: IsoMessage): void {
  const judge = (message as { [JUDGE_AGAIN]?: () => MacVerdict })[JUDGE_AGAIN];
  if (judge) recordMacVerdict(message, judge());
}

/** Undefined on a connection without MACs. */
export function macVerdictOf(message: IsoMessage): MacVerdict | undefined {
  return (message as { [MAC_VERDICT]?: MacVerdict })[MAC_VERDICT];
}

/** Whether a message may decide anything about money: its MAC is good, or its connection uses none. */
export function isTrusted(message: IsoMessage): boolean {
  return (macVerdictOf(message) ?? 'good') === 'good';
}
