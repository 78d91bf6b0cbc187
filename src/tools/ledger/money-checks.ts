import { Disposition } from '../../payments/model/disposition.ts';
import { findCurrency } from '../../payments/model/money.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import { ReversalState, RUNNING_REVERSAL_STATES, TransactionType } from '../../payments/model/transaction.ts';
import { IS_IN_DOUBT, KEEPS_AMOUNT } from '../../store/transactions/transaction-columns.ts';
import type { Books, Finding } from './books.ts';
import { checkBySql } from './stored-checks.ts';

const { needsReview } = ReversalState;

/** The transaction has no outcome yet, or a reversal is in progress; both are visible in the transaction. */
const IS_OPEN = `(m.of_reversal_state in (${RUNNING_REVERSAL_STATES.join()})
  or (t.disposition is null and t.status in (${MUST_NOT_REST.join()})))`;
/** A person must resolve the transaction with the acquirer, and it is flagged. */
const IS_IN_REVIEW = `(t.reversal_state = ${needsReview} or t.needs_review)`;

const SAID_AT = (field: string) => `(e.said ->> '${field}')::float8`;
/** Responses on different connections can arrive in another order than they were sent, within this time. */
const CROSSING_MS = 10_000;
/** The switch declined what it had booked, and no approval of it certainly arrived. */
const WAS_DENIED = `(coalesce((e.said ->> 'declines')::integer, 0) > 0 and ${SAID_AT('approvedAtMs')} is null)`;
/**
 * The switch acknowledged a reversal that it did not make, and did not approve the original afterwards. For a void
 * the approval was known before; a repeated one adds no information.
 */
const WAS_RELEASED = `(${SAID_AT('acknowledgedAtMs')} is not null
  and coalesce(t.void_state is not null or ${SAID_AT('approvedAtMs')} <= ${SAID_AT('acknowledgedAtMs')} + ${CROSSING_MS}, true))`;
/** The switch refused a reversal twice and made it afterwards. */
const WAS_KEPT = `coalesce((e.said ->> 'refusedReversals')::integer, 0) >= 2`;
/** The switch approved a request that it did not book. */
const WAS_PROMISED = `coalesce((e.said ->> 'approvals')::integer, 0) > 0`;

/** A void is requested or completed; its requester was informed of the void and does not rely on the approval. */
const IS_BEING_VOIDED = 't.void_state is not null';
/** A void that the switch refused; its row is flagged for review. */
const HAS_VOID_IN_REVIEW = `exists (select from transactions v where v.acquirer_id = t.acquirer_id and v.original_id = t.id
  and v.type = ${TransactionType.Void} and v.needs_review)`;

/** The switch contradicts what a person found, and a person must look again. */
const IS_CONTRADICTED = `(t.reversal_state = ${ReversalState.resolved} and t.needs_review)`;

/** A mandate requests 0 to verify the card, and its integrator receives the amount of the request. */
const ASKED_OF_THE_SWITCH = `case when t.type = ${TransactionType.TT3} then 0 else t.amount_minor end`;

/**
 * The last finding of a person is that the acquirer corrected the switch's books, outside the messages that the ledger
 * contains, to agree with the disposition that the transaction still has.
 */
const isAdjusted = (covers: string) => `exists (select from (
    select r.books, r.to_disposition, r.decided_at from review_resolutions r
    where r.acquirer_id = t.acquirer_id and r.transaction_id = t.id and r.state = 'done'
    order by r.decided_at desc nulls last limit 1) as found
  where found.books = 'adjusted' and found.to_disposition = t.disposition and ${covers})`;
/** What the switch does after the finding, or with another amount, was not corrected. The clocks may differ. */
const IS_ENTRY_ADJUSTED = isAdjusted(`e.amount_minor = ${ASKED_OF_THE_SWITCH}
  and greatest(e.approved_at_ms, ${SAID_AT('approvedAtMs')}, ${SAID_AT('acknowledgedAtMs')})
    <= extract(epoch from found.decided_at) * 1000 + ${CROSSING_MS}`);

const ENTRY = `concat('entry ', e.processor, ' ', e.key)`;
const ENTRIES_WITH_ROWS = `ledger_entries e join matched m using (n) join transactions t using (acquirer_id, id)`;
/** Void rows request no approval of their own from a switch. */
const OF_THE_LEDGER = `t.type <> ${TransactionType.Void} and t.sent_at >= coalesce($1::timestamptz, '-infinity')`;

