import type { Tenant, TransactionFilter } from '../../transactions/ports.ts';
import { SHOWN_PROPERTIES, type ShownTransaction } from '../../transactions/shown-transaction.ts';
import type { Database } from '../postgres/open-database.ts';
import { selected } from './selected-columns.ts';
import { TenantConditions } from './tenant-conditions.ts';

const SELECT = `select ${selected(SHOWN_PROPERTIES)} from transactions`;
const NEWEST_FIRST = 'order by created_at desc, id desc';

/**
 * Every connection keeps the statements that have a name, with their plans. So those have one that most requests are for: a tenant's,
 * or of one filter, and the pages behind the first; the others are made and planned each time.
 */
const MAX_NAMED_FILTERS = 1;
/**
 * The largest page that a statement with a name gives. Its plan is made before the limit of a request is known, and Postgres would take
 * that for a tenth of the table: this is what it counts on instead.
 */
const MAX_NAMED_ROWS = 500;

/** Newest first, at most `filter.limit`. */
export async function listTransactions(
  database: Database,
  tenant: Tenant,
  filter: TransactionFilter,
): Promise<ShownTransaction[]> {
  const conditions = conditionsOf(tenant, filter);
  const { limit, offset, after } = filter;
  const filters = conditions.added;
  if (after !== undefined) addAfter(conditions, after);
  const page = `${SELECT} where ${conditions.sql} ${NEWEST_FIRST}`;
  const isNamed = filters <= MAX_NAMED_FILTERS && offset === 0 && limit <= MAX_NAMED_ROWS;
  const query = isNamed
    ? {
        name: `list ${conditions.name}`,
        text: `select * from (${page} limit ${MAX_NAMED_ROWS}) page limit ${conditions.parameter(limit)}`,
      }
    : { text: `${page} limit ${conditions.parameter(limit)} offset ${conditions.parameter(offset)}` };
  const { rows } = await database.query<ShownTransaction>({ ...query, values: conditions.values });
  return rows;
}

function conditionsOf(tenant: Tenant, filter: TransactionFilter): TenantConditions {
  const { user, merchantReference, disposition, needsReview } = filter;
  const conditions = new TenantConditions(tenant);
  if (user !== undefined) conditions.add('user', `${USER} = ${knownUser(conditions.acquirer)}`, user);
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

// minAmount and maxAmount are major units whatever the currency, so each row is scaled by its own exponent.
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
