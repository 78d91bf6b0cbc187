import type pg from 'pg';
import type { AuditEntry } from '../../payments/model/decision.ts';
import type { Transaction, TransactionKey } from '../../payments/model/transaction.ts';
import type { StoredTransaction, Tenant } from '../../payments/ports/store-ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { fromDay } from '../postgres/partitions.ts';
import { readEntries, type StoredEntry } from './guarded-update.ts';
import { ATTEMPT_COLUMNS, selectList } from './transaction-columns.ts';

const VALUE = /\$(?!\d)/g;

/**
 * Collects `and`-ed conditions on rows; those of a tenant always come first. Each has a name that represents its
 * text, so that all names together identify the statement.
 */
export class TenantConditions {
  readonly values: unknown[] = [];
  readonly #names: string[] = [];
  readonly #conditions: string[] = [];
  /** The condition that a row belongs to the tenant. */
  readonly ownSql: string;
  /** The parameters of its ids. */
  readonly acquirer: string;
  readonly integrator: string | undefined;
  readonly #ownNames: number;

  constructor({ acquirerId, integratorId, merchantId }: Tenant) {
    this.acquirer = this.add('acquirer', 'acquirer_id = $', acquirerId);
    this.integrator =
      integratorId === undefined ? undefined : this.add('integrator', 'integrator_id = $', integratorId);
    if (merchantId !== undefined) this.add('merchant', 'merchant_id = $', merchantId);
    this.ownSql = this.sql;
    this.#ownNames = this.#names.length;
  }

  /** Each `$` without a number in `condition` becomes the parameter of its value. @returns the parameter: `$3` */
  add(name: string, condition: string, value: unknown): string {
    const parameter = this.parameter(value);
    this.addPlain(
      name,
      condition.replaceAll(VALUE, () => parameter),
    );
    return parameter;
  }

  addIfGiven(name: string, condition: string, value: unknown): void {
    if (value !== undefined) this.add(name, condition, value);
  }

  addPlain(name: string, condition: string): void {
    this.#names.push(name);
    this.#conditions.push(condition);
  }

  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get sql(): string {
    return this.#conditions.join(' and ');
  }

  get name(): string {
    return this.#names.join(' ');
  }

  /** The same without the tenant's conditions. */
  get addedNames(): readonly string[] {
    return this.#names.slice(this.#ownNames);
  }
}

const PROPERTIES = [
  'acquirerId',
  'id',
  'merchantId',
  'integratorId',
  'merchantReference',
  'createdAtMs',
  'refundedMinor',
  'voidState',
  ...Object.keys(ATTEMPT_COLUMNS),
  'pinExpiresAtMs',
].filter((property) => property !== 'handover');

const SELECT = `select ${selectList(PROPERTIES)}, deadline_seconds as "deadlineSeconds" from transactions`;

export async function findTransaction(database: Database, key: TransactionKey): Promise<Transaction | undefined> {
  const { rows } = await database.query<Transaction>({
    name: 'find-transaction',
    text: `${SELECT} where acquirer_id = $1 and id = $2`,
    values: [key.acquirerId, key.id],
  });
  return rows[0];
}

/** Ids that do not exist are missing in the result. */
export async function findTransactions(
  client: Pick<pg.ClientBase, 'query'>,
  keys: readonly TransactionKey[],
): Promise<Transaction[]> {
  const { rows } = await client.query<Transaction>({
    name: 'find-transactions',
    text: `${SELECT} where (acquirer_id, id) in (select * from unnest($1::integer[], $2::uuid[]))`,
    values: [keys.map(({ acquirerId }) => acquirerId), keys.map(({ id }) => id)],
  });
  return rows;
}

/** The id of the transaction that has a reference of a merchant. It may be archived. */
const NAMED =
  'select id from merchant_references where acquirer_id = $1 and merchant_id = $2 and merchant_reference = $3';

