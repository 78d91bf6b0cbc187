import type { Processor } from '../../kits/processor-kit/processor.ts';
import { profileOf } from '../../kits/processor-kit/switch-protocol.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { PinState } from '../../payments/model/pin.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import {
  OPEN_REVERSAL_STATES,
  ReversalState,
  RUNNING_REVERSAL_STATES,
  TransactionType,
  VoidState,
} from '../../payments/model/transaction.ts';
import type { Books, Finding, LedgerLine, Violation } from './books.ts';

/** An invariant as queries whose results are small for any number of rows. */
export interface SqlCheck {
  readonly check: string;
  readonly description: string;
  /** Query for the number of checked items. */
  readonly lookedAt: string;
  /** Query for the number of items that are visibly unresolved. */
  readonly open?: string;
  /** Query for the number of items that a person must resolve. */
  readonly inReview?: string;
  /** Query for the number of items that differ because a switch reported something false, and are not violations. */
  readonly misstated?: string;
  /** Query for the violations: `id`, `what`, and with `hasEntries` the number `n` of a ledger entry, or null. */
  readonly violations: string;
  readonly hasEntries?: boolean;
  readonly values?: readonly unknown[];
}

/** Transactions that the check judges, if its first value is the start of the ledger. */
const SINCE = `t.created_at >= coalesce($1::timestamptz, '-infinity')`;

/** A person compared the transaction `t`, or the sale of a void `t`, with the switch's books. */
export const IS_RESOLVED = `exists (select from review_resolutions r where r.acquirer_id = t.acquirer_id
  and r.transaction_id in (t.id, t.original_id) and r.state = 'done')`;

/** A ledger entry as it was read. */
const ENTRY = `(select json_build_object('processor', e.processor, 'key', e.key, 'kind', e.kind, 'stan', e.stan, 'rrn', e.rrn, 'tid', e.tid,
  'currencyNumeric', e.currency_numeric, 'amountMinor', e.amount_minor, 'approvedMinor', e.approved_minor, 'approvedAtMs', e.approved_at_ms,
  'state', e.state) from ledger_entries e where e.n = violations.n)`;

export async function checkBySql({ client, maxNamed }: Books, asked: SqlCheck): Promise<Finding> {
  const { check, description, values = [] } = asked;
  const count = async (query: string | undefined) => {
    if (query === undefined) return 0;
    const { rows } = await client.query<{ count: string }>(query, [...values]);
    return Number(rows[0]!.count);
  };
  const lookedAt = await count(asked.lookedAt);
  const open = await count(asked.open);
  const inReview = await count(asked.inReview);
  const misstated = await count(asked.misstated);
  const entry = asked.hasEntries ? `, ${ENTRY} as entry` : '';
  const { rows } = await client.query<Violation & { total: string; entry?: LedgerLine | null }>(
    `select id, what, total${entry} from (select *, count(*) over () as total from (${asked.violations}) as violations
       order by id, what limit ${maxNamed}) as violations order by id, what`,
    [...values],
  );
  const violations = rows.map((row) => ({ id: row.id, what: row.what, ...(row.entry && { entry: row.entry }) }));
  return {
    check,
    description,
    lookedAt,
    open,
    inReview,
    misstated,
    violationCount: Number(rows[0]?.total ?? 0),
    violations,
  };
}

const { needsReview } = ReversalState;

const RESTLESS = `t.status in (${MUST_NOT_REST.join()})`;
const AWAITING_PIN = `t.pin_state = ${PinState.awaiting}`;
const REVERSING = `t.reversal_state in (${RUNNING_REVERSAL_STATES.join()})`;
const OPEN_VOID = `t.type = ${TransactionType.Void} and t.disposition is null`;
const LIVE = `select name, data ->> 'id' as id, (data ->> 'attempt')::integer as attempt from pgboss.job
  where state < 'completed' and name in ('reverse', 'expire-pin')`;

