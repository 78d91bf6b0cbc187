import type { ProviderValues } from '../../payments/model/transaction.ts';

/** The longest list of the interface (2.6) has nine. */
const MAX_VALUES = 32;
const MAX_CHARS = 255;

/**
 * Makes the values of a plug-in for integrators safe to store and send: only texts, limited in number and length,
 * without control characters. It never throws, because these values must not affect an outcome.
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
