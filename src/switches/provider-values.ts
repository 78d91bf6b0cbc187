import type { ProviderValues } from '../transactions/model/transaction.ts';

/** The longest list of the interface (2.6) has nine. */
const MAX_VALUES = 32;
const MAX_CHARS = 255;

/**
 * What a plug-in tells integrators, made safe to store and to send: texts alone, of a sane number and length, without
 * control characters. It never throws: an outcome must not depend on what is told beside it.
 */
export function providerValues(tell: () => unknown): ProviderValues {
  try {
    const entries = Object.entries(tell() as object).filter(isPlain);
    return Object.fromEntries(entries.slice(0, MAX_VALUES));
  } catch {
    return {};
  }
}

function isPlain([name, value]: [string, unknown]): boolean {
  return [name, value].every(
    (text) => typeof text === 'string' && text.length <= MAX_CHARS && !/\p{Cc}/u.test(text) && text.isWellFormed(),
  );
}