/** J: each transaction that must not rest has an open attempt, or a live job. */
export function checkJobs(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'J',
    description: 'each transaction that must not rest has an open attempt, or a live job',
    lookedAt: `select count(*) from transactions t where (${RESTLESS} or ${AWAITING_PIN} or ${REVERSING} or (${OPEN_VOID})) and ${SINCE}`,
    open: `select count(*) from transactions t where (${RESTLESS} or ${AWAITING_PIN} or ${REVERSING}) and ${SINCE}`,
    inReview: `select count(*) from transactions t where t.reversal_state = ${needsReview} and ${SINCE}`,
    violations: `
      with live as materialized (${LIVE})
      select t.id::text, concat('rests in status ', t.status, ' without an open attempt') as what from transactions t
      where ${RESTLESS} and ${SINCE} and not exists (
        select from open_attempts o where o.acquirer_id = t.acquirer_id and o.id = t.id and o.attempt = t.attempt)
      union all
      select t.id::text, 'awaits a PIN without a job that ends the wait' from transactions t
      where ${AWAITING_PIN} and ${SINCE} and not exists (
        select from live where name = 'expire-pin' and live.id = t.id::text and live.attempt = t.attempt)
      union all
      select t.id::text, concat('its reversal is in state ', t.reversal_state, ' without a job') from transactions t
      where ${REVERSING} and ${SINCE} and not exists (
        select from live where name = 'reverse' and live.id = t.id::text and live.attempt = t.attempt)
      union all
      select s.transaction_id::text, concat('the reversal of its attempt ', s.attempt, ' is in state ', s.reversal_state, ' without a job')
      from superseded_attempts s join transactions t on t.acquirer_id = s.acquirer_id and t.id = s.transaction_id
      where ${SINCE} and s.reversal_state in (${RUNNING_REVERSAL_STATES.join()}) and not exists (
        select from live where name = 'reverse' and live.id = s.transaction_id::text and live.attempt = s.attempt)
      union all
      select t.id::text, 'is a void without a reversal in progress' from transactions t
      join transactions sale on sale.acquirer_id = t.acquirer_id and sale.id = t.original_id
      where ${OPEN_VOID} and ${SINCE} and (sale.void_state is distinct from ${VoidState.asked}
        or sale.reversal_state not in (${OPEN_REVERSAL_STATES.join()}))`,
    values: [books.since],
  });
}

/** Processes know a new endpoint after at most this time; earlier outcomes cause no event. */
const ENDPOINT_KNOWN_AFTER = '30 s';

/** Transactions with the endpoint that receives their events. */
const TOLD_OF = `transactions t
  join webhook_endpoints w on w.acquirer_id = t.acquirer_id and w.integrator_id = t.integrator_id
    and w.serves = case when t.consumer_id is null then 'taps' else 'links' end
    and w.disabled_at is null and w.created_at < t.created_at - interval '${ENDPOINT_KNOWN_AFTER}'`;
const EVENTS_SINCE = `t.created_at >= greatest($1::timestamptz, (select up_to from purge_marks where kind = 'webhooks'), '-infinity')`;

// Sequence numbers: in attempt n the outcome has 2 n - 1, and the voiding of a sale 2 n. For the row of a void, 2
// reports that it failed and 1 that it needs review (see webhook-job.ts). A resolution has a number of its own.
const DUE = `
  select t.acquirer_id, t.id, case t.disposition when ${Disposition.Declined} then 2 else 1 end as sequence
  from ${TOLD_OF}
  where t.type = ${TransactionType.Void} and ${EVENTS_SINCE}
    and (t.disposition = ${Disposition.Declined} or (t.disposition is null and t.needs_review))
  union all
  select t.acquirer_id, t.id, t.attempt * 2 - (case step when 1 then 1 else 0 end) as sequence
  from ${TOLD_OF}
  cross join generate_series(1, case t.disposition when ${Disposition.Voided} then 2 else 1 end) as step
  where t.disposition is not null and t.type <> ${TransactionType.Void} and ${EVENTS_SINCE}
  union
  select t.acquirer_id, t.id, r.event_sequence
  from ${TOLD_OF}
  join review_resolutions r on r.acquirer_id = t.acquirer_id and r.transaction_id = t.id and r.event_sequence is not null
  where t.type <> ${TransactionType.Void} and ${EVENTS_SINCE}`;

const LIVE_WEBHOOKS = `select data from pgboss.job where name = 'webhook' and state < 'completed'`;
const TOLD = `
  select acquirer_id, transaction_id as id, (body::jsonb ->> 'sequence')::integer as sequence from webhook_events
  union all
  select (data ->> 'acquirerId')::integer, (data -> 'outcome' ->> 'transactionId')::uuid, (data -> 'outcome' ->> 'sequence')::integer
  from (${LIVE_WEBHOOKS}) as live where data -> 'outcome' is not null and not exists (
    select from webhook_events e where e.acquirer_id = (data ->> 'acquirerId')::integer and e.id = (data ->> 'eventId')::uuid)`;

/** I7: one event per outcome for each registered endpoint, delivered or visibly pending. */
export function checkEvents(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'I7',
    description: 'one event for each outcome that an endpoint receives, delivered or visibly pending',
    lookedAt: `select count(*) from (${DUE}) as due`,
    open: `select count(*) from webhook_events where state = 'pending' and created_at >= coalesce($1::timestamptz, '-infinity')`,
    violations: `
      select due.id::text, concat('no event of sequence ', due.sequence) as what from (${DUE}) as due
      where not exists (select from (${TOLD}) as event where event.acquirer_id = due.acquirer_id and event.id = due.id
        and event.sequence = due.sequence)
      union all
      select id::text, concat(count(*), ' events of sequence ', sequence) from (${TOLD}) as event
      group by acquirer_id, id, sequence having count(*) > 1
      union all
      select transaction_id::text, concat('event ', id, ' is pending without a job that delivers it') from webhook_events e
      where state = 'pending' and not exists (select from (${LIVE_WEBHOOKS}) as live where data ->> 'eventId' = e.id::text)`,
    values: [books.since],
  });
}

