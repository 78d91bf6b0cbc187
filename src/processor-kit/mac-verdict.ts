import type { IsoMessage } from './processor.ts';

/**
 * What the MAC of a received message said. `unverifiable`: it carries one that no key of ours can check, or lacks one
 * that was agreed. Only `good` messages, and those of a line without MACs, may decide anything about money.
 */
export type MacVerdict = 'good' | 'bad' | 'unverifiable';

/** A symbol, so that no codec takes the verdict for a field. */
const MAC_VERDICT = Symbol('MAC verdict');

export function recordMacVerdict(message: IsoMessage, verdict: MacVerdict): void {
  Object.defineProperty(message, MAC_VERDICT, { value: verdict });
}

/** Undefined on a line without MACs. */
export function macVerdictOf(message: IsoMessage): MacVerdict | undefined {
  return (message as { [MAC_VERDICT]?: MacVerdict })[MAC_VERDICT];
}
