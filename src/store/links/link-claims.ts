import type pg from 'pg';
import { claimedLink, REFUSED_STATUSES, stateAfterTap, TAP_TYPES } from '../../payments/model/link.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import { KEEPS_AMOUNT } from '../transactions/transaction-columns.ts';

/** Whether a tap `t` is in progress, or its money was or may have been taken: `holdsLink` of the model. */
export const HOLDS = `(t.status not in (${REFUSED_STATUSES.join()}) and (t.void_state is not null or ${KEEPS_AMOUNT('t')}))`;

/**
 * Whether a tap on a link `l` holds it: not only the last one, because an earlier one that released it may be approved
 * late. The rows of the taps decide, so the commit of an outcome releases a link without touching its row.
 */
export const IS_HELD = `(l.is_held_by_archived or exists (select from transactions t
  where t.acquirer_id = l.acquirer_id and t.consumer_id = l.id and t.type in (${TAP_TYPES.join()}) and ${HOLDS}))`;

/**
 * Whether a transaction `t` with this reference holds it. An archived one does, because its row cannot be read.
 *
 * @param key acquirer, merchant and reference in SQL
 * @param which a condition on `t`
 */
export const IS_REFERENCE_HELD = (key: readonly [string, string, string], which: string) => `exists (
  select from merchant_references r left join transactions t on t.acquirer_id = r.acquirer_id and t.id = r.id
  where (r.acquirer_id, r.merchant_id, r.merchant_reference) = (${key.join(', ')}) and (t.id is null or (${which} and ${HOLDS})))`;

/**
 * Whether a tap without a link holds the paymentReference of a link `l`. The creation of a link looks for such a tap,
 * and the tap looks for such a link. If both start within the same milliseconds, neither sees the other, and both are
 * stored. Each tap on the link checks this condition, so the order is not paid a second time. Taps without a link need
 * no such check, because a merchantReference has one transaction.
 */
const IS_OVERTAKEN = IS_REFERENCE_HELD(
  ['l.acquirer_id', 'l.merchant_id', 'l.payment_reference'],
  't.consumer_id is null',
);

/** Whether a tap `x` without a link has the reference of a link: only two index look-ups. */
export const IS_NAMED_LIKE_A_LINK = `coalesce(
  (select true from links l where l.acquirer_id = x."acquirerId" and l.merchant_id = x."merchantId"
     and l.payment_reference = x."merchantReference" and not l.is_expired limit 1),
  (select true from links l where l.acquirer_id = x."acquirerId" and l.id = x."namedLink"
     and l.merchant_id = x."merchantId" and not l.is_expired limit 1),
  false)`;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The id of the link that a reference could be. */
export function namedLink(reference: string): string | undefined {
  return UUID.test(reference) ? reference : undefined;
}

const LINKS_OF = '(l.acquirer_id, l.id) in (select * from unnest($1::integer[], $2::uuid[]))';

// First the locks, in an order in which two batches cannot wait for each other.
const LOCK = `select from links l where ${LINKS_OF} order by l.acquirer_id, l.id for update`;

// Then a separate statement: only that one sees what the previous lock holder has committed.
const FIND_FREE = `select l.id from links l where ${LINKS_OF}
  and not l.is_expired and l.expires_at > clock_timestamp() and not ${IS_HELD} and not ${IS_OVERTAKEN}`;

/**
 * Returns the taps that must not claim their link, because another tap holds it or its reference, or it has expired.
 * If a batch has two taps on one link, the first one gets it. No statement runs if no tap has a link.
 */
export async function findUnclaimable(
  client: pg.ClientBase,
  taps: readonly NewAttempt[],
): Promise<ReadonlySet<NewAttempt>> {
  const claiming = taps.filter(({ transaction }) => claimedLink(transaction) !== undefined);
  if (claiming.length === 0) return new Set();
  const values = keysOf(claiming);
  await client.query({ name: 'lock-links', text: LOCK, values });
  const { rows } = await client.query<{ id: string }>({ name: 'find-free-links', text: FIND_FREE, values });
  const free = new Set(rows.map(({ id }) => id));
  // Each link can be claimed once.
  return new Set(claiming.filter(({ transaction }) => !free.delete(transaction.consumerId!)));
}

const CLAIM = `
update links l set transaction_id = x.tap, state = greatest(l.state, x.state), updated_at = clock_timestamp()
from unnest($1::integer[], $2::uuid[], $3::uuid[], $4::smallint[]) as x(acquirer_id, id, tap, state)
where l.acquirer_id = x.acquirer_id and l.id = x.id`;

/** Claims the links of taps that were stored, in their commit. */
export async function recordClaims(client: pg.ClientBase, taps: readonly NewAttempt[]): Promise<void> {
  const claiming = taps.filter(({ transaction }) => claimedLink(transaction) !== undefined);
  if (claiming.length === 0) return;
  const [ids, states] = [
    claiming.map(({ transaction }) => transaction.id),
    claiming.map(({ transaction }) => stateAfterTap(transaction)),
  ];
  await client.query({ name: 'claim-links', text: CLAIM, values: [...keysOf(claiming), ids, states] });
}

function keysOf(claiming: readonly NewAttempt[]): [number[], (string | undefined)[]] {
  return [
    claiming.map(({ transaction }) => transaction.acquirerId),
    claiming.map(({ transaction }) => claimedLink(transaction)),
  ];
}
