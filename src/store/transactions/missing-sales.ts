import type { TransactionDependencies } from '../../payments/ports/transaction-dependencies.ts';
import { enterMissingSale, type MissingSale } from '../../payments/review/enter-approval.ts';
import type { Database } from '../postgres/open-database.ts';
import { type Change, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { insertTaps } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

/** A sale of a switch's list, before its merchant is known. */
export interface ListedSale
  extends Pick<MissingSale, 'tid' | 'stan' | 'rrn' | 'currency' | 'amountMinor' | 'approvedAtMs' | 'reference'> {
  /** The type of the processor. */
  readonly processor: string;
  /** Needed if the terminal belongs to no merchant alone. */
  readonly merchantId: string | undefined;
}

/**
 * `known`: the database has the sale. `reference-used`: it has another transaction under the reference, or the link with the
 * reference cannot be paid. `no-terminal`: the
 * acquirer has no terminal with this TID, or it does not say whose merchant it is. `no-route`: no processor of the type.
 */
export type EnteredSale = 'entered' | 'known' | 'reference-used' | 'no-terminal' | 'no-route';

const IS_KNOWN = 'select from transactions where acquirer_id = $1 and tid = $2 and stan = $3 and rrn = $4';

const TERMINAL = `
select t.x_tid as "xTid", t.mid, m.id as "merchantId", m.integrator_id as "integratorId", m.time_zone as "timeZone"
from terminals t join merchants m on m.acquirer_id = t.acquirer_id and m.id = coalesce($3, t.merchant_id)
where t.acquirer_id = $1 and t.tid = $2 and coalesce(t.merchant_id, m.id) = m.id limit 2`;

const ROUTE = `
select r.id as "routeId", p.switch_revision as "switchRevision"
from routes r join processors p on p.acquirer_id = r.acquirer_id and p.id = r.processor_id and p.removed_at is null
where r.acquirer_id = $1 and p.type = $2 and (r.x_tid is null or r.x_tid = $3) order by r.removed_at nulls first, r.priority, r.id limit 1`;

const LINK = `
select id, type from links where acquirer_id = $1 and merchant_id = $2 and (payment_reference = $3 or id::text = $3) and not is_expired
order by payment_reference = $3 desc limit 1`;

type LinkRow = NonNullable<MissingSale['link']>;
type OwnerRow = Pick<MissingSale, 'xTid' | 'mid' | 'merchantId' | 'integratorId' | 'timeZone'>;
type RouteRow = Pick<MissingSale, 'routeId' | 'switchRevision'>;

/** Enters sales that only a switch has, with an admin event for each. Each is committed alone, so the entry can be repeated. */
export async function enterSales(
  database: Database,
  deps: Pick<TransactionDependencies, 'directory' | 'newId'> & { readonly jobs: JobsInCommit },
  change: Change,
  sales: readonly ListedSale[],
): Promise<EnteredSale[]> {
  const results: EnteredSale[] = [];
  for (const sale of sales) results.push(await enterSale(database, deps, change, sale));
  return results;
}

function enterSale(
  database: Database,
  { jobs, ...deps }: Parameters<typeof enterSales>[1],
  change: Change,
  { processor, merchantId, ...listed }: ListedSale,
): Promise<EnteredSale> {
  const { acquirerId } = change;
  return inAdminCommit(database, acquirerId, async (client) => {
    const { tid, stan, rrn } = listed;
    if (((await client.query(IS_KNOWN, [acquirerId, tid, stan, rrn])).rowCount ?? 0) > 0) return 'known';
    const owners = (await client.query<OwnerRow>(TERMINAL, [acquirerId, tid, merchantId ?? null])).rows;
    if (owners.length !== 1) return 'no-terminal';
    const owner = owners[0]!;
    const [route] = (await client.query<RouteRow>(ROUTE, [acquirerId, processor, owner.xTid])).rows;
    if (!route) return 'no-route';
    const { reference } = listed;
    // No link has a null reference.
    const [link] = (await client.query<LinkRow>(LINK, [acquirerId, owner.merchantId, reference ?? null])).rows;
    const sale: MissingSale = { ...listed, ...owner, ...route, link, acquirerId };
    const attempt = enterMissingSale(deps, sale, Date.now());
    const [outcome] = await insertTaps(client, [attempt], jobs);
    if (outcome !== 'inserted') return 'reference-used';
    const { amountMinor, currency, approvedAtMs } = listed;
    const entered = {
      did: 'enter',
      tid,
      stan,
      rrn,
      amountMinor,
      currency,
      approvedAt: new Date(approvedAtMs).toISOString(),
    };
    await recordChange(client, change, {
      action: 'act',
      kind: 'review',
      id: attempt.transaction.id,
      before: null,
      after: entered,
    });
    return 'entered';
  });
}
