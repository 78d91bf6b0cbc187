import { Disposition } from '../../transactions/disposition.ts';
import { findCurrency } from '../../transactions/money.ts';
import { MUST_NOT_REST } from '../../transactions/status.ts';
import { ReversalState, TransactionType } from '../../transactions/transaction.ts';
import type { Books } from './books.ts';
import { checkBySql } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

const { owed, sent, confirming, needsReview } = ReversalState;

/** Nothing was promised yet, or a reversal is still to come: visible to whoever looks at the transaction. */
const IS_OPEN = `(t.reversal_state in (${[owed, sent, confirming, needsReview].join()})
  or (t.disposition is null and t.status in (${MUST_NOT_REST.join()})))`;

/** Asked for, or done: whoever asked was told of the void, and not of an approval that stands. */
const IS_BEING_VOIDED = 't.void_state is not null';

const ENTRY = `concat('entry ', e.processor, ' ', e.key)`;
const ENTRIES_WITH_ROWS = `ledger_entries e join matched m using (n) join transactions t using (acquirer_id, id)`;
/** Void rows ask a switch for no approval of their own. */
const OF_THE_LEDGER = `t.type <> ${TransactionType.Void} and t.sent_at >= coalesce($1::timestamptz, '-infinity')`;

/** I1 to I4: no money taken that the merchant was not told of, none promised that was not taken, none taken twice. */
export async function checkMoney(books: Books): Promise<Finding[]> {
  return [
    await checkApprovedOrReversed(books),
    await checkNoneReversedThatIsApproved(books),
    await checkNoneApprovedWithoutEntry(books),
    await checkOneAuthorization(books),
  ];
}

function checkApprovedOrReversed(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'I1',
    says: 'what a switch approved is Approved to the merchant, or reversed, or visibly open',
    lookedAt: 'select count(*) from ledger_entries',
    open: `select count(*) from ${ENTRIES_WITH_ROWS} where e.state = 'approved' and ${IS_OPEN}`,
    violations: `
      select ${ENTRY} as id, 'approved at the switch, and in no transaction' as what
      from ledger_entries e where e.state = 'approved' and not exists (select from matched m where m.n = e.n)
      union all
      select t.id::text, concat('stands at the switch, and the merchant was told disposition ', coalesce(t.disposition::text, 'none'))
      from ${ENTRIES_WITH_ROWS}
      where e.state = 'approved' and t.disposition is distinct from ${Disposition.Approved} and not ${IS_OPEN}`,
  });
}

function checkNoneReversedThatIsApproved(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'I2',
    says: 'nothing is reversed that the merchant was told is Approved, unless by a void',
    lookedAt: `select count(*) from ledger_entries where state = 'reversed'`,
    violations: `
      select t.id::text, 'reversed at the switch, and Approved to the merchant' as what
      from ${ENTRIES_WITH_ROWS}
      where e.state = 'reversed' and t.disposition = ${Disposition.Approved} and not ${IS_BEING_VOIDED}`,
  });
}

function checkNoneApprovedWithoutEntry(books: Books): Promise<Finding> {
  const approved = `from transactions t where t.disposition = ${Disposition.Approved} and ${OF_THE_LEDGER}`;
  return checkBySql(books, {
    check: 'I3',
    says: 'nothing is Approved that no switch approved',
    lookedAt: `select count(*) ${approved}`,
    violations: `
      select t.id::text, 'Approved to the merchant, and in no ledger' as what ${approved}
      and not exists (select from matched m where m.acquirer_id = t.acquirer_id and m.id = t.id)`,
    values: [books.since],
  });
}

function checkOneAuthorization(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'I4',
    says: 'at most one authorization for each attempt of a merchantReference',
    lookedAt: 'select count(*) from (select distinct acquirer_id, id from matched) as transactions',
    violations: `
      select id::text, concat(count(*), ' approvals at the switch for one attempt') as what
      from matched group by acquirer_id, id having count(*) > 1`,
  });
}

/** A mandate proves the card for nothing, and its integrator is told what it was asked with. */
const ASKED_OF_THE_SWITCH = `case when t.type = ${TransactionType.TT3} then 0 else t.amount_minor end`;
const TOLD = `case when t.type = ${TransactionType.TT3} then t.amount_minor else t.approved_minor end`;

/** I8: amount and currency are the same in the row, at the switch and in what the integrator was sent. */
export async function checkAmounts(books: Books): Promise<Finding> {
  const currencies = await currenciesOf(books);
  return checkBySql(books, {
    check: 'I8',
    says: 'amount and currency are the same in the row, at the switch and in the webhook',
    lookedAt: 'select count(*) from matched where $1::text is not null',
    violations: `
      with currencies as (select * from json_to_recordset($1::text::json) as x(code text, numeric text, exponent integer))
      select t.id::text, concat('asked for ', t.amount_minor, ' ', t.currency, ', the switch for ', e.amount_minor, ' ', e.currency_numeric) as what
      from ${ENTRIES_WITH_ROWS} left join currencies c on c.code = t.currency
      where e.amount_minor is distinct from ${ASKED_OF_THE_SWITCH} or c.numeric is distinct from e.currency_numeric
      union all
      select t.id::text, concat('Approved for ', t.approved_minor, ', and for ', e.approved_minor, ' at the switch')
      from ${ENTRIES_WITH_ROWS}
      where t.disposition = ${Disposition.Approved} and t.approved_minor is distinct from e.approved_minor
      union all
      select t.id::text, concat('Approved for ', t.approved_minor, ', and the webhook says ', told.amount)
      from ${ENTRIES_WITH_ROWS} join currencies c on c.code = t.currency
      join webhook_events w on w.acquirer_id = t.acquirer_id and w.transaction_id = t.id
      cross join lateral json_to_record(w.body::json) as told(amount numeric, disposition text)
      where t.disposition = ${Disposition.Approved} and told.disposition = 'Approved'
        and told.amount <> ${TOLD} / 10 ^ c.exponent::numeric`,
    values: [JSON.stringify(currencies)],
  });
}

async function currenciesOf({ client }: Books) {
  const { rows } = await client.query<{ currency: string }>(
    'select distinct t.currency from matched join transactions t using (acquirer_id, id) where t.currency is not null',
  );
  return rows.flatMap(({ currency }) => findCurrency(currency) ?? []);
}
