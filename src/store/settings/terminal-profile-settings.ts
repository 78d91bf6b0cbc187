import type { ProfileReader, StoredTerminalProfile } from '#schemas/terminal-profile';
import type { TerminalProfile } from '../../payments/model/terminal-profile.ts';
import type { ProfileChange } from '../../payments/settings/read-profile.ts';
import type { Database } from '../postgres/open-database.ts';
import { AcquirerSettings, type Page } from './acquirer-settings.ts';
import type { Change, Reach } from './admin-commit.ts';
import type { Removal, SettingsTable } from './settings-table.ts';

/** Every gateway holds all of them in memory, up to 200 KB each; an acquirer has one per kind of shop. */
const MAX_PROFILES = 200;

/** The values of the columns. JSON is text, because pg would convert a list to a Postgres array. */
interface Columns {
  readonly name: string;
  readonly terminalCurrencyCode?: string | undefined;
  readonly overrides: string;
  readonly reader?: string | null | undefined;
}

type Row = Omit<StoredTerminalProfile, 'terminalCurrencyCode' | 'reader'> & {
  readonly terminalCurrencyCode: string | null;
  readonly reader: ProfileReader | null;
};

const TERMINAL_PROFILES: SettingsTable<Columns, Row> = {
  kind: 'terminal profile',
  table: 'terminal_profiles',
  key: { name: 'name', column: 'name', from: 'settings' },
  most: MAX_PROFILES,
  columns: { name: 'name', terminalCurrencyCode: 'currency', overrides: 'overrides', reader: 'reader' },
};

/** The terminal profiles of acquirers, as their administrators see and change them. */
export class TerminalProfileSettings {
  readonly #rows: AcquirerSettings<Columns, Row>;

  constructor(database: Database) {
    this.#rows = new AcquirerSettings(database, TERMINAL_PROFILES);
  }

  /** Ordered by name. @throws NotFound for an unknown acquirer */
  async list(reach: Reach, page: Page): Promise<StoredTerminalProfile[]> {
    return (await this.#rows.list(reach, page)).map(shown);
  }

  /** @throws NotFound */
  async find(reach: Reach, name: string): Promise<StoredTerminalProfile> {
    return shown(await this.#rows.find(reach, name));
  }

  /** @throws NotFound for an unknown acquirer; RequestRejected (NAME_TAKEN, SETTING_LIMIT_REACHED) */
  async add(change: Change, profile: TerminalProfile): Promise<StoredTerminalProfile> {
    const columns = { ...columnsOf(profile), overrides: JSON.stringify(profile.overrides) };
    return shown(await this.#rows.add(change, columns));
  }

  /**
   * @param settings those to change, each as a whole; the others keep their values
   * @throws NotFound
   */
  async change(change: Change, name: string, settings: ProfileChange): Promise<StoredTerminalProfile> {
    return shown(await this.#rows.change(change, name, columnsOf(settings)));
  }

  /** @throws NotFound; RequestRejected (IN_USE) while a terminal uses it */
  remove(change: Change, name: string): Promise<Removal | undefined> {
    return this.#rows.remove(change, name);
  }
}

function columnsOf<Given extends ProfileChange>({ overrides, reader, ...settings }: Given) {
  return {
    ...settings,
    ...(reader !== undefined && { reader: reader && JSON.stringify(reader) }),
    ...(overrides && { overrides: JSON.stringify(overrides) }),
  };
}

function shown({ terminalCurrencyCode, reader, ...row }: Row): StoredTerminalProfile {
  return { ...row, ...(terminalCurrencyCode !== null && { terminalCurrencyCode }), ...(reader !== null && { reader }) };
}
