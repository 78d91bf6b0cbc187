import type { ProfileReader } from '#schemas/terminal-profile';
import { shareRuns } from '../../basics/limits/concurrency-limit.ts';
import type { TerminalProfile } from '../../payments/model/terminal-profile.ts';
import type { Database } from '../postgres/open-database.ts';

const VERSIONS = 'select acquirer_id as "acquirerId", name, updated_at::text as version from terminal_profiles';

const PROFILES = `
select acquirer_id as "acquirerId", name, updated_at::text as version, currency as "terminalCurrencyCode", overrides, reader
from terminal_profiles where (acquirer_id, name) in (select * from unnest($1::integer[], $2::text[]))`;

interface VersionRow {
  readonly acquirerId: number;
  readonly name: string;
  readonly version: string;
}

interface ProfileRow extends VersionRow {
  readonly terminalCurrencyCode: string | null;
  readonly overrides: TerminalProfile['overrides'];
  readonly reader: ProfileReader | null;
}

interface CachedProfile {
  readonly version: string;
  readonly profile: TerminalProfile;
}

/** Every acquirer's terminal profiles. They can be large, so only changed ones are read again. */
export class TerminalProfileCache {
  readonly #database: Database;
  #profiles: ReadonlyMap<string, CachedProfile> = new Map();
  /** Reads what has changed. Calls are shared as in `FollowedRows`. */
  readonly refresh = shareRuns(() => this.#refresh());

  constructor(database: Database) {
    this.#database = database;
  }

  find(acquirerId: number, name: string): TerminalProfile | undefined {
    return this.#profiles.get(keyOf({ acquirerId, name }))?.profile;
  }

  async #refresh(): Promise<void> {
    const { rows: present } = await this.#database.query<VersionRow>({
      name: 'terminal-profile-versions',
      text: VERSIONS,
    });
    const changed = present.filter((row) => this.#profiles.get(keyOf(row))?.version !== row.version);
    const read = changed.length === 0 ? [] : await this.#read(changed);
    const fresh = new Map(read.map((row) => [keyOf(row), cached(row)]));
    this.#profiles = new Map(
      present.flatMap((row) => {
        const entry = fresh.get(keyOf(row)) ?? this.#profiles.get(keyOf(row));
        return entry ? [[keyOf(row), entry] as const] : [];
      }),
    );
  }

  async #read(rows: readonly VersionRow[]): Promise<ProfileRow[]> {
    const values = [rows.map(({ acquirerId }) => acquirerId), rows.map(({ name }) => name)];
    return (await this.#database.query<ProfileRow>(PROFILES, values)).rows;
  }
}

function keyOf({ acquirerId, name }: Pick<VersionRow, 'acquirerId' | 'name'>): string {
  return `${acquirerId} ${name}`;
}

function cached({ name, version, terminalCurrencyCode, overrides, reader }: ProfileRow): CachedProfile {
  const currency = terminalCurrencyCode !== null && { terminalCurrencyCode };
  return { version, profile: { name, overrides, ...currency, ...(reader !== null && { reader }) } };
}
