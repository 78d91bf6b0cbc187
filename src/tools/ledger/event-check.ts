import { Disposition } from '../../payments/model/disposition.ts';
import { TransactionType } from '../../payments/model/transaction.ts';
import type { Books } from './books.ts';
import { checkBySql } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

/** Processes know a new endpoint after at most this time; earlier outcomes cause no event. */
const ENDPOINT_KNOWN_AFTER = '30 s';

/** Transactions with the endpoint that receives their events. */
const TOLD_OF = `transactions t
  join webhook_endpoints w on w.acquirer_id = t.acquirer_id and w.integrator_id = t.integrator_id
    and w.serves = case when t.consumer_id is null then 'taps' else 'links' end
    and w.disabled_at is null and w.created_at < t.created_at - interval '${ENDPOINT_KNOWN_AFTER}'`;
const SINCE = `t.created_at >= greatest($1::timestamptz, (select up_to from purge_marks where kind = 'webhooks'), '-infinity')`;

// Sequence numbers: in attempt n the outcome has 2 n - 1, and the voiding of a sale 2 n. For the row of a void, 2
// reports that it failed and 1 that it needs review (see webhook-job.ts). A resolution has a number of its own. Voids without recorded attempts are older
// than these events.
const DUE = `
  select t.acquirer_id, t.id, case t.disposition when ${Disposition.Declined} then 2 else 1 end as sequence
  from ${TOLD_OF}
  where t.type = ${TransactionType.Void} and ${SINCE}
    and (t.disposition = ${Disposition.Declined} or (t.disposition is null and t.needs_review))
    and exists (select from reversal_attempts a where a.acquirer_id = t.acquirer_id and a.transaction_id = t.original_id)
  union all
  select t.acquirer_id, t.id, t.attempt * 2 - (case step when 1 then 1 else 0 end) as sequence
  from ${TOLD_OF}
  cross join generate_series(1, case t.disposition when ${Disposition.Voided} then 2 else 1 end) as step
  where t.disposition is not null and t.type <> ${TransactionType.Void} and ${SINCE}
  union
  select t.acquirer_id, t.id, r.event_sequence
  from ${TOLD_OF}
  join review_resolutions r on r.acquirer_id = t.acquirer_id and r.transaction_id = t.id and r.event_sequence is not null
  where t.type <> ${TransactionType.Void} and ${SINCE}`;

const LIVE = `select data from pgboss.job where name = 'webhook' and state < 'completed'`;
const TOLD = `
  select acquirer_id, transaction_id as id, (body::jsonb ->> 'sequence')::integer as sequence from webhook_events
  union all
  select (data ->> 'acquirerId')::integer, (data -> 'outcome' ->> 'transactionId')::uuid, (data -> 'outcome' ->> 'sequence')::integer
  from (${LIVE}) as live where data -> 'outcome' is not null and not exists (
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
      where state = 'pending' and not exists (select from (${LIVE}) as live where data ->> 'eventId' = e.id::text)`,
    values: [books.since],
  });
}
