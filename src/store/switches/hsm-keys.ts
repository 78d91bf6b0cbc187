import type pg from 'pg';
import type { ProfileReader } from '#schemas/terminal-profile';
import { NotFound, RequestRejected, StartError } from '../../basics/errors.ts';
import type { KeyUsage } from '../../codecs/crypto/hsm.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import type { ReaderFormats } from '../../kits/reader-kit/load-readers.ts';
import { keysNamedBy } from '../../switching/switches/access/switch-access.ts';
import type { Database } from '../postgres/open-database.ts';
import { type Change, INSTALLATION, inAdminCommit, recordChange } from '../settings/admin-commit.ts';

/** A registered key of the HSM: facts about it, never the key. */
export interface RegisteredKey {
  readonly keyId: string;
  /** The owner; 0 for the installation. */
  readonly acquirerId: number;
  readonly usage: KeyUsage;
  /** 6 hex digits, as at the registration. */
  readonly kcv: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The day on which it should be replaced, `2027-11-23`. */
  readonly dueOn: string;
  /** The day of the last use in UTC; null if no gateway has used it. */
  readonly lastUsedOn: string | null;
  /** The key that has replaced it; null before a rotation. */
  readonly successor: string | null;
  /** ISO 8601: until then the key remains usable beside its successor. */
  readonly overlapEndsAt: string | null;
  /** ISO 8601; null while the key may be used. */
  readonly retiredAt: string | null;
}

export type NewKey = Pick<RegisteredKey, 'keyId' | 'acquirerId' | 'usage' | 'kcv' | 'dueOn'>;

/** How a key came to the installation; part of the admin event. */
export interface Origin {
  /** `keyBlock`, `components`, `underLmk`, or `present` for a key that the HSM had before. */
  readonly origin: string;
  /** Id of the key under which it was sent. */
  readonly transportKeyId?: string | undefined;
  /** Names of the users who entered the components. */
  readonly custodians?: readonly string[] | undefined;
}

/** The column of an instant, as ISO 8601. */
const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const SELECT = `select key_id as "keyId", acquirer_id as "acquirerId", usage, kcv, ${instant('created_at')} as "createdAt",
  due_on::text as "dueOn", last_used_on::text as "lastUsedOn", successor, ${instant('overlap_ends_at')} as "overlapEndsAt",
  ${instant('retired_at')} as "retiredAt" from hsm_keys`;

export async function listRegisteredKeys(database: Pick<Database, 'query'>): Promise<RegisteredKey[]> {
  return (await database.query<RegisteredKey>(`${SELECT} order by acquirer_id, key_id`)).rows;
}

/** In the order of their names. @param acquirerId undefined for the keys of all */
export async function pageOfRegisteredKeys(
  database: Pick<Database, 'query'>,
  acquirerId: number | undefined,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<RegisteredKey[]> {
  const text = `${SELECT} where ($1::int is null or acquirer_id = $1) and key_id > $2 order by key_id limit $3`;
  return (await database.query<RegisteredKey>(text, [acquirerId ?? null, after ?? '', limit])).rows;
}

export async function findRegisteredKey(
  database: Pick<Database | pg.ClientBase, 'query'>,
  keyId: string,
): Promise<RegisteredKey | undefined> {
  return (await database.query<RegisteredKey>(`${SELECT} where key_id = $1`, [keyId])).rows[0];
}

/**
 * Whether a key can be registered; asked before the HSM receives it. An id is used once, so that the audit trail is
 * unambiguous.
 *
 * @throws NotFound for an unknown acquirer; StartError BAD_CONFIG if the id is, or was, that of a key
 */
export async function mustBeFree(
  database: Pick<Database, 'query'>,
  { keyId, acquirerId }: Pick<NewKey, 'keyId' | 'acquirerId'>,
): Promise<void> {
  const owner = await database.query('select from acquirers where id = $1', [acquirerId]);
  if (owner.rowCount === 0 && acquirerId !== INSTALLATION) throw new NotFound();
  const found = await findRegisteredKey(database, keyId);
  if (found === undefined) return;
  const state = found.retiredAt === null ? 'is registered' : 'was retired';
  throw new StartError('BAD_CONFIG', `${keyId}: ${state}; choose another id`);
}

/**
 * Registers a key that the HSM has.
 *
 * @throws NotFound for an unknown acquirer; RequestRejected (NAME_TAKEN) if the id is, or was, that of a key
 */
export function registerKey(
  database: Database,
  actor: string,
  { keyId, acquirerId, usage, kcv, dueOn }: NewKey,
  origin: Origin,
): Promise<void> {
  return inAdminCommit(database, acquirerId, async (client) => {
    const { rowCount } = await client.query(
      `insert into hsm_keys (key_id, acquirer_id, usage, kcv, due_on) values ($1, $2, $3, $4, $5)
       on conflict do nothing`,
      [keyId, acquirerId, usage, kcv, dueOn],
    );
    if (rowCount !== 1) throw new RequestRejected('NAME_TAKEN');
    const after = { usage, kcv, dueOn, ...origin };
    await recordKeyEvent(client, { acquirerId, actor }, { action: 'add', id: keyId, before: null, after });
  });
}

/** An act that concerns a key and does not change it. */
export interface KeyAct {
  readonly did: 'beginCeremony' | 'failCeremony';
  readonly kcv?: string;
  readonly reason?: string;
}

/** Records an act that concerns a key, such as a ceremony that failed. */
export function recordKeyAct(
  database: Database,
  { acquirerId, actor }: Pick<Change, 'acquirerId' | 'actor'>,
  keyId: string,
  after: KeyAct,
): Promise<void> {
  return inAdminCommit(database, acquirerId, (client) =>
    recordKeyEvent(client, { acquirerId, actor }, { action: 'act', id: keyId, before: null, after }),
  );
}

interface KeyEvent {
  readonly action: 'add' | 'change' | 'remove' | 'act';
  readonly id: string;
  readonly before: object | null;
  readonly after: object | null;
}

export function recordKeyEvent(
  client: pg.ClientBase,
  { acquirerId, actor }: Pick<Change, 'acquirerId' | 'actor'>,
  event: KeyEvent,
): Promise<void> {
  return recordChange(client, { acquirerId, actor }, { kind: 'hsm key', ...event });
}

/** Notes that keys were used today; keys without a row are ignored. */
export async function noteKeyUses(database: Database, keyIds: readonly string[]): Promise<void> {
  await database.query(
    `update hsm_keys set last_used_on = (now() at time zone 'UTC')::date
     where key_id = any($1) and (last_used_on is null or last_used_on < (now() at time zone 'UTC')::date)`,
    [keyIds],
  );
}

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
