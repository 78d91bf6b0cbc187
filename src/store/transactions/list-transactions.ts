import type pg from 'pg';
import { ConcurrencyLimit } from '../../limits/concurrency-limit.ts';
import { SHOWN_PROPERTIES, type ShownTransaction } from '../../transactions/model/shown-transaction.ts';
import type { Tenant, TransactionFilter } from '../../transactions/ports/store-ports.ts';
import type { Database } from '../postgres/open-database.ts';
import { mapConnectionLoss } from '../postgres/while-up.ts';
import { selected } from './selected-columns.ts';
import { TenantConditions } from './tenant-conditions.ts';

const SELECT = `select ${selected(SHOWN_PROPERTIES)} from transactions`;

/**
 * What most requests are for, by the names of their conditions. A connection keeps the plans of these, which takes half of
 * Postgres's time for a page off it; each was compared with one made for its values, over ten million rows. The others are
 * planned each time: a plan that suits the users of a merchant reads all of its rows for somebody who is none.
 */
const KEPT_PLANS: ReadonlySet<string> = new Set([
  '',
  'start',
  'end',
  'start end',
  'user',
  'reference',
  'disposition',
  'review',
  'no review',
]);
/**
 * The largest page by a kept plan. It is made before the limit of a request is known, and Postgres would take that for a tenth of
 * the table: this is what it counts on instead.
 */
const MAX_PLANNED_ROWS = 500;

/** No index has these in the list's order: all that they find is sorted, or what they leave out is read as well. */
const SEARCHING: ReadonlySet<string> = new Set(['min', 'max']);
/** Of the database's clients, that taps need. */
const SEARCHES_AT_ONCE = 2;
/** Most of them take milliseconds. */
const SEARCHES_WAITING = 64;

/**
 * Newest first, at most `filter.limit`.
 *
 * @throws Overloaded while many search, StoreUnavailable
 */
export type ListTransactions = (tenant: Tenant, filter: TransactionFilter) => Promise<ShownTransaction[]>;

export function createTransactionList(database: Database): ListTransactions {
  const searches = new ConcurrencyLimit({ atOnce: SEARCHES_AT_ONCE, waitMost: SEARCHES_WAITING });
  return async (tenant, filter) => {
    const conditions = conditionsOf(tenant, filter);
    const isSearch = filter.offset > 0 || conditions.addedNames.some((name) => SEARCHING.has(name));
    const read = () => mapConnectionLoss(database.query<ShownTransaction>(pageOf(conditions, filter)));
    const { rows } = await (isSearch ? searches.run(read) : read());
    return rows;
  };
}

function pageOf(conditions: TenantConditions, { limit, offset, after }: TransactionFilter): pg.QueryConfig {
  const isKept = KEPT_PLANS.has(conditions.addedNames.join(' ')) && offset === 0 && limit <= MAX_PLANNED_ROWS;
  if (after !== undefined) addAfter(conditions, after);
  const { sql, name, values } = conditions;
  const rows = `${SELECT} where ${sql} order by created_at desc, id desc`;
  const most = conditions.parameter(limit);
  if (isKept) {
    return {
      name: `list ${name}`,
      text: `select * from (${rows} limit ${MAX_PLANNED_ROWS}) page limit ${most}`,
      values,
    };
  }
  return { text: `${rows} limit ${most} offset ${conditions.parameter(offset)}`, values };
}

function conditionsOf(tenant: Tenant, filter: TransactionFilter): TenantConditions {
  const { user, merchantReference, disposition, needsReview } = filter;
  const conditions = new TenantConditions(tenant);
  const isAll = tenant.integratorId === undefined && tenant.merchantId === undefined;
  if (user !== undefined) {
    conditions.add(isAll ? 'user' : 'user within', `${USER} = ${knownUser(conditions.acquirer)}`, user);
  }
  conditions.addIfGiven('start', 'created_at >= $::date', filter.startDate);
  conditions.addIfGiven('end', 'created_at < $::date + 1', filter.endDate);
  if (merchantReference !== undefined) addReference(conditions, tenant, merchantReference);
  if (disposition === 0) conditions.add('approved', 'disposition = $', disposition);
  else conditions.addIfGiven('disposition', 'other_disposition = $', disposition);
  conditions.addIfGiven('min', `${AMOUNT_MAJOR} >= $::numeric`, filter.minAmount);
  conditions.addIfGiven('max', `${AMOUNT_MAJOR} <= $::numeric`, filter.maxAmount);
  if (needsReview === true) conditions.addPlain('review', 'needs_review');
  if (needsReview === false) conditions.addPlain('no review', 'not needs_review');
  return conditions;
}

/** Behind one of the tenant's own alone: that of somebody else would tell when it was made. */
function addAfter(conditions: TenantConditions, after: string): void {
  const last = `select created_at, id from transactions where ${conditions.ownSql} and id = $`;
  conditions.add('after', `(created_at, id) < (${last})`, after);
}

// minAmount and maxAmount are major units whatever the currency, so each row is scaled by its own exponent. An index has this
// expression, word by word (0020_amounts.sql).
const AMOUNT_MAJOR = `(amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 else 100 end::numeric)`;

/** As transactions_by_user has it: our user's id, or what the token said of somebody else's. */
const USER = 'coalesce(user_id::text, user_claim)';

/** A name of one of our users means the user, whichever of the two it is. */
function knownUser(acquirer: string): string {
  return `coalesce((select id::text from users where acquirer_id = ${acquirer} and (id::text = $ or username = $) limit 1), $)`;
}

/** A reference is unique within a merchant: so it is asked of each that the tenant has, and that is what its index is for. */
function addReference(conditions: TenantConditions, { merchantId }: Tenant, reference: string): void {
  const { acquirer, integrator } = conditions;
  const ofIntegrator = integrator === undefined ? '' : ` and integrator_id = ${integrator}`;
  const merchants = `select id from merchants where acquirer_id = ${acquirer}${ofIntegrator}`;
  const isWithin = merchantId === undefined ? ` and merchant_id = any(array(${merchants}))` : '';
  conditions.add('reference', `merchant_reference = $${isWithin}`, reference);
}
