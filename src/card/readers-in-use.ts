import type { ProfileReader } from '#schemas/terminal-profile';
import { NoConfiguration } from '../basics/errors.ts';
import type { ReaderFormat } from '../kits/reader-kit/reader-format.ts';
import type { TappedReader } from '../payments/ports/card-ports.ts';
import { type ReaderRules, readerFaults } from '../payments/settings/check-reader.ts';

/** A format with valid settings, whose keys belong to the acquirer. */
export interface ReaderInUse {
  readonly format: ReaderFormat;
  readonly settings: unknown;
}

/** The format of profiles that name none. */
const DEFAULT_FORMAT = 'jwe';

/** The reader formats that terminal profiles name. */
export class ReadersInUse {
  readonly #rules: ReaderRules;
  readonly #default: ReaderInUse;
  /** By the profile's own object, which is replaced when the profile changes. */
  readonly #checked = new WeakMap<ProfileReader, ReaderInUse>();

  constructor(rules: ReaderRules) {
    this.#rules = rules;
    this.#default = { format: rules.formats.get(DEFAULT_FORMAT)!, settings: {} };
  }

  /**
   * A profile is checked when it is stored and again here, because a format may be gone since, or a grant withdrawn.
   *
   * @throws NoConfiguration (NO_READER)
   */
  readerOf({ acquirerId, reader }: Pick<TappedReader, 'acquirerId' | 'reader'>): ReaderInUse {
    if (reader === undefined) return this.#default;
    const known = this.#checked.get(reader);
    if (known !== undefined) return known;
    if (readerFaults(this.#rules, acquirerId, reader).length > 0) throw new NoConfiguration('NO_READER');
    const format = this.#rules.formats.get(reader.format)!;
    const checked = { format, settings: format.settingsSchema.parse(reader.settings) };
    this.#checked.set(reader, checked);
    return checked;
  }
}
