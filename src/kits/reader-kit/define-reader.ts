import type { ReaderFormat } from './reader-format.ts';

const NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** A reader format, checked. @throws Error if its name could not be stored in a profile */
export function defineReader<Settings>(definition: ReaderFormat<Settings>): ReaderFormat<Settings> {
  if (!NAME.test(definition.format)) throw new Error(`format must match ${NAME.source}`);
  return Object.freeze(definition);
}