/**
 * I1 to I4: no money charged without the merchant's knowledge, none reported as charged that was not, none charged
 * twice.
 */
export async function checkMoney(books: Books): Promise<Finding[]> {
  return [
    await checkApprovedOrReversed(books),
    await checkNoneReversedThatIsApproved(books),
    await checkNoneApprovedWithoutEntry(books),
    await checkOneAuthorization(books),
  ];
}

function checkApprovedOrReversed(books: Books): Promise<Finding> {
  const differs = `e.state = 'approved' and (m.is_superseded or t.disposition is distinct from ${Disposition.Approved})`;
  const isMisstated = `(${WAS_DENIED} or ${WAS_RELEASED})`;
  const isExcused = `(${isMisstated} or ${IS_ENTRY_ADJUSTED})`;
  const isOrphan = `e.state = 'approved' and t.id is null`;
  const entries = 'ledger_entries e left join matched m using (n) left join transactions t using (acquirer_id, id)';
  return checkBySql(books, {
    check: 'I1',
    description: 'an approval of a switch is Approved for the merchant, or reversed, or visibly open',
    lookedAt: `select count(*) from ledger_entries where state <> 'unbooked'`,
    open: `select count(*) from ${ENTRIES_WITH_ROWS} where e.state = 'approved' and ${IS_OPEN}`,
    inReview: `select count(*) from ${ENTRIES_WITH_ROWS} where ${differs} and not ${IS_OPEN} and ${IS_IN_REVIEW}`,
    misstated: `select (select count(*) from ${entries} where ${isOrphan} and ${isMisstated})
      + (select count(*) from ${ENTRIES_WITH_ROWS} where ${differs} and not ${IS_OPEN} and not ${IS_IN_REVIEW} and ${isExcused}) as count`,
    hasEntries: true,
    violations: `
      select ${ENTRY} as id, 'approved at the switch, and in no transaction' as what, e.n
      from ${entries} where ${isOrphan} and not ${isMisstated}
      union all
      select t.id::text, concat('approved at the switch, but the disposition of the merchant is ', coalesce(t.disposition::text, 'none')), null
      from ${ENTRIES_WITH_ROWS}
      where ${differs} and not ${IS_OPEN} and not ${IS_IN_REVIEW} and not ${isExcused}`,
  });
}

function checkNoneReversedThatIsApproved(books: Books): Promise<Finding> {
  const differs = `${ENTRIES_WITH_ROWS}
      where e.state = 'reversed' and t.disposition = ${Disposition.Approved} and not m.is_superseded and not ${IS_BEING_VOIDED}`;
  const isExcused = `(${WAS_KEPT} or ${IS_ENTRY_ADJUSTED})`;
  const isInReview = `(${HAS_VOID_IN_REVIEW} or ${IS_CONTRADICTED})`;
  return checkBySql(books, {
    check: 'I2',
    description: 'nothing that is Approved for the merchant is reversed, except by a void',
    lookedAt: `select count(*) from ledger_entries where state = 'reversed'`,
    inReview: `select count(*) from ${differs} and ${isInReview}`,
    misstated: `select count(*) from ${differs} and not ${isInReview} and ${isExcused}`,
    violations: `select t.id::text, 'reversed at the switch, and Approved to the merchant' as what
      from ${differs} and not ${isInReview} and not ${isExcused}`,
  });
}

function checkNoneApprovedWithoutEntry(books: Books): Promise<Finding> {
  const approved = `from transactions t where t.disposition = ${Disposition.Approved} and ${OF_THE_LEDGER}`;
  const known = (condition: string) => `exists (select from matched m join ledger_entries e using (n)
        where m.acquirer_id = t.acquirer_id and m.id = t.id and not m.is_superseded and ${condition})`;
  const isMissing = `not ${known(`(e.state <> 'unbooked' or ${WAS_PROMISED})`)}`;
  return checkBySql(books, {
    check: 'I3',
    description: 'nothing is Approved without an approval of a switch',
    lookedAt: `select count(*) ${approved}`,
    inReview: `select count(*) ${approved} and ${isMissing} and ${IS_CONTRADICTED}`,
    misstated: `select count(*) ${approved} and ${known(`e.state = 'unbooked' and ${WAS_PROMISED}`)}`,
    violations: `
      select t.id::text, 'Approved to the merchant, and in no ledger' as what ${approved}
      and ${isMissing} and not ${IS_CONTRADICTED} and not ${isAdjusted('found.decided_at >= t.sent_at')}`,
    values: [books.since],
  });
}