const STANDS_STILL = `t.reversal_state = ${ReversalState.needsReview}`;
/** The resolutions of older transactions may have been deleted with the audit trail. */
const HAS_ITS_AUDIT = `t.created_at >= coalesce((select up_to from purge_marks where kind = 'audit'), '-infinity')`;
/** A void that was refused or abandoned leaves open whether the switch has made it, until a person has resolved it. */
const REFUSED_VOID = `(t.type = ${TransactionType.Void} and t.disposition = 1 and ${HAS_ITS_AUDIT} and not ${IS_RESOLVED})`;

/** R: transactions that only a person can resolve are flagged, so that list, console and metrics show them. */
export function checkReviews(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'R',
    description: 'each transaction that a person must resolve is flagged for review',
    lookedAt: `select count(*) from transactions t where (${STANDS_STILL} or ${REFUSED_VOID} or t.needs_review) and ${SINCE}`,
    inReview: `select count(*) from transactions t where t.needs_review and ${SINCE}`,
    violations: `
      select t.id::text, 'its reversal is over without an acknowledgement, and it is not flagged' as what
      from transactions t where ${STANDS_STILL} and not t.needs_review and ${SINCE}
      union all
      select t.id::text, 'is a void that was refused, and it is not flagged' from transactions t
      where ${REFUSED_VOID} and not t.needs_review and ${SINCE}`,
    values: [books.since],
  });
}

/** Twice since the acquirer counts for all its terminals, or twice at one terminal. */
const REPEATED = 'count(*) filter (where is_of_acquirer) > 1 or count(distinct tid) < count(*)';

/** The longest business day, in the dates that switches announce; an older date is ignored. */
const LONGEST_DAY = '5 days';

/**
 * I5: no STAN occurs twice in its scope (the terminal, or the acquirer) and business day. Until the first number of the
 * acquirer's counter, its terminals may have had counters of their own: then a STAN may have occurred at each terminal.
 */
export async function checkStans(books: Books, types: ReadonlyMap<string, Processor>): Promise<Finding> {
  const scopes = await readScopes(books, types);
  // First selects the STANs that occur twice at all; the business day is determined only for these few.
  const violations = `
    with scopes as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, "processorId" integer, scope text)),
    numbered as (
      select t.acquirer_id, t.id, t.stan, t.sent_at, t.tid, case when s.scope = 'terminal' then t.tid else '' end as scope,
        t.sent_at >= coalesce(b.clear_at, '-infinity') as is_of_acquirer
      from transactions t
      join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
      join scopes s on s."acquirerId" = r.acquirer_id and s."processorId" = r.processor_id
      left join stan_blocks b on b.scope = t.acquirer_id::text
      where t.stan is not null and t.sent_at >= coalesce($2::timestamptz, '-infinity')
    ),
    repeated as (
      select * from numbered where (acquirer_id, scope, stan) in (
        select acquirer_id, scope, stan from numbered group by 1, 2, 3 having ${REPEATED})
    ),
    dated as (
      select *, coalesce((
        select min(latest) from (
          select max(business_date) as latest from business_dates b
          where b.acquirer_id = repeated.acquirer_id and b.since <= repeated.sent_at
            and b.since > repeated.sent_at - interval '${LONGEST_DAY}'
          group by b.processor_id) as dates
      ), (sent_at at time zone 'UTC')::date) as day
      from repeated
    )
    select min(id::text) as id, concat('STAN ', stan, ' ', count(*), ' times on ', day, ' in scope ', acquirer_id, ' ', scope) as what
    from dated group by acquirer_id, scope, stan, day having ${REPEATED}`;
  return checkBySql(books, {
    check: 'I5',
    description: 'no STAN occurs twice in its scope and business day',
    lookedAt: `select count(*) from transactions where stan is not null and $1::text is not null
      and sent_at >= coalesce($2::timestamptz, '-infinity')`,
    violations,
    values: [JSON.stringify(scopes), books.since],
  });
}

interface StoredProcessor {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly type: string;
  readonly config: unknown;
}

/**
 * The scope of each processor's STANs. A processor with a missing type or invalid settings sends nothing and is
 * skipped.
 */
async function readScopes({ client }: Books, types: ReadonlyMap<string, Processor>) {
  const { rows } = await client.query<StoredProcessor>(
    'select acquirer_id as "acquirerId", id as "processorId", type, config from processors',
  );
  return rows.flatMap(({ acquirerId, processorId, type, config }) => {
    const processor = types.get(type);
    const settings = processor?.configSchema.safeParse(config);
    if (!processor || !settings?.success) return [];
    return { acquirerId, processorId, scope: profileOf(processor, settings.data).stanScope };
  });
}
