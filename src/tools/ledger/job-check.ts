import { PinState } from '../../payments/model/pin.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import {
  OPEN_REVERSAL_STATES,
  ReversalState,
  RUNNING_REVERSAL_STATES,
  TransactionType,
  VoidState,
} from '../../payments/model/transaction.ts';
import type { Books } from './books.ts';
import { checkBySql, SINCE } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

const { needsReview } = ReversalState;

const RESTLESS = `t.status in (${MUST_NOT_REST.join()})`;
const AWAITING_PIN = `t.pin_state = ${PinState.awaiting}`;
const REVERSING = `t.reversal_state in (${RUNNING_REVERSAL_STATES.join()})`;
const OPEN_VOID = `t.type = ${TransactionType.Void} and t.disposition is null`;
/**
 * Other jobs can also advance a tap (`authorize`, `refund`), but its `overdue` job, or one that it shares with the other
 * taps of its commit, always exists and gives it a final status.
 */
const LIVE = `select name, data ->> 'id' as id, (data ->> 'attempt')::integer as attempt from pgboss.job
  where state < 'completed' and name in ('overdue', 'reverse', 'expire-pin')
  union all
  select 'overdue', tap ->> 'id', (tap ->> 'attempt')::integer from pgboss.job, jsonb_array_elements(data -> 'taps') tap
  where state < 'completed' and name = 'overdue-taps'`;

/** J: each transaction in a status that requires a job has a live one. */
export function checkJobs(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'J',
    description: 'each transaction in a status that requires a job has a live job',
    lookedAt: `select count(*) from transactions t where (${RESTLESS} or ${AWAITING_PIN} or ${REVERSING} or (${OPEN_VOID})) and ${SINCE}`,
    open: `select count(*) from transactions t where (${RESTLESS} or ${AWAITING_PIN} or ${REVERSING}) and ${SINCE}`,
    inReview: `select count(*) from transactions t where t.reversal_state = ${needsReview} and ${SINCE}`,
    violations: `
      with live as materialized (${LIVE})
      select t.id::text, concat('rests in status ', t.status, ' without a job') as what from transactions t
      where ${RESTLESS} and ${SINCE} and not exists (
        select from live where name = 'overdue' and live.id = t.id::text and live.attempt = t.attempt)
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
