import type { Device } from '#schemas/device';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import type {
  DevicePage,
  DeviceRefusal,
  DeviceRegistration,
  DeviceStore,
  DeviceUser,
  PushDevice,
} from '../../push/ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';

/** Phones at one merchant's tills; a chain has a merchant for each shop. */
const MAX_DEVICES_PER_MERCHANT = 1_000;

const SHOWN = `d.id, d.device_installation_id as "deviceInstallationId", d.friendly_name as "friendlyName",
  d.merchant_id as "merchantId", d.sealed_push_token is not null as "hasPushToken", d.created_at as "createdAt"`;

/** Rows of the tenant: $1 acquirer, $2 integrator or null, $3 merchant or null. */
const OWNED = `d.acquirer_id = $1 and ($3::text is null or d.merchant_id = $3) and ($2::integer is null or exists (
  select from merchants m where m.acquirer_id = d.acquirer_id and m.id = d.merchant_id and m.integrator_id = $2))`;

/** Whether the user, null for an administrator, may change the row. A device that a key registered has no user. */
function mayChange(user: string): string {
  return `(${user}::text is null or d.registered_by = ${user})`;
}

// xmax is 0 in a row that this statement has inserted.
const REGISTER = `
insert into devices as d (acquirer_id, merchant_id, device_installation_id, friendly_name, sealed_push_token, registered_by)
select $1, $2, $3, $4, $5, $6 where exists (
  select from devices where acquirer_id = $1 and merchant_id = $2 and device_installation_id = $3
) or (select count(*) from devices where acquirer_id = $1 and merchant_id = $2) < ${MAX_DEVICES_PER_MERCHANT}
on conflict (acquirer_id, merchant_id, device_installation_id) do update
set friendly_name = excluded.friendly_name, sealed_push_token = excluded.sealed_push_token, updated_at = clock_timestamp()
where ${mayChange('$6')}
returning ${SHOWN}, d.xmax = 0 as "isNew"`;

const LIST = `
select ${SHOWN} from devices d where ${OWNED} and ($4::uuid is null or (d.created_at, d.id) < (
  select d.created_at, d.id from devices d where ${OWNED} and d.id = $4))
order by d.created_at desc, d.id desc limit $5`;

const RENAME = `update devices d set friendly_name = $5, updated_at = clock_timestamp() where ${OWNED} and d.id = $4 and ${mayChange('$6')}
  returning ${SHOWN}`;

const REMOVE = `delete from devices d where ${OWNED} and d.id = $4 and ${mayChange('$5')}`;

const IS_KNOWN = `select from devices d where ${OWNED} and (d.id::text = $4 or d.device_installation_id = $4)`;

const FIND = `
select d.acquirer_id as "acquirerId", m.integrator_id as "integratorId", d.merchant_id as "merchantId", d.id,
  d.device_installation_id as "deviceInstallationId", d.sealed_push_token as "sealedPushToken"
from devices d join merchants m on m.acquirer_id = d.acquirer_id and m.id = d.merchant_id
where ${OWNED} and (d.device_installation_id = $4 or d.id::text = lower($4)) limit 2`;

const DROP_TOKEN = `update devices set sealed_push_token = null, updated_at = clock_timestamp()
  where acquirer_id = $1 and id = $2 and sealed_push_token = $3`;

type Row = Omit<Device, 'createdAt'> & { readonly createdAt: Date };

/** Devices in the database, each of a merchant. */
export class PostgresDevices implements DeviceStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async register(registration: DeviceRegistration): Promise<{ device: Device; isNew: boolean } | DeviceRefusal> {
    const { acquirerId, merchantId, deviceInstallationId, friendlyName, sealedPushToken, user } = registration;
    const values = [acquirerId, merchantId, deviceInstallationId, friendlyName, sealedPushToken, user];
    const [row] = await this.#rows<Row & { readonly isNew: boolean }>(REGISTER, values);
    if (!row)
      return (await this.#isKnown({ acquirerId, merchantId }, deviceInstallationId)) ? 'ofAnotherUser' : 'tooMany';
    const { isNew, ...device } = row;
    return { device: shown(device), isNew };
  }

  async list(owner: Tenant, { after, limit }: DevicePage): Promise<Device[]> {
    return (await this.#rows<Row>(LIST, [...tenantOf(owner), after ?? null, limit])).map(shown);
  }

  async rename(owner: Tenant, user: DeviceUser, id: string, friendlyName: string): Promise<Device | DeviceRefusal> {
    const [row] = await this.#rows<Row>(RENAME, [...tenantOf(owner), id, friendlyName, user]);
    return row ? shown(row) : this.#refusal(owner, id);
  }

  async remove(owner: Tenant, user: DeviceUser, id: string): Promise<'removed' | DeviceRefusal> {
    const { rowCount } = await mapConnectionLoss(this.#database.query(REMOVE, [...tenantOf(owner), id, user]));
    return rowCount === 1 ? 'removed' : this.#refusal(owner, id);
  }

  find(owner: Tenant, deviceId: string): Promise<PushDevice[]> {
    return this.#rows<PushDevice>(FIND, [...tenantOf(owner), deviceId]);
  }

  async dropToken({ acquirerId, id, sealedPushToken }: PushDevice): Promise<void> {
    await mapConnectionLoss(this.#database.query(DROP_TOKEN, [acquirerId, id, sealedPushToken]));
  }

  async #refusal(owner: Tenant, id: string): Promise<DeviceRefusal> {
    return (await this.#isKnown(owner, id)) ? 'ofAnotherUser' : 'unknown';
  }

  async #isKnown(owner: Tenant, id: string): Promise<boolean> {
    const { rowCount } = await mapConnectionLoss(this.#database.query(IS_KNOWN, [...tenantOf(owner), id]));
    return rowCount !== 0;
  }

  async #rows<Found extends object>(text: string, values: unknown[]): Promise<Found[]> {
    return (await mapConnectionLoss(this.#database.query<Found>(text, values))).rows;
  }
}

function tenantOf({ acquirerId, integratorId, merchantId }: Tenant): unknown[] {
  return [acquirerId, integratorId ?? null, merchantId ?? null];
}

function shown({ createdAt, ...device }: Row): Device {
  return { ...device, createdAt: createdAt.toISOString() };
}
