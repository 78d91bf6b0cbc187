import type { IsoMessage } from './iso-message.ts';
import type { OriginalData } from './purchase.ts';

/** The named text fields that the message contains: what a processor keeps of a request for its reversal. */
export function keepFields(message: IsoMessage, names: readonly string[]): OriginalData {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = message[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}

/** The names that the message lacks. */
export function missingFields(message: IsoMessage, names: readonly string[]): string[] {
  return names.filter((name) => message[name] === undefined);
}
