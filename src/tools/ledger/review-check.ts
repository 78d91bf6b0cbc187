import { ReversalState, TransactionType } from '../../payments/model/transaction.ts';
import type { Books } from './books.ts';
import { checkBySql, IS_RESOLVED, SINCE } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

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
