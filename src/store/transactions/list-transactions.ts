import type pg from 'pg';
import { ConcurrencyLimit, type ConcurrencyLimits } from '../../basics/limits/concurrency-limit.ts';
import { SHOWN_PROPERTIES, type ShownTransaction, TransactionType } from '../../payments/model/transaction.ts';
import type { Tenant, TransactionFilter } from '../../payments/ports/store-ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { TenantConditions } from './find-transactions.ts';
import { selectList } from './transaction-columns.ts';

const SELECT = `select ${selectList(SHOWN_PROPERTIES)} from transactions`;

/**
 * The most frequent combinations of conditions. A connection keeps their plans, which saves half of Postgres's time
 * for a page. Each plan was compared with one made for its values, over ten million rows. Other combinations are
 * planned each time: a plan that suits the users of a merchant reads all of the merchant's rows for another user.
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
 * The largest page of a kept plan. The plan is made before the limit of a request is known, and Postgres would assume
 * a tenth of the table. It uses this number instead.
 */
const MAX_PLANNED_ROWS = 500;

/** No index has these in the list's order: all matches are sorted, or rows that do not match are also read. */
const SEARCHING: ReadonlySet<string> = new Set(['min', 'max']);
/** Searches leave one of the two connections for reports to other lists. */
const SEARCHES: ConcurrencyLimits = { atOnce: 1, waitMost: 64, waitMostOfOne: 16 };
/** Two run, and two wait at the connections. A page takes a millisecond or two, so the last one waits a second or two. */
const PAGES: ConcurrencyLimits = { atOnce: 4, waitMost: 1_024, waitMostOfOne: 256 };

/**
 * Newest first, at most `filter.limit`.
 *
 * @throws Overloaded while the tenant, or all tenants, have too many lists waiting; StoreUnavailable
 */
export type ListTransactions = (tenant: Tenant, filter: TransactionFilter) => Promise<ShownTransaction[]>;

export function createTransactionList(database: Database): ListTransactions {
  const searches = new ConcurrencyLimit(SEARCHES);
  const pages = new ConcurrencyLimit(PAGES);
  return async (tenant, filter) => {
    const conditions = conditionsOf(tenant, filter);
    const isSearch = filter.offset > 0 || conditions.addedNames.some((name) => SEARCHING.has(name));
    const read = () => mapConnectionLoss(database.query<ShownTransaction>(pageOf(conditions, filter)));
    const { acquirerId, integratorId, merchantId } = tenant;
    const owner = `${acquirerId} ${integratorId} ${merchantId}`;
    const { rows } = await (isSearch ? searches : pages).run(read, owner);
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

/** Only after one of the tenant's own rows: a row of another tenant would reveal when it was created. */
function addAfter(conditions: TenantConditions, after: string): void {
  const last = `select created_at, id from transactions where ${conditions.ownSql} and id = $`;
  conditions.add('after', `(created_at, id) < (${last})`, after);
}

// minAmount and maxAmount are major units of any currency, so each row is scaled with its own exponent. An index has
// exactly this expression (transactions_by_major_amount in 0001_schema.sql).
export const AMOUNT_MAJOR = `(amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 when currency = any('{CLF,UYW}') then 10000 else 100 end::numeric)`;

/** The expression of transactions_by_user: the id of a known user, or the claim in the token for another one. */
const USER = 'coalesce(user_id::text, user_claim)';

/** The name or the id of a known user means that user. */
function knownUser(acquirer: string): string {
  return `coalesce((select id::text from users where acquirer_id = ${acquirer} and (id::text = $ or username = $) limit 1), $)`;
}

/** The attempts on a link; its refunds and voids have references of their own. */
const TAP_TYPES = [TransactionType.Tap, TransactionType.TT3].join();

/**
 * Finds transactions with this reference of their own, and taps by the paymentReference of their link: after a decline, the next
 * tap on a link has a reference of its own. The ids are collected first, each kind through an index, because no index has
 * both in the list's order. A reference is unique within a merchant, so it is looked up for each merchant of the
 * tenant, as that index requires.
 */
function addReference(conditions: TenantConditions, { merchantId }: Tenant, reference: string): void {
  const { acquirer, integrator, ownSql } = conditions;
  const ofIntegrator = integrator === undefined ? '' : ` and integrator_id = ${integrator}`;
  const merchants = `select id from merchants where acquirer_id = ${acquirer}${ofIntegrator}`;
  const ofMerchants = merchantId === undefined ? `any(array(${merchants}))` : conditions.parameter(merchantId);
  const links = `select id from links where ${ownSql} and payment_reference = $`;
  const ids = `select id from merchant_references where acquirer_id = ${acquirer} and merchant_reference = $
      and merchant_id = ${ofMerchants}
    union all select id from transactions where acquirer_id = ${acquirer} and type in (${TAP_TYPES})
      and consumer_id = any(array(${links}))`;
  conditions.add('reference', `id = any(array(${ids}))`, reference);
}
