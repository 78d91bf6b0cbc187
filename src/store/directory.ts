import type {
  IssuerKey,
  KeySetRegistration,
  Merchants,
  OwnedMerchant,
  RegisteredIssuers,
} from '../auth/issuer-keys.ts';
import type {
  Directory,
  KnownUser,
  MerchantRecord,
  RouteRecord,
  Tenant,
  TerminalRecord,
  WebhookOrigin,
} from '../transactions/ports.ts';
import type { TerminalProfile } from '../transactions/terminal-profile.ts';
import { IssuerDirectory } from './issuer-directory.ts';
import type { Database } from './open-database.ts';
import { TerminalProfileCache } from './terminal-profile-cache.ts';

/** A processor of an acquirer with the configuration of its switch, as stored; its schema checks it where it is used. */
export interface ProcessorRecord {
  readonly acquirerId: number;
  readonly id: number;
  readonly type: string;
  readonly config: unknown;
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

/** Blocked are also those whose integrator or acquirer is. */
interface MerchantRow extends MerchantRecord {
  readonly isBlocked: boolean;
}

/** A change (a revoked key, a blocked device) counts everywhere within this time plus one query: below the promised 5 s. */
const REFRESH_EVERY_MS = 2_000;

/**
 * The installation's configuration by tenant, read whole and often: it is small, every tap asks for it, and a tap must
 * not wait for it. While the database is away the last known state serves.
 */
export class PostgresDirectory implements Directory, RegisteredIssuers, Merchants {
  readonly #database: Database;
  readonly #profiles: TerminalProfileCache;
  readonly #issuers: IssuerDirectory;
  #timer: NodeJS.Timeout | undefined;
  #integrators = new Set<string>();
  #merchants = new Map<string, MerchantRow>();
  #terminals = new Map<string, TerminalRecord & { readonly acquirerId: number }>();
  #routes = new Map<number, RouteRecord[]>();
  #blockedDevices = new Set<string>();
  #users = new Map<string, UserRow>();
  /** What the last refresh read of keys and merchants: verified tokens stand while it stays the same. */
  #known = '';
  #generation = 0;
  #processors: readonly ProcessorRecord[] = [];
  #endpoints = new Map<string, string>();

  private constructor(database: Database) {
    this.#database = database;
    this.#profiles = new TerminalProfileCache(database);
    this.#issuers = new IssuerDirectory(database);
  }

