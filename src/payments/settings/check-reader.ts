import type { ProfileReader } from '#schemas/terminal-profile';
import { type Fault, invalidValues } from '../../basics/errors.ts';
import type { ReaderFormats } from '../../kits/reader-kit/load-readers.ts';

/** What decides whether a terminal profile may name a reader format. */
export interface ReaderRules {
  readonly formats: ReaderFormats;
  /** Whether the acquirer may use the key of the HSM. */
  readonly mayUse: (acquirerId: number, keyId: string) => boolean;
}

/** Why a profile of the acquirer may not have this reader; empty if it may. */
export function readerFaults(
  rules: ReaderRules,
  acquirerId: number,
  { format: name, settings }: ProfileReader,
): Fault[] {
  const format = rules.formats.get(name);
  if (!format) return [{ path: ['format'], detail: `must be one of ${[...rules.formats.keys()].join(', ')}` }];
  const { data, error } = format.settingsSchema.safeParse(settings);
  if (error) return error.issues.map(({ path, message }) => ({ path: ['settings', ...path], detail: message }));
  const foreign = format.keysNamedBy(data).filter(({ keyId }) => !rules.mayUse(acquirerId, keyId));
  return foreign.map(({ path }) => ({
    path: ['settings', ...path],
    detail: 'a key that is not of this acquirer (its own are acquirer/<id>/..., others are in SWITCH_KEYS)',
  }));
}

/** @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault */
export function checkReader(rules: ReaderRules, acquirerId: number, reader: ProfileReader | null | undefined): void {
  const faults = reader ? readerFaults(rules, acquirerId, reader) : [];
  if (faults.length > 0) throw invalidValues(faults.map(({ path, detail }) => ({ path: ['reader', ...path], detail })));
}