function checkOneAuthorization(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'I4',
    description: 'at most one authorization for each attempt of a merchantReference',
    lookedAt: `select count(*) from (select distinct acquirer_id, id, of_attempt from matched) as attempts`,
    violations: `
      select id::text, concat(count(*), ' approvals at the switch for one attempt') as what
      from matched group by acquirer_id, id, of_attempt having count(*) > 1
      union all
      select ${ENTRY}, concat('was sent ', e.said ->> 'received', ' times') from ledger_entries e
      where (e.said ->> 'received')::integer > 1`,
  });
}

/** F: a sale has reserved what its refunds keep, and that is no more than the sale took. */
export function checkRefunds(books: Books): Promise<Finding> {
  const kept = `
    select r.acquirer_id, r.original_id as id, coalesce(sum(r.amount_minor) filter (where ${KEEPS_AMOUNT('r')}), 0) as minor,
      bool_or(${IS_IN_DOUBT('r')}) as is_in_doubt
    from transactions r where r.type = ${TransactionType.Refund} and r.original_id is not null
    group by r.acquirer_id, r.original_id`;
  const sales = `transactions t join (${kept}) as kept using (acquirer_id, id)`;
  const taken = 'coalesce(t.approved_minor, t.amount_minor)';
  const isTooMuch = `kept.minor > ${taken}`;
  const isInReview = '(t.needs_review or kept.is_in_doubt)';
  return checkBySql(books, {
    check: 'F',
    description: 'a sale has reserved what its refunds keep, and no more than it took',
    lookedAt: `select count(*) from ${sales}`,
    inReview: `select count(*) from ${sales} where ${isTooMuch} and ${isInReview}`,
    violations: `
      select t.id::text, concat(t.refunded_minor, ' is reserved, and its refunds keep ', kept.minor) as what
      from ${sales} where t.refunded_minor <> kept.minor
      union all
      select t.id::text, concat('its refunds keep ', kept.minor, ' of ', ${taken})
      from ${sales} where ${isTooMuch} and not ${isInReview}`,
  });
}

const TOLD = `case when t.type = ${TransactionType.TT3} then t.amount_minor else t.approved_minor end`;

/** I8: amount and currency are equal in the row, at the switch and in the event for the integrator. */
export async function checkAmounts(books: Books): Promise<Finding> {
  const currencies = await currenciesOf(books);
  return checkBySql(books, {
    check: 'I8',
    description: 'amount and currency are equal in the row, at the switch and in the webhook',
    lookedAt: 'select count(*) from matched where $1::text is not null',
    violations: `
      with currencies as (select * from json_to_recordset($1::text::json) as x(code text, numeric text, exponent integer))
      select t.id::text, concat('asked for ', t.amount_minor, ' ', t.currency, ', the switch for ', e.amount_minor, ' ', e.currency_numeric) as what
      from ${ENTRIES_WITH_ROWS} left join currencies c on c.code = t.currency
      where e.amount_minor is distinct from ${ASKED_OF_THE_SWITCH} or c.numeric is distinct from e.currency_numeric
      union all
      select t.id::text, concat('Approved for ', t.approved_minor, ', and for ', e.approved_minor, ' at the switch')
      from ${ENTRIES_WITH_ROWS}
      where t.disposition = ${Disposition.Approved} and not m.is_superseded and t.approved_minor is distinct from e.approved_minor
      union all
      select t.id::text, concat('Approved for ', t.approved_minor, ', and the webhook says ', webhook.amount)
      from ${ENTRIES_WITH_ROWS} join currencies c on c.code = t.currency
      join webhook_events w on w.acquirer_id = t.acquirer_id and w.transaction_id = t.id
      cross join lateral json_to_record(w.body::json) as webhook(amount numeric, disposition text)
      where t.disposition = ${Disposition.Approved} and webhook.disposition = 'Approved'
        and webhook.amount <> ${TOLD} / 10 ^ c.exponent::numeric`,
    values: [JSON.stringify(currencies)],
  });
}

async function currenciesOf({ client }: Books) {
  const { rows } = await client.query<{ currency: string }>(
    'select distinct t.currency from matched join transactions t using (acquirer_id, id) where t.currency is not null',
  );
  return rows.flatMap(({ currency }) => findCurrency(currency) ?? []);
}
