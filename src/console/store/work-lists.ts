import type { LinkWorkFilter, WebhookWorkFilter, WorkRequest } from '#schemas/console-work';
import { RequestRejected } from '../../basics/errors.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { IS_HELD, namedLink } from '../../store/links/link-claims.ts';
import type { TransactionLists } from './transaction-list.ts';

/** The lists of the console's work view. Each statement reads the acquirers in sight, in the order of a key. */

/** SQLSTATE of texts that are no date, number or UUID. */
const UNREADABLE = new Set(['22007', '22008', '22003', '22P02']);

/** A row of any list; its `position` is where the next page continues. */
export interface WorkRow {
  readonly position: readonly string[];
  readonly [name: string]: unknown;
}

type Add = (value: unknown) => string;

interface Selection {
  /** Columns besides the position. */
  readonly columns: string;
  readonly from: string;
  readonly conditions: readonly (string | undefined | false)[];
  /** What orders the list, with the types, all in one direction. */
  readonly keys: readonly (readonly [column: string, type: string])[];
  readonly order: 'asc' | 'desc';
  /** Owners whose rows are read separately, through the part of an index that has them in the order of the list. */
  readonly owners?: string;
}

/** The queue of jobs that were given up. */
const DEAD_LETTERS = 'dead-letters';

const MAX_TEXT_CHARS = 200;
const MAX_CHANGE_CHARS = 500;

const OF_OWNER = ['e.acquirer_id = own.acquirer_id', 'e.integrator_id = own.id'];

