import type pg from 'pg';
import type { ProfileReader } from '#schemas/terminal-profile';
import type { Attester, Attesters } from '../../auth/attestation/attestations.ts';
import {
  type IssuerKey,
  type KeySetRegistration,
  type Merchants,
  type OwnedMerchant,
  type RegisteredIssuers,
  readIssuerPem,
  type ScopedIssuer,
} from '../../auth/issuers/issuer-keys.ts';
import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import type { SwitchIdentity } from '../../kits/processor-kit/switch-config.ts';
import type { WebhookOrigin } from '../../payments/model/decision.ts';
import type { SwitchRevision } from '../../payments/model/switch-revision.ts';
import type { TerminalProfile } from '../../payments/model/terminal-profile.ts';
import type {
  Directory,
  KnownUser,
  LostWindow,
  MerchantKey,
  MerchantRecord,
  RouteRecord,
  TerminalRecord,
} from '../../payments/ports/directory-ports.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import { FollowedRows, FollowedTable, namedStatement, type RowChanges } from '../postgres/followed-table.ts';
import type { Database } from '../postgres/open-database.ts';
import { LOST_WINDOW, type LostWindowRow } from '../transactions/lost-window.ts';
import { IssuerDirectory } from './issuer-directory.ts';

/**
 * A processor of an acquirer with the stored configuration of its switch; the configuration's schema validates it
 * where it is used.
 */
export interface ProcessorRecord {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
  readonly revision: SwitchRevision;
  /** What identified the switch when its type last read the configuration; null before the first time. */
  readonly identity: SwitchIdentity | null;
}

interface EndpointRow {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly serves: WebhookOrigin;
  readonly id: string;
}

interface UserRow extends Omit<KnownUser, 'isOfAnother'> {
  readonly acquirerId: number;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly username: string;
}

interface MerchantRow extends MerchantRecord {
  /** Whether the merchant, its integrator or its acquirer is blocked. */
  readonly isBlocked: boolean;
}

interface TerminalRow extends TerminalRecord {
  readonly acquirerId: number;
  /** The only merchant that may use the terminal; null if every merchant of the acquirer may. */
  readonly merchantId: string | null;
}

interface ProfileRow {
  readonly acquirerId: number;
  readonly name: string;
  readonly terminalCurrencyCode: string | null;
  readonly overrides: TerminalProfile['overrides'];
  readonly reader: ProfileReader | null;
}

interface BlockedDeviceRow {
  readonly acquirerId: number;
  readonly device: string;
}

interface AttesterRow extends Omit<Attester, 'key'> {
  readonly acquirerId: number;
  /** PEM, checked when it was stored. */
  readonly publicKey: string;
}

const NO_ATTESTERS: readonly Attester[] = [];

/**
 * A change (a revoked key, a blocked device) takes effect everywhere within this time plus one query: below the
 * promised 5 s.
 */
const REFRESH_EVERY_MS = 2_000;
/**
 * The tables are compared at least this often, also if no change was noted, as by a session that writes without triggers.
 * Hashing 100,000 rows takes the database 150 ms, reading the notes 0.5 ms, or 10 ms after 100,000 changes in a day.
 */
const COMPARE_EVERY_MS = 60_000;

/**
 * The installation's configuration by tenant, held completely in memory: every tap needs it and must not wait for it.
 * The database notes each change, the notes are checked often, and only changed rows are read. While the database is
 * unavailable, the last known state is used.
 */
export class PostgresDirectory implements Directory, RegisteredIssuers, Merchants, Attesters {
  readonly #profiles = new Map<string, TerminalProfile>();
  readonly #profileRows: Pick<FollowedRows<unknown>, 'look'>;
  readonly #issuers: IssuerDirectory;
  #refreshing: Repetition | undefined;
  /** True for those that are blocked, or whose acquirer is. */
  #integrators = new Map<string, boolean>();
  #blockedAcquirers = new Set<number>();
  readonly #merchants = new Map<string, MerchantRow>();
  readonly #terminals = new Map<string, TerminalRow>();
  #routes = new Map<number, RouteRecord[]>();
  readonly #blockedDevices = new Map<string, true>();
  #attesters = new Map<number, Attester[]>();
  readonly #users = new Map<string, UserRow>();
  readonly #tables: readonly Pick<FollowedRows<unknown>, 'look'>[];
  /** Increases when a merchant is added, removed, moved to another owner, blocked or unblocked. */
  #ownersChanged = 0;
  readonly #database: Database;
  readonly #compareEveryMs: number;
  /** The notes when the tables were last compared. */
  #noted: string | undefined;
  #comparedAtMs = 0;
  #lostWindow: LostWindow | undefined;
  #processors: readonly ProcessorRecord[] = [];
  #onProcessors: () => void = () => {};
  readonly #endpointRows: Pick<FollowedRows<unknown>, 'look'>;
  #endpoints = new Map<string, string>();