  static async open(database: Database): Promise<PostgresDirectory> {
    const directory = new PostgresDirectory(database);
    await directory.refresh();
    directory.#schedule();
    return directory;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  hasIntegrator(acquirerId: number, integratorId: number): boolean {
    return this.#integrators.has(`${acquirerId} ${integratorId}`);
  }

  merchant(acquirerId: number, merchantId: string): MerchantRecord | undefined {
    return this.#merchants.get(`${acquirerId} ${merchantId}`);
  }

  terminal(acquirerId: number, xTid: string): TerminalRecord | undefined {
    return this.#terminals.get(`${acquirerId} ${xTid}`);
  }

  terminalProfile(acquirerId: number, name: string): TerminalProfile | undefined {
    return this.#profiles.find(acquirerId, name);
  }

  /** Terminals that take PINs, each as `<x-tid> of acquirer <id>`. */
  pinTerminals(): string[] {
    const all = [...this.#terminals.values()].filter(({ canTakePin }) => canTakePin);
    return all.map(({ acquirerId, xTid }) => `${xTid} of acquirer ${acquirerId}`);
  }

  routes(acquirerId: number): readonly RouteRecord[] {
    return this.#routes.get(acquirerId) ?? [];
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

  async find(issuer: string): Promise<readonly IssuerKey[]> {
    return this.#issuers.keys(issuer);
  }

  keySets(issuer: string): readonly KeySetRegistration[] {
    return this.#issuers.keySets(issuer);
  }

  async generation(): Promise<string> {
    return String(this.#generation);
  }

  async findOwned({ acquirerId, integratorId, merchantId }: Tenant, id: string): Promise<OwnedMerchant | undefined> {
    const merchant = this.#merchants.get(`${acquirerId} ${id}`);
    if (!merchant || (merchantId !== undefined && merchantId !== id)) return undefined;
    if (integratorId !== undefined && merchant.integratorId !== integratorId) return undefined;
    return { acquirerId, integratorId: merchant.integratorId, merchantId: id, isBlocked: merchant.isBlocked };
  }

  processors(): readonly ProcessorRecord[] {
    return this.#processors;
  }

  webhookEndpoint(acquirerId: number, integratorId: number, serves: WebhookOrigin): string | undefined {
    return this.#endpoints.get(`${acquirerId} ${integratorId} ${serves}`);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.refresh()
        .catch(() => {}) // readiness tells that the database is away
        .finally(() => this.#schedule());
    }, REFRESH_EVERY_MS).unref();
  }

  async refresh(): Promise<void> {
    const read = async <Row extends object>(sql: string): Promise<Row[]> => (await this.#database.query<Row>(sql)).rows;
    const [integrators, merchants, terminals, routes, devices, users, keys, processors, endpoints] = await Promise.all([
      read<{ acquirerId: number; id: number }>(INTEGRATORS),
      read<MerchantRow>(MERCHANTS),
      read<TerminalRecord & { acquirerId: number }>(TERMINALS),
      read<RouteRecord & { acquirerId: number }>(ROUTES),
      read<{ acquirerId: number; device: string }>(BLOCKED_DEVICES),
      read<UserRow>(USERS),
      this.#issuers.refresh(),
      read<ProcessorRecord>(PROCESSORS),
      read<EndpointRow>(ENDPOINTS),
      this.#profiles.refresh(),
    ]);
    this.#integrators = new Set(integrators.map(({ acquirerId, id }) => `${acquirerId} ${id}`));
    this.#merchants = new Map(merchants.map((row) => [`${row.acquirerId} ${row.id}`, row]));
    this.#terminals = new Map(terminals.map((row) => [`${row.acquirerId} ${row.xTid}`, row]));
    this.#routes = Map.groupBy(routes, ({ acquirerId }) => acquirerId);
    this.#blockedDevices = new Set(devices.map(({ acquirerId, device }) => `${acquirerId} ${device}`));
    this.#users = new Map(
      users.flatMap((user) =>
        [user.id, user.username.toLowerCase()].map((claim) => [`${user.acquirerId} ${claim}`, user]),
      ),
    );
    const known = JSON.stringify([
      keys,
      merchants.map(({ acquirerId, id, integratorId, isBlocked }) => [acquirerId, id, integratorId, isBlocked]),
    ]);
    if (known !== this.#known) this.#generation++;
    this.#known = known;
    this.#processors = processors;
    this.#endpoints = new Map(
      endpoints.map(({ acquirerId, integratorId, serves, id }) => [`${acquirerId} ${integratorId} ${serves}`, id]),
    );
  }
}

const INTEGRATORS = 'select acquirer_id as "acquirerId", id from integrators';
const MERCHANTS = `select m.acquirer_id as "acquirerId", m.id, m.integrator_id as "integratorId", m.name, m.street, m.city, m.country,
  m.mcc, m.currency, m.time_zone as "timeZone", m.fees_config_id as "feesConfigId", m.fee::float8 as fee,
  m.is_blocked or i.is_blocked or a.is_blocked as "isBlocked"
  from merchants m join integrators i on i.acquirer_id = m.acquirer_id and i.id = m.integrator_id
  join acquirers a on a.id = m.acquirer_id`;
const TERMINALS = `select acquirer_id as "acquirerId", x_tid as "xTid", tid, mid, can_take_pin as "canTakePin",
  profile_name as "profileName" from terminals`;
const ROUTES = `select acquirer_id as "acquirerId", id, processor_id as "processorId", priority, currency, scheme,
  x_tid as "xTid", removed_at is not null as "isRemoved" from routes order by priority, id`;
const BLOCKED_DEVICES = `select acquirer_id as "acquirerId", device_installation_id as device from blocked_devices`;
const USERS = `select acquirer_id as "acquirerId", id, integrator_id as "integratorId", merchant_id as "merchantId", username,
  is_blocked as "isBlocked", permissions from users`;
const ENDPOINTS = `select acquirer_id as "acquirerId", integrator_id as "integratorId", serves, id from webhook_endpoints`;
const PROCESSORS = `select acquirer_id as "acquirerId", id, type, config from processors where removed_at is null
  order by acquirer_id, id`;
