import type { SigningAlgorithm } from '#schemas/tokens';
import type { MerchantRecord } from '../../payments/ports/directory-ports.ts';
import type { Database } from '../postgres/open-database.ts';

/** Writes tenants. Each write is an upsert with the natural key, so a set-up can be repeated. */

export async function saveAcquirer(database: Database, id: number, name: string): Promise<void> {
  await database.query(
    'insert into acquirers (id, name) values ($1, $2) on conflict (id) do update set name = excluded.name',
    [id, name],
  );
}

export async function saveIntegrator(database: Database, acquirerId: number, id: number, name: string): Promise<void> {
  await database.query(
    `insert into integrators (acquirer_id, id, name) values ($1, $2, $3)
     on conflict (acquirer_id, id) do update set name = excluded.name`,
    [acquirerId, id, name],
  );
}

export type NewMerchant = Omit<MerchantRecord, 'feesConfigId' | 'fee'>;

export async function saveMerchants(database: Database, merchants: readonly NewMerchant[]): Promise<void> {
  await database.query(
    `insert into merchants (acquirer_id, id, integrator_id, name, street, city, country, mcc, currency, time_zone)
     select "acquirerId", id, "integratorId", name, street, city, country, mcc, currency, "timeZone"
     from json_to_recordset($1::text::json) as x("acquirerId" integer, id text, "integratorId" integer, name text, street text,
       city text, country text, mcc text, currency text, "timeZone" text)
     on conflict (acquirer_id, id) do update set integrator_id = excluded.integrator_id, name = excluded.name,
       street = excluded.street, city = excluded.city, country = excluded.country, mcc = excluded.mcc,
       currency = excluded.currency, time_zone = excluded.time_zone`,
    [JSON.stringify(merchants)],
  );
}

export interface NewTerminal {
  readonly acquirerId: number;
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly canTakePin: boolean;
  /** The only merchant that may use the terminal; undefined if every merchant of the acquirer may. */
  readonly merchantId?: string | undefined;
}

export async function saveTerminals(database: Database, terminals: readonly NewTerminal[]): Promise<void> {
  await database.query(
    `insert into terminals (acquirer_id, x_tid, tid, mid, can_take_pin, merchant_id)
     select "acquirerId", "xTid", tid, mid, "canTakePin", "merchantId"
     from json_to_recordset($1::text::json)
       as x("acquirerId" integer, "xTid" text, tid text, mid text, "canTakePin" boolean, "merchantId" text)
     on conflict (acquirer_id, x_tid) do update set tid = excluded.tid, mid = excluded.mid,
       can_take_pin = excluded.can_take_pin, merchant_id = excluded.merchant_id`,
    [JSON.stringify(terminals)],
  );
}

export interface NewIssuerKey {
  readonly issuer: string;
  readonly kid: string;
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly algorithms: readonly SigningAlgorithm[];
  /** PEM. */
  readonly publicKey: string;
}

/** For a key that the caller has made itself, so that it needs no proof. */
export async function saveIssuerKey(database: Database, key: NewIssuerKey): Promise<void> {
  const { issuer, kid, acquirerId, integratorId, algorithms, publicKey } = key;
  await database.query(
    `insert into issuer_keys (issuer, kid, acquirer_id, integrator_id, algorithms, public_key, proven_at)
     values ($1, $2, $3, $4, $5, $6, now())
     on conflict (acquirer_id, issuer, kid) do update
       set public_key = excluded.public_key, algorithms = excluded.algorithms, proven_at = excluded.proven_at`,
    [issuer, kid, acquirerId, integratorId, algorithms, publicKey],
  );
}

export interface NewUser {
  readonly acquirerId: number;
  readonly id: string;
  readonly merchantId: string | null;
  readonly username: string;
  readonly passwordHash: string;
  readonly role: 'admin' | 'operator' | 'viewer';
}

export async function saveUser(database: Database, user: NewUser): Promise<void> {
  const { acquirerId, id, merchantId, username, passwordHash, role } = user;
  await database.query(
    `insert into users (acquirer_id, id, merchant_id, username, password_hash, role) values ($1, $2, $3, $4, $5, $6)
     on conflict (lower(username)) do update set password_hash = excluded.password_hash, role = excluded.role`,
    [acquirerId, id, merchantId, username, passwordHash, role],
  );
}

/** Another configuration is another switch. */
export async function saveProcessor(
  database: Database,
  processor: { readonly acquirerId: number; readonly id: number; readonly type: string; readonly config: object },
): Promise<void> {
  const { acquirerId, id, type, config } = processor;
  await database.query(
    `insert into processors as p (acquirer_id, id, type, config) values ($1, $2, $3, $4)
     on conflict (acquirer_id, id) do update set type = excluded.type, config = excluded.config, removed_at = null,
       switch_identity = null, switch_revision = p.switch_revision + (p.config <> excluded.config)::integer,
       same_switch_since = case when p.config = excluded.config then p.same_switch_since else p.switch_revision + 1 end`,
    [acquirerId, id, type, config],
  );
}

export interface NewRoute {
  readonly acquirerId: number;
  readonly id: number;
  readonly processorId: number;
  readonly priority: number;
  readonly currency?: string | undefined;
  readonly scheme?: string | undefined;
  readonly xTid?: string | undefined;
}

export async function saveRoute(database: Database, route: NewRoute): Promise<void> {
  const { acquirerId, id, processorId, priority, currency = null, scheme = null, xTid = null } = route;
  await database.query(
    `insert into routes (acquirer_id, id, processor_id, priority, currency, scheme, x_tid) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (acquirer_id, id) do update set processor_id = excluded.processor_id, priority = excluded.priority,
       currency = excluded.currency, scheme = excluded.scheme, x_tid = excluded.x_tid, removed_at = null`,
    [acquirerId, id, processorId, priority, currency, scheme, xTid],
  );
}
