import type pg from 'pg';
import type {
  ProcessorChange,
  ProcessorSettings,
  RouteSettings,
  StoredProcessor,
  StoredRoute,
} from '#schemas/admin-routing';
import { invalidValues, RequestRejected } from '../../basics/errors.ts';
import { identityOf, isReadAlike, isSameSwitch, type SwitchIdentity } from '../../kits/processor-kit/switch-config.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { OPEN_REVERSAL_STATES, TransactionType } from '../../payments/model/transaction.ts';
import {
  checkProcessorSettings,
  checkRouteSettings,
  type ProcessorTypes,
} from '../../payments/settings/check-settings.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { Removal, SettingsTable } from './settings-table.ts';

/** Each has its own connections in every worker. */
const MAX_PROCESSORS = 64;

/**
 * Gateways read the configuration every two seconds, and a tap that chose its route from it is committed soon after.
 */
const STILL_TAKEN_SECONDS = 10;

/** The processors of acquirers: a type and the configuration of one switch. For listing and removing. */
export const PROCESSOR_SETTINGS: SettingsTable<ProcessorChange, StoredProcessor> = {
  kind: 'processor',
  table: 'processors',
  key: { name: 'id', column: 'id', from: 'count' },
  namedBy: ['name', 'type'],
  most: MAX_PROCESSORS,
  // Transactions keep the id of their route, and a reversal finds its switch through it.
  removed: { column: 'removed_at', isShown: false },
  columns: { type: 'type', name: 'name', config: 'config', isSameSwitch: null },
  reads: { switchRevision: 'switch_revision', sameSwitchSince: 'same_switch_since' },
  // The type cannot change, because the data of a later reversal are stored in its format.
  checkChange(before, { type }) {
    if (before.type !== type) throw new RequestRejected('PROCESSOR_TYPE_FIXED');
  },
  async checkRemoval(client, acquirerId, id) {
    const { rows } = await client.query<{ hasRoutes: boolean; hadRoutes: boolean }>(ROUTES_OF, [acquirerId, id]);
    const { hasRoutes, hadRoutes } = rows[0]!;
    if (hasRoutes) throw new RequestRejected('PROCESSOR_HAS_ROUTES');
    if (hadRoutes) throw new RequestRejected('ROUTE_JUST_REMOVED');
    if (await hasOpenTransactions(client, acquirerId, id)) {
      throw new RequestRejected('PROCESSOR_HAS_OPEN_TRANSACTIONS');
    }
    const { rows: stored } = await client.query<{ since: number }>(
      'select same_switch_since as since from processors where acquirer_id = $1 and id = $2',
      [acquirerId, id],
    );
    return strandedSince(client, acquirerId, id, stored[0]?.since ?? 0);
  },
  async leftBehind(client, acquirerId, before, after) {
    if (after.sameSwitchSince === before.sameSwitchSince) return undefined;
    return strandedSince(client, acquirerId, before.id, before.sameSwitchSince);
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
    consequencesOf: (client, acquirerId, settings, before) =>
      revisionOf(client, acquirerId, readBy(types, settings), settings, before),
  };
}

/** With the default values of the type. A configuration that the type no longer accepts is taken as it is. */
function readBy(types: ProcessorTypes, { type }: ProcessorSettings): ReadConfig {
  return (config) => types.get(type)?.configSchema.safeParse(config).data ?? config;
}

type ReadConfig = (config: object) => object;

/**
 * The revision of the switch after a change (model/switch-revision.ts). What identifies the switch may change only while
 * nothing is open there, unless the administrator states that it remains the same switch. A tap that is committed while the
 * change commits is not found here; it keeps the former revision, and its reversal is not sent to another switch.
 *
 * @throws RequestRejected (SWITCH_HAS_OPEN_TRANSACTIONS)
 */
async function revisionOf(
  client: pg.ClientBase,
  acquirerId: number,
  read: ReadConfig,
  { config, isSameSwitch: isStated = false }: ProcessorChange,
  before: StoredProcessor | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const after = identityOf(read(config));
  if (!before) return { switch_identity: after };
  const { rows } = await client.query<{ identity: SwitchIdentity | null }>(
    'select switch_identity as identity from processors where acquirer_id = $1 and id = $2',
    [acquirerId, before.id],
  );
  const known = rows[0]!.identity;
  // The type may read the configuration differently since it was stored.
  const isSame = isSameSwitch(identityOf(read(before.config)), after) && (known === null || isReadAlike(known, after));
  if (isSame) return { switch_identity: after };
  if (!isStated && (await hasOpenTransactions(client, acquirerId, before.id))) {
    throw new RequestRejected('SWITCH_HAS_OPEN_TRANSACTIONS');
  }
  const next = before.switchRevision + 1;
  return {
    switch_identity: after,
    switch_revision: next,
    same_switch_since: isStated ? before.sameSwitchSince : next,
  };
}

const ROUTES_OF = `
select exists (select from routes where acquirer_id = $1 and processor_id = $2 and removed_at is null) as "hasRoutes",
  exists (
    select from routes where acquirer_id = $1 and processor_id = $2 and removed_at > now() - interval '${STILL_TAKEN_SECONDS} s'
  ) as "hadRoutes"`;

