import type { ProfileReader } from '#schemas/terminal-profile';
import { type ReaderRules, readerFaults } from '../../payments/settings/check-reader.ts';
import { type Finding, fault, good } from './finding.ts';

/** A terminal profile that names a reader format. */
export interface ProfileWithReader {
  readonly acquirerId: number;
  readonly name: string;
  readonly reader: ProfileReader;
}

/** Profiles whose taps are refused, because their format was removed or a key no longer belongs to their acquirer. */
export function readerFindings(rules: ReaderRules, profiles: readonly ProfileWithReader[]): Finding[] {
  const faults = profiles.flatMap(({ acquirerId, name, reader }) =>
    readerFaults(rules, acquirerId, reader).map(({ path, detail }) =>
      fault(
        `terminal profile ${name} of acquirer ${acquirerId}`,
        `its taps are refused: reader.${path.map(String).join('.')} ${detail}`,
        'correct the profile, or add the format to READERS or the key to SWITCH_KEYS',
      ),
    ),
  );
  return faults.length > 0 ? faults : [good('readers', `${rules.formats.size} formats of card data are installed`)];
}
