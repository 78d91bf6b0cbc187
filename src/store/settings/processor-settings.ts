import type pg from 'pg';
import type { ProcessorSettings, StoredProcessor } from '#schemas/admin-routing';
import { RequestRejected } from '../../basics/errors.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { OPEN_REVERSAL_STATES, TransactionType } from '../../payments/model/transaction.ts';
import { checkProcessorSettings, type ProcessorTypes } from '../../payments/settings/check-routing.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { SettingsTable } from './settings-table.ts';

/** Each has its own connections in every worker. */
const MAX_PROCESSORS = 64;

/**
 * Gateways read the configuration every two seconds, and a tap that chose its route from it is committed soon after.
 */
const STILL_TAKEN_SECONDS = 10;

/** The processors of acquirers: a type and the configuration of one switch. For listing and removing. */
export const PROCESSOR_SETTINGS: SettingsTable<ProcessorSettings, StoredProcessor> = {
  kind: 'processor',
  table: 'processors',
  key: { name: 'id', column: 'id', from: 'count' },
  most: MAX_PROCESSORS,
  // Transactions keep the id of their route, and a reversal finds its switch through it.
  removed: { column: 'removed_at', isShown: false },
  columns: { type: 'type', name: 'name', config: 'config' },
  // The type cannot change, because the data of a later reversal are stored in its format.
  checkChange(before, { type }) {
    if (before.type !== type) throw new RequestRejected('PROCESSOR_TYPE_FIXED');
  },
  async checkRemoval(client, acquirerId, id) {
    const { rows } = await client.query<{ hasRoutes: boolean; hadRoutes: boolean; hasReversals: boolean }>(NEEDS, [
      acquirerId,
      id,
    ]);
    const { hasRoutes, hadRoutes, hasReversals } = rows[0]!;
    if (hasRoutes) throw new RequestRejected('PROCESSOR_HAS_ROUTES');
    if (hadRoutes) throw new RequestRejected('ROUTE_JUST_REMOVED');
    if (hasReversals || (await hasTapsUnderWay(client, acquirerId, id))) {
      throw new RequestRejected('PROCESSOR_HAS_OPEN_TRANSACTIONS');
    }
    const stranded = await client.query<{ strandedSales: number }>(STRANDED, [acquirerId, id]);
    const { strandedSales } = stranded.rows[0]!;
    return strandedSales > 0 ? { strandedSales } : undefined;
  },
};

/**
 * The table for an installation with these types. It refuses settings that their type does not accept, or that reach a
 * resource of another acquirer.
 */
export function processorSettingsFor(types: ProcessorTypes, access: SwitchAccess): typeof PROCESSOR_SETTINGS {
  return {
    ...PROCESSOR_SETTINGS,
    check: (settings, acquirerId) =>
      checkProcessorSettings(types, settings, (config) => access.faults(acquirerId, config)),
  };
}

// Reversals that are pending, sent, out of attempts (still sent when a connection returns) or being confirmed: the rows
// of the index transactions_owed.
const NEEDS = `
select exists (select from routes where acquirer_id = $1 and processor_id = $2 and removed_at is null) as "hasRoutes",
  exists (
    select from routes where acquirer_id = $1 and processor_id = $2 and removed_at > now() - interval '${STILL_TAKEN_SECONDS} s'
  ) as "hadRoutes",
  exists (
    select from transactions t join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
    where t.acquirer_id = $1 and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and r.processor_id = $2
  ) as "hasReversals"`;

/** No business day is longer; an older announcement comes from a switch that has stopped announcing. */
const LAST_DAYS = '5 days';

// Approved sales of the open business day that were neither refunded nor voided: only this switch could void them. The
// day of a sale without a settlement date is that of UTC, so the number is approximate at midnight.
const STRANDED = `
select count(*)::integer as "strandedSales"
from transactions t join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id and r.processor_id = $2
where t.acquirer_id = $1 and t.type not in (${TransactionType.Refund}, ${TransactionType.Void})
  and t.disposition = ${Disposition.Approved} and t.void_state is null and t.refunded_minor = 0
  and t.created_at > now() - interval '${LAST_DAYS}'
  and coalesce(t.settlement_date::date, (t.sent_at at time zone 'UTC')::date) >= coalesce(
    (select max(b.business_date) from business_dates b where b.acquirer_id = $1 and b.processor_id = $2
      and b.since > now() - interval '${LAST_DAYS}'),
    (now() at time zone 'UTC')::date)`;

// A transaction that must not rest has a live job with its id. An index on status would slow every tap.
const TAPS_UNDER_WAY = `
select exists (
  select from pgboss.job j
  cross join jsonb_array_elements(coalesce(j.data -> 'taps', jsonb_build_array(j.data))) named
  join transactions t on t.acquirer_id = $1 and t.id = (named ->> 'id')::uuid
  join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
  where j.name in ('overdue', 'overdue-taps', 'authorize', 'reverse', 'complete', 'expire-pin') and j.state < 'completed'
    and (j.data ->> 'acquirerId')::integer = $1 and r.processor_id = $2
) as "hasTaps"`;

async function hasTapsUnderWay(client: pg.ClientBase, acquirerId: number, id: number | string): Promise<boolean> {
  const { rows } = await client.query<{ hasJobs: boolean }>(
    `select to_regclass('pgboss.job') is not null as "hasJobs"`,
  );
  if (!rows[0]!.hasJobs) return false; // no gateway has run on this database yet
  const answer = await client.query<{ hasTaps: boolean }>(TAPS_UNDER_WAY, [acquirerId, id]);
  return answer.rows[0]!.hasTaps;
}