  private constructor(database: Database, compareEveryMs: number) {
    this.#database = database;
    this.#compareEveryMs = compareEveryMs;
    const takeProfiles = (changes: RowChanges<ProfileRow>) =>
      apply(this.#profiles, changes, (row) => [[`${row.acquirerId} ${row.name}`, profileOf(row)]]);
    // A profile can have megabytes, so its version is compared in place of its content.
    this.#profileRows = new FollowedTable<ProfileRow>(database, PROFILES, 'x.name', takeProfiles, 'x.version');
    this.#issuers = new IssuerDirectory(database);
    this.#tables = this.#followTables(database);
    this.#endpointRows = new FollowedRows<EndpointRow>(database, ENDPOINTS, (rows) => {
      this.#endpoints = new Map(rows.map((row) => [`${row.acquirerId} ${row.integratorId} ${row.serves}`, row.id]));
    });
  }

  static async open(
    database: Database,
    refreshEveryMs = REFRESH_EVERY_MS,
    compareEveryMs = COMPARE_EVERY_MS,
  ): Promise<PostgresDirectory> {
    const directory = new PostgresDirectory(database, compareEveryMs);
    await directory.#follow();
    // Readiness reports that the database is unavailable.
    directory.#refreshing = repeatEvery(refreshEveryMs, () => directory.#follow());
    return directory;
  }

  async close(): Promise<void> {
    await this.#refreshing?.stop();
  }

  hasIntegrator(acquirerId: number, integratorId: number): boolean {
    return this.#integrators.has(`${acquirerId} ${integratorId}`);
  }

  merchant(acquirerId: number, merchantId: string): MerchantRecord | undefined {
    return this.#merchants.get(`${acquirerId} ${merchantId}`);
  }

  terminal({ acquirerId, merchantId }: MerchantKey, xTid: string): TerminalRecord | undefined {
    const terminal = this.#terminals.get(`${acquirerId} ${xTid}`);
    return terminal && (terminal.merchantId ?? merchantId) === merchantId ? terminal : undefined;
  }

  terminalProfile(acquirerId: number, name: string): TerminalProfile | undefined {
    return this.#profiles.get(`${acquirerId} ${name}`);
  }

  /** Terminals that take PINs, each as `<x-tid> of acquirer <id>`. */
  pinTerminals(): string[] {
    const all = [...this.#terminals.values()].filter(({ canTakePin }) => canTakePin);
    return all.map(({ acquirerId, xTid }) => `${xTid} of acquirer ${acquirerId}`);
  }

  routes(acquirerId: number): readonly RouteRecord[] {
    return this.#routes.get(acquirerId) ?? [];
  }

  attesters(acquirerId: number): readonly Attester[] {
    return this.#attesters.get(acquirerId) ?? NO_ATTESTERS;
  }

  isBlockedDevice(acquirerId: number, deviceInstallationId: string): boolean {
    return this.#blockedDevices.has(`${acquirerId} ${deviceInstallationId}`);
  }

  user({ acquirerId, id: merchantId, integratorId }: MerchantRecord, claim: string): KnownUser | undefined {
    const row = this.#users.get(`${acquirerId} ${claim.toLowerCase()}`);
    if (!row) return undefined;
    const { id, isBlocked, permissions } = row;
    const isOwn = (row.merchantId ?? merchantId) === merchantId && (row.integratorId ?? integratorId) === integratorId;
    return { id, isBlocked, isOfAnother: !isOwn, permissions };
  }

  acquirersOf(name: string): readonly number[] {
    return this.#issuers.acquirersOf(name);
  }

  known(issuer: ScopedIssuer): readonly IssuerKey[] {
    return this.#issuers.keys(issuer);
  }

  keySets(issuer: ScopedIssuer): readonly KeySetRegistration[] {
    return this.#issuers.keySets(issuer);
  }

  generation(): string {
    return `${this.#issuers.changes} ${this.#ownersChanged}`;
  }

  findOwned({ acquirerId, integratorId, merchantId }: Tenant, id: string): OwnedMerchant | undefined {
    const merchant = this.#merchants.get(`${acquirerId} ${id}`);
    if (!merchant || (merchantId !== undefined && merchantId !== id)) return undefined;
    if (integratorId !== undefined && merchant.integratorId !== integratorId) return undefined;
    return { acquirerId, integratorId: merchant.integratorId, merchantId: id, isBlocked: merchant.isBlocked };
  }

  isBlocked({ acquirerId, integratorId, merchantId }: Tenant): boolean {
    if (this.#blockedAcquirers.has(acquirerId)) return true;
    if (integratorId !== undefined && this.#integrators.get(`${acquirerId} ${integratorId}`) === true) return true;
    return merchantId !== undefined && this.#merchants.get(`${acquirerId} ${merchantId}`)?.isBlocked === true;
  }

  processors(): readonly ProcessorRecord[] {
    return this.#processors;
  }

  /** From now on calls `onChange` when a processor has been added, changed or removed. */
  followProcessors(onChange: () => void): void {
    this.#onProcessors = onChange;
  }

  webhookEndpoint(acquirerId: number, integratorId: number, serves: WebhookOrigin): string | undefined {
    return this.#endpoints.get(`${acquirerId} ${integratorId} ${serves}`);
  }

  lostWindow(): LostWindow | undefined {
    return this.#lostWindow;
  }

  /** Reads the lost window on a connection to another database. */
  async readLostWindow(client: Pick<pg.ClientBase, 'query'>): Promise<LostWindow | undefined> {
    this.#takeLostWindow((await client.query<LostWindowRow>(LOST_WINDOW)).rows);
    return this.#lostWindow;
  }

  /**
   * Compares the tables if a change was noted. The notes are read before the tables: a change in between is noted, too,
   * and leads to another comparison.
   */
  async #follow(): Promise<void> {
    const { rows } = await this.#database.query<{ noted: string; isMoving: boolean }>(namedStatement(NOTES));
    const { noted, isMoving } = rows[0]!;
    const nowMs = performance.now();
    if (noted === this.#noted && !isMoving && nowMs - this.#comparedAtMs < this.#compareEveryMs) return;
    await this.refresh();
    this.#noted = noted;
    this.#comparedAtMs = nowMs;
  }

  /** Compares all tables now. */
  async refresh(): Promise<void> {
    await Promise.all([
      this.#issuers.refresh(),
      this.refreshTerminalProfiles(),
      this.refreshWebhookEndpoints(),
      ...this.#tables.map((table) => table.look()),
    ]);
  }

  /** For changes by integrators, which may be many: the whole configuration would be compared for each. */
  async refreshWebhookEndpoints(): Promise<void> {
    await this.#endpointRows.look();
  }

  /** Reads the changes of terminal profiles, as `refreshWebhookEndpoints` does for endpoints. */
  async refreshTerminalProfiles(): Promise<void> {
    await this.#profileRows.look();
  }

  /** Each table of the configuration, and what is built from its rows. */
  #followTables(database: Database): readonly Pick<FollowedRows<unknown>, 'look'>[] {
    return [
      new FollowedTable<MerchantRow>(database, MERCHANTS, BY_ID, (changes) => this.#takeMerchants(changes)),
      new FollowedTable<TerminalRow>(database, TERMINALS, 'x."xTid"', (changes) => {
        apply(this.#terminals, changes, (row) => [[`${row.acquirerId} ${row.xTid}`, row]]);
      }),
      new FollowedTable<BlockedDeviceRow>(database, BLOCKED_DEVICES, 'x.device', (changes) => {
        apply(this.#blockedDevices, changes, ({ acquirerId, device }) => [[`${acquirerId} ${device}`, true]]);
      }),
      new FollowedTable<UserRow>(database, USERS, BY_ID, (changes) => {
        apply(this.#users, changes, (user) => namesOf(user).map((name) => [name, user]));
      }),
      ...this.#followSmallTables(database),
    ];
  }

  #followSmallTables(database: Database): readonly Pick<FollowedRows<unknown>, 'look'>[] {
    return [
      new FollowedRows<LostWindowRow>(database, LOST_WINDOW, (rows) => this.#takeLostWindow(rows)),
      new FollowedRows<{ id: number }>(database, BLOCKED_ACQUIRERS, (rows) => {
        this.#blockedAcquirers = new Set(rows.map(({ id }) => id));
      }),
      new FollowedRows<{ acquirerId: number; id: number; isBlocked: boolean }>(database, INTEGRATORS, (rows) => {
        this.#integrators = new Map(rows.map(({ acquirerId, id, isBlocked }) => [`${acquirerId} ${id}`, isBlocked]));
      }),
      new FollowedRows<AttesterRow>(database, ATTESTERS, (rows) => {
        const byAcquirer = Map.groupBy(rows, ({ acquirerId }) => acquirerId);
        this.#attesters = new Map([...byAcquirer].map(([id, own]) => [id, own.map(attesterOf)]));
      }),
      new FollowedRows<RouteRecord & { acquirerId: number }>(database, ROUTES, (rows) => {
        this.#routes = Map.groupBy(rows, ({ acquirerId }) => acquirerId);
      }),
      new FollowedRows<ProcessorRecord>(database, PROCESSORS, (rows) => {
        this.#processors = rows;
        this.#onProcessors();
      }),
    ];
  }

  #takeLostWindow([row]: readonly LostWindowRow[]): void {
    this.#lostWindow = row && { ...row, released: new Set(row.released) };
  }

  #takeMerchants({ gone, present }: RowChanges<MerchantRow>): void {
    const before = new Set(gone.map(ownerOf));
    const isSame = before.size === present.length && present.every((row) => before.has(ownerOf(row)));
    if (!isSame) this.#ownersChanged++;
    apply(this.#merchants, { gone, present }, (row) => [[`${row.acquirerId} ${row.id}`, row]]);
  }
}

/** Applies changed rows to a map by name. */
function apply<Row, Value>(
  known: Map<string, Value>,
  { gone, present }: RowChanges<Row>,
  entriesOf: (row: Row) => readonly (readonly [string, Value])[],
): void {
  for (const row of gone) for (const [name] of entriesOf(row)) known.delete(name);
  for (const row of present) for (const [name, value] of entriesOf(row)) known.set(name, value);
}

/** The owner of a merchant, and whether it is blocked: verified tokens depend on both. */
function ownerOf({ acquirerId, id, integratorId, isBlocked }: MerchantRow): string {
  return JSON.stringify([acquirerId, id, integratorId, isBlocked]);
}

/** A key that cannot be read verifies nothing, so that its acquirer's taps are refused. */
function attesterOf({ publicKey: pem, ...attester }: AttesterRow): Attester {
  return { ...attester, key: readIssuerPem(pem) };
}

function profileOf({ name, terminalCurrencyCode, overrides, reader }: ProfileRow): TerminalProfile {
  const currency = terminalCurrencyCode !== null && { terminalCurrencyCode };
  return { name, overrides, ...currency, ...(reader !== null && { reader }) };
}

/** The names with which a `usr` claim may mean a user. */
function namesOf({ acquirerId, id, username }: UserRow): string[] {
  return [id, username.toLowerCase()].map((claim) => `${acquirerId} ${claim}`);
}

/** For merchants and users: their acquirers are few, their ids many. */
const BY_ID = 'x.id::text';

/**
 * A change has another count or sum of ids in every order of commits. Another server may have another past. While an
 * acquirer is moved, replication writes its rows without notes, and what is served here depends on the time.
 */
const NOTES = `select concat(count(*), ' ', sum(id), ' ', pg_postmaster_start_time()) as noted,
  exists (select from acquirer_cells where state not in ('serving', 'gone')) as "isMoving" from settings_changes`;

const BLOCKED_ACQUIRERS = 'select id from acquirers where is_blocked';
const INTEGRATORS = `select i.acquirer_id as "acquirerId", i.id, i.is_blocked or a.is_blocked as "isBlocked"
  from integrators i join acquirers a on a.id = i.acquirer_id`;
const MERCHANTS = `select m.acquirer_id as "acquirerId", m.id, m.integrator_id as "integratorId", m.name, m.street, m.city, m.country,
  m.mcc, m.currency, m.time_zone as "timeZone", m.fees_config_id as "feesConfigId", m.fee::float8 as fee,
  m.is_blocked or i.is_blocked or a.is_blocked as "isBlocked"
  from merchants m join integrators i on i.acquirer_id = m.acquirer_id and i.id = m.integrator_id
  join acquirers a on a.id = m.acquirer_id`;
const TERMINALS = `select acquirer_id as "acquirerId", x_tid as "xTid", tid, mid, can_take_pin as "canTakePin",
  profile_name as "profileName", merchant_id as "merchantId" from terminals`;
const PROFILES = `select acquirer_id as "acquirerId", name, updated_at::text as version, currency as "terminalCurrencyCode",
  overrides, reader from terminal_profiles`;
const ROUTES = `select acquirer_id as "acquirerId", id, processor_id as "processorId", priority, currency, scheme,
  x_tid as "xTid", removed_at is not null as "isRemoved" from routes order by priority, id`;
const ATTESTERS = `select acquirer_id as "acquirerId", issuer, public_key as "publicKey", max_age_seconds as "maxAgeSeconds",
  least_app_version as "leastAppVersion", is_required as "isRequired" from attesters order by acquirer_id, name`;
const BLOCKED_DEVICES = `select acquirer_id as "acquirerId", device_installation_id as device from blocked_devices`;
const USERS = `select acquirer_id as "acquirerId", id, integrator_id as "integratorId", merchant_id as "merchantId", username,
  is_blocked as "isBlocked", permissions from users`;
const ENDPOINTS = `select acquirer_id as "acquirerId", integrator_id as "integratorId", serves, id from webhook_endpoints`;
const PROCESSORS = `select acquirer_id as "acquirerId", id, type, config, switch_identity as identity,
  json_build_object('number', switch_revision, 'sameSince', same_switch_since) as revision from processors
  where removed_at is null and acquirer_id not in (select e.acquirer_id from served_elsewhere e)
  order by acquirer_id, id`;
