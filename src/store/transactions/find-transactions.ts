import type pg from 'pg';
import type { AuditEntry, Tenant, TransactionFilter } from '../../transactions/ports.ts';
import type { Transaction, TransactionKey } from '../../transactions/transaction.ts';
import type { Database } from '../postgres/open-database.ts';
import { ATTEMPT_COLUMNS, columnName } from './transaction-columns.ts';

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

/** Every column under its property's name; times as milliseconds. */
const SELECT = `select ${PROPERTIES.map((property) =>
  property.endsWith('AtMs')
    ? `(extract(epoch from ${columnName(property)}) * 1000)::float8 as "${property}"`
    : `${columnName(property)} as "${property}"`,
).join(', ')}, extract(epoch from deadline_at - sent_at)::float8 as "deadlineSeconds" from transactions`;

export async function findTransaction(database: Database, key: TransactionKey): Promise<Transaction | undefined> {
  const { rows } = await database.query<Transaction>({
    name: 'find-transaction',
    text: `${SELECT} where acquirer_id = $1 and id = $2`,
    values: [key.acquirerId, key.id],
  });
  return rows[0];
}

/** As many of them as there are. */
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

export async function findByReference(
  database: Database,
  acquirerId: number,
  merchantId: string,
  merchantReference: string,
): Promise<Transaction | undefined> {
  const { rows } = await database.query<Transaction>({
    name: 'find-by-reference',
    text: `${SELECT} where acquirer_id = $1 and merchant_id = $2 and merchant_reference = $3`,
    values: [acquirerId, merchantId, merchantReference],
  });
  return rows[0];
}

/**
 * The last tap that a reference stands for at the merchants of a tenant. That of a link stands for the last tap on it, whatever
 * that one was submitted under.
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
        select t.id from m join transactions t
          on t.acquirer_id = $1 and t.merchant_id = m.id and t.merchant_reference = $4 and t.original_id is null
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
    text: `select handover, extract(epoch from answer_by - clock_timestamp())::float8 as "secondsLeft"
      from transactions where acquirer_id = $1 and id = $2 and handover is not null`,
    values: [key.acquirerId, key.id],
  });
  return rows[0];
}

/** One transaction of a tenant: what belongs to somebody else is not found. */
export async function findOwned(database: Database, tenant: Tenant, id: string): Promise<Transaction | undefined> {
  const conditions = new Conditions(tenant);
  conditions.add('id = $', id);
  const { rows } = await database.query<Transaction>(`${SELECT} where ${conditions.sql}`, conditions.values);
  return rows[0];
}

/** Newest first, at most `filter.limit`. */
export async function listTransactions(
  database: Database,
  tenant: Tenant,
  filter: TransactionFilter,
): Promise<Transaction[]> {
  const conditions = new Conditions(tenant);
  if (filter.user !== undefined) conditions.add(`${USER} = ${knownUser(tenant.acquirerId)}`, filter.user);
  conditions.addIfGiven('created_at >= $::date', filter.startDate);
  conditions.addIfGiven('created_at < $::date + 1', filter.endDate);
  if (filter.merchantReference !== undefined) addReference(conditions, tenant, filter.merchantReference);
  if (filter.disposition !== undefined) {
    conditions.add(`${filter.disposition === 0 ? 'disposition' : 'other_disposition'} = $`, filter.disposition);
  }
  conditions.addIfGiven(`${AMOUNT_MAJOR} >= $::numeric`, filter.minAmount);
  conditions.addIfGiven(`${AMOUNT_MAJOR} <= $::numeric`, filter.maxAmount);
  if (filter.needsReview !== undefined) conditions.addPlain(filter.needsReview ? 'needs_review' : 'not needs_review');
  if (filter.after !== undefined) {
    // Among its own alone: that of somebody else would tell when it was made.
    const after = `${conditions.ownSql} and id = ${conditions.parameter(filter.after)}`;
    conditions.addPlain(`(created_at, id) < (select created_at, id from transactions where ${after})`);
  }
  const { rows } = await database.query<Transaction>(
    `${SELECT} where ${conditions.sql} order by created_at desc, id desc limit ${conditions.parameter(filter.limit)} offset ${conditions.parameter(filter.offset)}`,
    conditions.values,
  );
  return rows;
}

// minAmount and maxAmount are major units whatever the currency, so each row is scaled by its own exponent.
const AMOUNT_MAJOR = `(amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 else 100 end::numeric)`;

/** As transactions_by_user has it: our user's id, or what the token said of somebody else's. */
const USER = 'coalesce(user_id::text, user_claim)';

/** A name of one of our users means the user, whichever of the two it is. */
function knownUser(acquirerId: number): string {
  return `coalesce((select id::text from users where acquirer_id = ${acquirerId} and (id::text = $ or username = $) limit 1), $)`;
}

/** A reference is unique within a merchant: so it is asked of each that the tenant has, and that is what its index is for. */
function addReference(
  conditions: Conditions,
  { acquirerId, integratorId, merchantId }: Tenant,
  reference: string,
): void {
  conditions.add('merchant_reference = $', reference);
  if (merchantId !== undefined) return;
  const ofIntegrator = integratorId === undefined ? '' : ` and integrator_id = ${integratorId}`;
  conditions.addPlain(
    `merchant_id = any(array(select id from merchants where acquirer_id = ${acquirerId}${ofIntegrator}))`,
  );
}

/** Collects `and`-ed conditions; a tenant always comes first. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];
  /** That a row is the tenant's. */
  readonly ownSql: string;

  constructor(tenant: Tenant) {
    this.add('acquirer_id = $', tenant.acquirerId);
    this.addIfGiven('integrator_id = $', tenant.integratorId);
    this.addIfGiven('merchant_id = $', tenant.merchantId);
    this.ownSql = this.sql;
  }

  /** Each `$` in `condition` becomes the number of its value's parameter. */
  add(condition: string, value: unknown): void {
    const number = this.parameter(value);
    this.#conditions.push(condition.replaceAll('$', () => number));
  }

  addPlain(condition: string): void {
    this.#conditions.push(condition);
  }

  addIfGiven(condition: string, value: unknown): void {
    if (value !== undefined) this.add(condition, value);
  }

  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  get sql(): string {
    return this.#conditions.join(' and ');
  }
}

/** The audit trail of one attempt after the other, oldest first. */
export async function findEvents(
  database: Database,
  key: TransactionKey,
): Promise<{ attempt: number; moves: AuditEntry[] }[]> {
  const { rows } = await database.query<{ attempt: number; moves: AuditEntry[] }>({
    name: 'find-events',
    text: 'select attempt, moves from transaction_events where acquirer_id = $1 and transaction_id = $2 order by id',
    values: [key.acquirerId, key.id],
  });
  return rows;
}
