import type { IsoMessage } from './iso-message.ts';

/**
 * What the MAC of a received message said. `unverifiable`: it carries one that no key of ours can check, or lacks one
 * that was agreed. Only `good` messages, and those of a line without MACs, may decide anything about money.
 */
export type MacVerdict = 'good' | 'bad' | 'unverifiable';

/** A symbol, so that no codec takes the verdict for a field. */
const MAC_VERDICT = Symbol('MAC verdict');
const JUDGE_AGAIN = Symbol('judges the MAC again');

/** @param judgeAgain by the keys that there are when it is called; absent where keys do not change */
export function recordMacVerdict(message: IsoMessage, verdict: MacVerdict, judgeAgain?: () => MacVerdict): void {
  Object.defineProperty(message, MAC_VERDICT, { value: verdict, configurable: true });
  if (judgeAgain) Object.defineProperty(message, JUDGE_AGAIN, { value: judgeAgain, configurable: true });
}

/** Judges a message anew, since keys have come that were not there when it was decoded. */
export function judgeMacAgain(message: IsoMessage): void {
  const judge = (message as { [JUDGE_AGAIN]?: () => MacVerdict })[JUDGE_AGAIN];
  if (judge) recordMacVerdict(message, judge());
}

/** Undefined on a line without MACs. */
export function macVerdictOf(message: IsoMessage): MacVerdict | undefined {
  return (message as { [MAC_VERDICT]?: MacVerdict })[MAC_VERDICT];
}

/** Whether a message may decide anything about money: its MAC is good, or its line has none. */
export function isTrusted(message: IsoMessage): boolean {
  return (macVerdictOf(message) ?? 'good') === 'good';
}