export async function findByReference(
  database: Database,
  acquirerId: number,
  merchantId: string,
  merchantReference: string,
): Promise<Transaction | undefined> {
  const { rows } = await database.query<Transaction>({
    name: 'find-by-reference',
    text: `${SELECT} where acquirer_id = $1 and id = (${NAMED})`,
    values: [acquirerId, merchantId, merchantReference],
  });
  return rows[0];
}

/**
 * The last tap with a reference at the merchants of a tenant. The reference of a link returns the last tap on it,
 * under any reference that this tap was submitted with.
 */
export async function findTapByReference(
  database: Database,
  { acquirerId, integratorId, merchantId }: Tenant,
  merchantReference: string,
): Promise<Transaction | undefined> {
  const { rows } = await database.query<Transaction>({
    name: 'find-tap-by-reference',
    text: `
      with m as (select id from merchants
        where acquirer_id = $1 and ($2::integer is null or integrator_id = $2) and ($3::text is null or id = $3)),
      named as (
        select t.id from m
        join merchant_references r on r.acquirer_id = $1 and r.merchant_id = m.id and r.merchant_reference = $4
        join transactions t on t.acquirer_id = $1 and t.id = r.id and t.original_id is null
        union
        select t.id from m join links l on l.acquirer_id = $1 and l.merchant_id = m.id and l.payment_reference = $4
        join transactions t on t.acquirer_id = $1 and t.id = l.transaction_id and t.consumer_id = l.id
      )
      ${SELECT} where acquirer_id = $1 and id in (select id from named) order by created_at desc limit 1`,
    values: [acquirerId, integratorId, merchantId, merchantReference],
  });
  return rows[0];
}

export async function findHandover(
  database: Database,
  key: TransactionKey,
): Promise<{ handover: Uint8Array; secondsLeft: number } | undefined> {
  const { rows } = await database.query<{ handover: Uint8Array; secondsLeft: number }>({
    name: 'find-handover',
    text: `select handover, extract(epoch from respond_by - clock_timestamp())::float8 as "secondsLeft"
      from transactions where acquirer_id = $1 and id = $2 and handover is not null`,
    values: [key.acquirerId, key.id],
  });
  return rows[0];
}

/** One transaction of a tenant; those of other tenants are not found. */
export async function findOwned(database: Database, tenant: Tenant, id: string): Promise<Transaction | undefined> {
  const conditions = new TenantConditions(tenant);
  conditions.add('id', 'id = $', id);
  const { rows } = await database.query<Transaction>({
    name: `find-owned ${conditions.name}`,
    text: `${SELECT} where ${conditions.sql}`,
    values: conditions.values,
  });
  return rows[0];
}

const FIND_EVENTS = `
select attempt, moves from transaction_events
where acquirer_id = $1 and transaction_id = $2 and ${fromDay('$3::timestamptz')} order by id`;

/**
 * The audit trail by attempt, oldest first. The statement has no name: with a plan of its own for each search, only the
 * partitions are locked that it reads.
 */
export async function findEvents(
  database: Database,
  { acquirerId, id, createdAtMs }: StoredTransaction,
): Promise<{ attempt: number; auditEntries: AuditEntry[] }[]> {
  const { rows } = await database.query<{ attempt: number; moves: StoredEntry[] }>(FIND_EVENTS, [
    acquirerId,
    id,
    new Date(createdAtMs),
  ]);
  return rows.map(({ attempt, moves }) => ({ attempt, auditEntries: readEntries(moves) }));
}

/** Two look-ups in unique indexes. */
const IS_FREE = `select not exists (
    ${NAMED})
  and not exists (
    select from links where acquirer_id = $1 and merchant_id = $2 and payment_reference = $3 and not is_expired) as free`;

/** Whether no transaction and no live or paid link or intent of the merchant has the reference. */
export async function isReferenceFree(
  database: Database,
  acquirerId: number,
  merchantId: string,
  reference: string,
): Promise<boolean> {
  const query = { name: 'is-reference-free', text: IS_FREE, values: [acquirerId, merchantId, reference] };
  const { rows } = await mapConnectionLoss(database.query<{ free: boolean }>(query));
  return rows[0]!.free;
}