/** Newest first for what happens, by id for settings. */
const SELECTIONS = {
  webhooks: ({ filter }, acquirers, add) => ({
    columns: `e.acquirer_id as "acquirerId", e.id, e.integrator_id as "integratorId", e.type, e.state, e.attempts,
      e.transaction_id as "transactionId", t.merchant_id as "merchantId", e.created_at as "createdAt",
      case when e.state = 'pending' then e.next_at end as "nextAt", a.status, left(a.error, ${MAX_TEXT_CHARS}) as error`,
    from: `webhook_events e
      left join transactions t on t.acquirer_id = e.acquirer_id and t.id = e.transaction_id
      left join lateral (select status, error from webhook_attempts w where w.acquirer_id = e.acquirer_id and w.event_id = e.id
        order by number desc limit 1) a on true`,
    owners: 'integrators own',
    conditions: [...OF_OWNER, ...webhookConditions(filter, acquirers, add)],
    keys: [
      ['e.created_at', 'timestamptz'],
      ['e.id', 'uuid'],
    ],
    order: 'desc',
  }),
  links: ({ filter }, acquirers, add) => ({
    columns: `l.acquirer_id as "acquirerId", l.id, l.kind, l.payment_reference as reference, l.merchant_id as "merchantId",
      m.name as merchant, l.amount_minor as "amountMinor", l.currency, ${LINK_STATE} as state,
      tap.id as "transactionId", tap.disposition, l.created_at as "createdAt", l.expires_at as "expiresAt",
      l.pushed_at as "pushedAt", l.push_outcome as "pushOutcome", coalesce(d.friendly_name, l.push_device_id::text) as device`,
    from: `links l
      left join merchants m on m.acquirer_id = l.acquirer_id and m.id = l.merchant_id
      left join devices d on d.acquirer_id = l.acquirer_id and d.id = l.push_device_id
      left join transactions tap on tap.acquirer_id = l.acquirer_id and tap.id = l.transaction_id`,
    owners: 'acquirers own',
    conditions: ['l.acquirer_id = own.id', ...linkConditions(filter, acquirers, add)],
    keys: [
      ['l.created_at', 'timestamptz'],
      ['l.id', 'uuid'],
    ],
    order: 'desc',
  }),
  // A job of the installation names no acquirer.
  jobs: ({ filter: { acquirer, queue, state } }, acquirers, add) => ({
    columns: `j.id, coalesce(j.source_name, j.name) as queue, j.data, j.start_after as "nextAt", j.created_on as "createdAt",
      coalesce(j.source_retry_count, j.retry_count) as retries, ${JOB_STATE} as state,
      left(coalesce(j.source_output ->> 'reason', j.source_output ->> 'message', j.output ->> 'reason', j.output ->> 'message'), ${MAX_TEXT_CHARS}) as error`,
    from: 'pgboss.job j',
    conditions: [
      `j.state < 'completed'`,
      `coalesce(j.data ->> 'acquirerId', '0') = any(${add(acquirers.map(String))}::text[])`,
      acquirer !== undefined && `j.data ->> 'acquirerId' = ${add(String(acquirer))}`,
      queue && `(j.name = ${add(queue)} or (j.name = ${add(DEAD_LETTERS)} and j.source_name = ${add(queue)}))`,
      state && `${JOB_STATE} = ${add(state)}`,
    ],
    keys: [
      ['j.created_on', 'timestamptz'],
      ['j.id', 'uuid'],
    ],
    order: 'desc',
  }),
  audit: ({ filter: { acquirer, from, to, kind } }, acquirers, add) => ({
    columns: `e.acquirer_id as "acquirerId", e.at as "createdAt", e.actor, e.action, e.kind, e.subject_id as subject,
      left(e.after::text, ${MAX_CHANGE_CHARS}) as after`,
    from: 'admin_events e',
    conditions: [
      ...inSight('e.acquirer_id', acquirers, acquirer, add),
      kind && `e.kind = ${add(kind)}`,
      from && `e.at >= ${add(from)}`,
      to && `e.at < ${add(to)}`,
    ],
    keys: [['e.id', 'bigint']],
    order: 'desc',
  }),
  processors: ({ filter: { acquirer } }, acquirers, add) => ({
    columns: `p.acquirer_id as "acquirerId", p.id, p.name, p.type, p.updated_at as "updatedAt", p.removed_at as "removedAt"`,
    from: 'processors p',
    conditions: inSight('p.acquirer_id', acquirers, acquirer, add),
    keys: [
      ['p.acquirer_id', 'int'],
      ['p.id', 'int'],
    ],
    order: 'asc',
  }),
  routes: ({ filter: { acquirer } }, acquirers, add) => ({
    columns: `r.acquirer_id as "acquirerId", r.id, r.processor_id as "processorId", r.priority, r.currency, r.scheme,
      r.updated_at as "updatedAt", r.removed_at as "removedAt"`,
    from: 'routes r',
    conditions: inSight('r.acquirer_id', acquirers, acquirer, add),
    keys: [
      ['r.acquirer_id', 'int'],
      ['r.id', 'int'],
    ],
    order: 'asc',
  }),
  users: ({ filter: { acquirer } }, acquirers, add) => ({
    columns: `u.acquirer_id as "acquirerId", u.id, u.username, u.role, u.integrator_id as "integratorId", u.merchant_id as "merchantId",
      u.is_blocked as "isBlocked", u.last_login_at as "lastLoginAt"`,
    from: 'users u',
    conditions: inSight('u.acquirer_id', acquirers, acquirer, add),
    keys: [
      ['u.acquirer_id', 'int'],
      ['u.username', 'text'],
    ],
    order: 'asc',
  }),
} as const satisfies {
  [List in WorkRequest['list']]: (
    request: Extract<WorkRequest, { list: List }> | Extract<WorkRequest, { list: 'users' }>,
    acquirers: readonly number[],
    add: Add,
  ) => Selection;
};

const JOB_STATE = `case when j.name = '${DEAD_LETTERS}' then 'dead' when j.state = 'active' then 'active' when j.state = 'retry' then 'retry'
  when j.start_after > now() then 'later' else 'ready' end`;

// A sale that the merchant voided was paid, and its tap still holds the link.
const LINK_STATE = `case
  when ${IS_HELD} then case when tap.disposition = ${Disposition.Approved} or tap.void_state is not null then 'paid' else 'held' end
  when l.cancellation_id is not null then 'cancelled'
  when l.is_expired or l.expires_at <= clock_timestamp() then 'expired'
  else 'open' end`;