/** No business day is longer; an older announcement comes from a switch that has stopped announcing. */
const LAST_DAYS = '5 days';

// Approved sales of the open business day that were neither refunded nor voided: only their switch, of revision $3 or a later
// one, could void them. The
// day of a sale without a settlement date is that of UTC, so the number is approximate at midnight.
const STRANDED = `
select count(*)::integer as "strandedSales"
from transactions t join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id and r.processor_id = $2
where t.acquirer_id = $1 and t.type not in (${TransactionType.Refund}, ${TransactionType.Void})
  and coalesce(t.switch_revision, 0) >= $3
  and t.disposition = ${Disposition.Approved} and t.void_state is null and t.refunded_minor = 0
  and t.created_at > now() - interval '${LAST_DAYS}'
  and coalesce(t.settlement_date::date, (t.sent_at at time zone 'UTC')::date) >= coalesce(
    (select max(b.business_date) from business_dates b where b.acquirer_id = $1 and b.processor_id = $2
      and b.since > now() - interval '${LAST_DAYS}'),
    (now() at time zone 'UTC')::date)`;

async function strandedSince(
  client: pg.ClientBase,
  acquirerId: number,
  id: number | string,
  revision: number,
): Promise<Removal | undefined> {
  const { rows } = await client.query<{ strandedSales: number }>(STRANDED, [acquirerId, id, revision]);
  const { strandedSales } = rows[0]!;
  return strandedSales > 0 ? { strandedSales } : undefined;
}

// Reversals that are pending, sent, out of attempts (still sent when a connection returns) or being confirmed: the rows
// of the indexes transactions_owed and superseded_attempts_owed.
const HAS_REVERSALS = ['transactions', 'superseded_attempts']
  .map(
    (table) => `
  exists (
    select from ${table} t join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
    where t.acquirer_id = $1 and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and r.processor_id = $2
  )`,
  )
  .join(' or ');

// A transaction that must not rest has an open attempt. An index on status would slow every tap. A refund waits with the
// route of its sale.
const HAS_TAPS = `
exists (
  with waiting as (
    select id, false as "isCompletion" from open_attempts where acquirer_id = $1
    union all
    select (data ->> 'id')::uuid, name = 'complete' from pgboss.job
    where name in ('complete', 'expire-pin') and state < 'completed' and (data ->> 'acquirerId')::integer = $1
  )
  select from waiting join transactions t on t.acquirer_id = $1 and t.id = waiting.id
  left join transactions sale on sale.acquirer_id = $1 and sale.id = t.original_id
  join routes r on r.acquirer_id = t.acquirer_id and r.id = coalesce(t.route_id, sale.route_id)
  where (t.disposition is null or waiting."isCompletion") and r.processor_id = $2
)`;

/** Whether the switch may still be sent something about a tap, PIN, reversal, void, completion or refund. */
async function hasOpenTransactions(client: pg.ClientBase, acquirerId: number, id: number | string): Promise<boolean> {
  const { rows } = await client.query<{ hasJobs: boolean }>(
    `select to_regclass('pgboss.job') is not null as "hasJobs"`,
  );
  // Without the job table no gateway has run on this database yet.
  const condition = rows[0]!.hasJobs ? `${HAS_REVERSALS} or ${HAS_TAPS}` : HAS_REVERSALS;
  const response = await client.query<{ isOpen: boolean }>(`select ${condition} as "isOpen"`, [acquirerId, id]);
  return response.rows[0]!.isOpen;
}

/** Every tap searches all of them. */
const MAX_ROUTES = 512;

/** The routes of acquirers: which taps are sent to a processor, and in which order. */
export const ROUTE_SETTINGS: SettingsTable<RouteSettings, StoredRoute> = {
  kind: 'route',
  table: 'routes',
  key: { name: 'id', column: 'id', from: 'count' },
  most: MAX_ROUTES,
  // Transactions keep the id of their route.
  removed: { column: 'removed_at', isShown: false },
  columns: { processorId: 'processor_id', priority: 'priority', currency: 'currency', scheme: 'scheme', xTid: 'x_tid' },
  check: checkRouteSettings,
  // The processor cannot change: transactions find their switch through their route as long as something may be
  // reversed.
  checkChange(before, { processorId }) {
    if (before.processorId !== processorId) throw new RequestRejected('ROUTE_PROCESSOR_FIXED');
  },
  async checkReferences(client, { acquirerId }, { processorId, xTid }) {
    const { rows } = await client.query<{ hasProcessor: boolean; hasTerminal: boolean }>(
      `select exists (select from processors where acquirer_id = $1 and id = $2 and removed_at is null) as "hasProcessor",
         $3::text is null or exists (select from terminals where acquirer_id = $1 and x_tid = $3) as "hasTerminal"`,
      [acquirerId, processorId, xTid],
    );
    const { hasProcessor, hasTerminal } = rows[0]!;
    const faults = [
      ...(hasProcessor ? [] : [{ path: ['processorId'], detail: 'no processor of the acquirer' }]),
      ...(hasTerminal ? [] : [{ path: ['xTid'], detail: 'no terminal of the acquirer' }]),
    ];
    if (faults.length > 0) throw invalidValues(faults);
  },
};
