import type { IsoMessage } from './iso-fields.ts';

/**
 * The result of checking the MAC of a received message. `unverifiable`: no key of the gateway can check the MAC, or
 * an agreed MAC is missing. Only `good` messages, and those of a connection without MACs, may decide anything about
 * money.
 */
export type MacVerdict = 'good' | 'bad' | 'unverifiable';

/** A symbol, so that no codec takes the verdict for a field. */
const MAC_VERDICT = Symbol('MAC verdict');
const JUDGE = Symbol('judges the MAC');

/** @param judge checks in the HSM, with the keys that exist when it is called */
export function recordMacVerdict(message: IsoMessage, verdict: MacVerdict, judge?: () => Promise<MacVerdict>): void {
  Object.defineProperty(message, MAC_VERDICT, { value: verdict, configurable: true });
  if (judge) Object.defineProperty(message, JUDGE, { value: judge, configurable: true });
}

/**
 * Checks the MAC of a received message, unless it is known to be good. Until then the message is not trusted. Keys that
 * have arrived since the last check count.
 *
 * @throws {HsmUnavailable} if the HSM does not respond in time
 * @throws {CryptoError} if the HSM refuses a key
 */
export async function judgeMac(message: IsoMessage): Promise<void> {
  const judge = (message as { [JUDGE]?: () => Promise<MacVerdict> })[JUDGE];
  if (judge && !isTrusted(message)) recordMacVerdict(message, await judge());
}

/** Undefined on a connection without MACs. */
export function macVerdictOf(message: IsoMessage): MacVerdict | undefined {
  return (message as { [MAC_VERDICT]?: MacVerdict })[MAC_VERDICT];
}

/** Whether a message may decide anything about money: its MAC is good, or its connection uses none. */
export function isTrusted(message: IsoMessage): boolean {
  return (macVerdictOf(message) ?? 'good') === 'good';
}