function inSight(column: string, acquirers: readonly number[], acquirer: number | undefined, add: Add) {
  return [
    `${column} = any(${add(acquirers)}::int[])`,
    acquirer === undefined ? undefined : `${column} = ${add(acquirer)}`,
  ];
}

function webhookConditions(filter: WebhookWorkFilter, acquirers: readonly number[], add: Add): Selection['conditions'] {
  const { acquirer, state, merchant, from, to } = filter;
  return [
    ...inSight('e.acquirer_id', acquirers, acquirer, add),
    state && `e.state = ${add(state)}`,
    merchant && `t.merchant_id = ${add(merchant)}`,
    from && `e.created_at >= ${add(from)}`,
    to && `e.created_at < ${add(to)}`,
  ];
}

function linkConditions(filter: LinkWorkFilter, acquirers: readonly number[], add: Add): Selection['conditions'] {
  const { acquirer, state, merchant, reference, from, to } = filter;
  const id = reference && namedLink(reference);
  return [
    ...inSight('l.acquirer_id', acquirers, acquirer, add),
    state && `${LINK_STATE} = ${add(state)}`,
    merchant && `l.merchant_id = ${add(merchant)}`,
    reference && `(l.payment_reference = ${add(reference)}${id ? ` or l.id = ${add(id)}` : ''})`,
    from && `l.created_at >= ${add(from)}`,
    to && `l.created_at < ${add(to)}`,
  ];
}

/**
 * A page of a list.
 *
 * @param acquirers those in sight; 0 is the installation
 * @throws RequestRejected (SEARCH_TOO_SLOW, INVALID_VALUES for a position of another list), Overloaded, StoreUnavailable
 */
export async function readWorkRows(
  lists: TransactionLists,
  request: WorkRequest,
  acquirers: readonly number[],
  rows: number,
): Promise<WorkRow[]> {
  const values: unknown[] = [];
  const add: Add = (value) => `$${values.push(value)}`;
  const select = SELECTIONS[request.list] as (
    request: WorkRequest,
    acquirers: readonly number[],
    add: Add,
  ) => Selection;
  const { columns, from, conditions, keys, order, owners } = select(request, acquirers, add);
  const { after } = request;
  const names = keys.map(([column]) => column).join();
  const beside =
    after &&
    `(${names}) ${order === 'desc' ? '<' : '>'} (${keys.map(([, type], n) => `${add(after[n] ?? null)}::text::${type}`).join()})`;
  const text = `select json_build_array(${keys.map(([column]) => `${column}::text`).join()}) as position, ${columns}
    from ${from} where ${[...conditions, beside].filter(Boolean).join(' and ')}
    order by ${keys.map(([column]) => `${column} ${order}`).join()} limit ${add(rows)}`;
  const sorted = keys.map(([, type], n) => `(found.position ->> ${n})::${type} ${order}`).join();
  const whole = owners
    ? `select found.* from ${owners} cross join lateral (${text}) found order by ${sorted} limit $${values.length}`
    : text;
  return lists
    .read(async (client) => (await client.query<WorkRow>(whole, values)).rows)
    .catch((error) => {
      throw UNREADABLE.has(error.code) ? new RequestRejected('INVALID_VALUES') : error;
    });
}

/** An event of an integrator, of which a delivery failed. */
export interface UndeliveredEvent {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly id: string;
}

/** The events of a filter, at most `most`. */
export async function findWebhooks(
  lists: TransactionLists,
  filter: WebhookWorkFilter,
  acquirers: readonly number[],
  most: number,
): Promise<UndeliveredEvent[]> {
  const values: unknown[] = [];
  const add: Add = (value) => `$${values.push(value)}`;
  const conditions = webhookConditions(filter, acquirers, add).filter(Boolean).join(' and ');
  const text = `select e.acquirer_id as "acquirerId", e.integrator_id as "integratorId", e.id from webhook_events e
    left join transactions t on t.acquirer_id = e.acquirer_id and t.id = e.transaction_id
    where ${conditions} limit ${add(most)}`;
  return lists.read(async (client) => (await client.query<UndeliveredEvent>(text, values)).rows);
}
