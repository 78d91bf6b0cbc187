import type pg from 'pg';
import type { ProfileReader } from '#schemas/terminal-profile';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import type { ReaderFormats } from '../../kits/reader-kit/load-readers.ts';
import { keysNamedBy } from '../../switching/switches/access/key-ownership.ts';
import type { Database } from '../postgres/open-database.ts';

/** A key of the HSM, and what uses it. */
export interface KeyUse {
  readonly keyId: string;
  /** `processor 1 of acquirer 2`, or `readers`. */
  readonly usedBy: string;
  /** The setting that names it, such as `macKeys.0.keyId`, or `exchanged mac key 7`. */
  readonly setting: string;
  /** Of an exchanged key, as its switch announced it; the HSM of this process need not have it. */
  readonly exchangedKcv: string | undefined;
  /** When the switch announced it, ISO 8601; undefined for a key of the configuration. */
  readonly since: string | undefined;
  /** When it stops being accepted, ISO 8601; undefined until another key replaces it. */
  readonly until: string | undefined;
}

interface ConfiguredRow {
  readonly acquirerId: number;
  readonly id: number;
  readonly config: SwitchConfig;
}

interface ExchangedRow {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly keyId: string;
  readonly use: string;
  readonly number: number;
  readonly kcv: string;
  readonly announcedAt: Date;
  readonly retiresAt: Date | null;
}

interface ProfileRow {
  readonly acquirerId: number;
  readonly name: string;
  readonly reader: ProfileReader;
}

const PROFILES = `select acquirer_id as "acquirerId", name, reader from terminal_profiles where reader is not null
  order by acquirer_id, name`;
const CONFIGURED = `select acquirer_id as "acquirerId", id, config from processors where removed_at is null
  order by acquirer_id, id`;
const EXCHANGED = `select acquirer_id as "acquirerId", processor_id as "processorId", key_id as "keyId", use, number, kcv,
  announced_at as "announcedAt", retires_at as "retiresAt"
  from exchanged_keys where retires_at is null or retires_at > clock_timestamp()
  order by acquirer_id, processor_id, use, announced_at`;

/** What names keys outside of the database, or explains what the database names. */
export interface KeyUseRules {
  /** The base derivation key of the installation's readers. */
  readonly readerKeyId: string;
  /** Formats of the readers that terminal profiles name. */
  readonly formats: ReaderFormats;
}

/** The keys that processors name or have exchanged, that terminal profiles name, and the key of the readers. */
export async function listKeyUses(
  database: Pick<Database | pg.ClientBase, 'query'>,
  { readerKeyId, formats }: KeyUseRules,
): Promise<KeyUse[]> {
  const configured = await database.query<ConfiguredRow>(CONFIGURED);
  const exchanged = await database.query<ExchangedRow>(EXCHANGED);
  const profiles = await database.query<ProfileRow>(PROFILES);
  const noTimes = { exchangedKcv: undefined, since: undefined, until: undefined };
  const named = configured.rows.flatMap(({ acquirerId, id, config }) =>
    keysNamedBy(config).map(({ path, keyId }) => ({
      ...{ keyId, usedBy: `processor ${id} of acquirer ${acquirerId}`, setting: path.map(String).join('.') },
      ...noTimes,
    })),
  );
  const live = exchanged.rows.map(({ acquirerId, processorId, keyId, use, number, kcv, announcedAt, retiresAt }) => ({
    ...{ keyId, usedBy: `processor ${processorId} of acquirer ${acquirerId}` },
    setting: `exchanged ${use} key ${number}`,
    ...{ exchangedKcv: kcv, since: announcedAt.toISOString(), until: retiresAt?.toISOString() },
  }));
  const ofReaders = profiles.rows.flatMap(({ acquirerId, name, reader }) =>
    keysOfReader(formats, reader).map(({ path, keyId }) => ({
      ...{ keyId, usedBy: `terminal profile ${name} of acquirer ${acquirerId}` },
      ...{ setting: ['reader', 'settings', ...path].map(String).join('.'), ...noTimes },
    })),
  );
  return [
    ...named,
    ...live,
    ...ofReaders,
    { keyId: readerKeyId, usedBy: 'readers', setting: 'READER_PIN_KEY', ...noTimes },
  ];
}

/** A profile whose format this installation no longer has opens no card data. */
function keysOfReader(formats: ReaderFormats, { format: name, settings }: ProfileReader) {
  const format = formats.get(name);
  const { data } = format?.settingsSchema.safeParse(settings) ?? {};
  return format && data !== undefined ? format.keysNamedBy(data) : [];
}
